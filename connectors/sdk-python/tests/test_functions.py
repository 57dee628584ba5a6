"""The inputs and results of functions, and the requests that they send."""

import unittest

from connector_sdk import Connector, Document, Fault, HttpError, NONE, Request, clock, log, send, send_all, storage, string, userinfo
from connector_sdk.testing import Gateway

import rows


class Functions(unittest.TestCase):
    def test_a_function_gets_a_value_for_each_field_and_defaults_for_absent_ones(self):
        gateway = Gateway()
        given = {"type": "t", "many": "a", "count": None, "filters": {"labels": ["x", 2], "state": None}}
        expected = {
            "type": "t", "many": ["a"], "count": 5, "flag": True, "filters": {"labels": ["x", "2"]}, "thing": None, "parts": None,
            "share": None,
        }
        self.assertEqual(gateway.invoke(rows.connector, "typed", given), expected)
        self.assertEqual(gateway.invoke(rows.connector, "typed", '{"type":"t","count":1e1}')["count"], 10)

    def test_a_word_of_the_language_gets_an_underscore(self):
        table = Connector(identifier="a", version="1.0.0", title="A", auth=NONE)

        @table.read(fields={"from": string()})
        def one(from_):
            """One."""
            return from_

        self.assertEqual(Gateway().invoke(table, "one", {"from": "x"}), "x")
        self.assertEqual(table.manifest["operations"][0]["summary"], "One")
        with self.assertRaisesRegex(Fault, "a has no operation two"):
            Gateway().invoke(table, "two")

    def test_a_request_of_a_row_can_go_through_a_function(self):
        gateway = Gateway().answer(200, {"error": "not_in_channel"}).answer(200, {"ok": 1})
        with self.assertRaisesRegex(Fault, "not_in_channel"):
            gateway.invoke(rows.connector, "guarded", {"limit": 3})
        self.assertIsInstance(gateway.invoke(rows.connector, "guarded"), Document)
        self.assertEqual(gateway.requests[0].path, "/guarded?limit=3")

    def test_settings_replace_their_defaults_in_paths_and_headers(self):
        gateway = Gateway().setting("employees_path", "/v2/people").setting("api_version", "7")
        request = gateway.invoke(rows.connector, "get_employee", {"employee_id": 42})
        self.assertEqual((request.path, request.headers), ("/v2/people/42", [("X-Api-Version", "7")]))
        self.assertEqual(rows.connector.request("GET", "api", "/x").headers, [("X-Api-Version", "7")])
        self.assertEqual(rows.connector.setting("employees_path"), "/v2/people")

    def test_an_error_status_of_the_service_is_a_fault_with_its_body(self):
        Gateway().answer(429, '{"why":1.0}', {"Retry-After": "7"}).answer(500, "<html>")
        with self.assertRaises(Fault) as raised:
            send(Request.get("api", "/x")).successful()
        self.assertEqual(raised.exception.values, {"status": 429, "body": '{"why":1.0}', "retry_after_seconds": 7})
        with self.assertRaises(Fault) as raised:
            send(Request.get("api", "/x")).successful()
        self.assertIsNone(raised.exception.values["body"])

    def test_several_lines_of_a_header_are_one_value(self):
        Gateway().answer(200, "{}", [("Link", '<a>; rel="prev"'), ("link", '<b>; rel="next"')])
        response = send(Request.get("api", "/x"))
        self.assertEqual(response.header("LINK"), '<a>; rel="prev", <b>; rel="next"')
        self.assertIsNone(response.header("etag"))

    def test_a_request_without_a_response_is_an_error_of_http(self):
        Gateway().failure("busy", 3).failure("timed-out").answer(204)
        with self.assertRaisesRegex(HttpError, "busy: 3"):
            send(Request.get("api", "/x"))
        failed, empty = send_all([Request.get("api", "/x"), Request.post("api", "/y").json({"a": 1})])
        with self.assertRaisesRegex(HttpError, "timed-out"):
            failed.successful()
        self.assertEqual((empty.status, empty.json()), (204, {}))

    def test_a_request_is_made_of_encoded_parts(self):
        request = Request.get("api", "/a").segment("id", ["x/y", "z"]).query("$q", "a b").query("n", None).query("b", True)
        self.assertEqual(request.path, "/a/x%2Fy,z?$q=a%20b&b=true")
        for value in ("", ".", "..", "%2e%2E", "a/..", "..;v=1", "..?x", ".#"):
            with self.assertRaises(Fault) as raised:
                Request.get("api", "").segment("id", value)
            self.assertEqual(raised.exception.values["violations"][0]["pointer"], "/id")
        self.assertEqual(Request.post("api", "/f").form({"a": 1}).body, ("form", [("a", "1")]))

    def test_a_link_of_a_response_is_followed_and_takes_no_path(self):
        gateway = Gateway().answer(200, {"next": "https://api.example/2"}).answer(200)
        link = send(Request.get("api", "/1")).body_link("/next")
        send(Request.follow("api", link))
        self.assertEqual(gateway.requests[1].link, "https://api.example/2")
        with self.assertRaisesRegex(HttpError, "invalid-request"):
            send(Request.follow("api", link).query("a", 1))

    def test_a_document_keeps_numbers_as_they_are_and_finds_values(self):
        Gateway()
        document = Document.parse('{"a/b": [1.0, "x\\u00fc"], "n": null}')
        self.assertEqual(document.pointer("/a~1b").text(), '[1.0, "x\\u00fc"]')
        self.assertEqual((document.string("/a~1b/1"), document.string("/n"), document.pointer("/z")), ("xü", None, None))
        self.assertEqual((len(document), document.keys()), (2, ["a/b", "n"]))
        self.assertEqual([item.text() for item in document.pointer("/a~1b")], ["1.0", '"x\\u00fc"'])
        with self.assertRaises(ValueError):
            Document.parse("{")

    def test_storage_log_and_clock_are_those_of_the_gateway(self):
        gateway = Gateway().now(1234)
        storage.set("k", "ü")
        self.assertEqual((storage.get("k"), gateway.stored["k"]), ("ü", b"\xc3\xbc"))
        storage.delete("k")
        self.assertIsNone(storage.get("k"))
        log.warn("low")
        self.assertEqual((gateway.logged, clock.now()), ([("warn", "low")], 1234))

    def test_an_account_has_null_for_what_the_service_does_not_give(self):
        organization = {"id": "o", "name": None}
        data = {"id": "7", "email": None, "username": None, "name": "Ada", "picture": None, "organization": organization}
        self.assertEqual(userinfo("7", name="Ada", organization={"id": "o"}), {"data": data, "meta": None})


if __name__ == "__main__":
    unittest.main()
