"""Mistakes in a table stop the build, with a message that says what to write."""

import inspect
import json
import unittest
from pathlib import Path

from connector_sdk import (
    NONE, Connector, Mistake, api_key, app_installation, aws_signature, client_credentials, device_code, ended_codes, file, get, hmac_signature,
    integer, list_of, oauth2, object_of, service_account, string,
)
from connector_sdk.auth_additions import checked
from connector_sdk.build import CHECK, ENTRY, program
from connector_sdk.mistake import explained
from connector_sdk.row_module import check_rows
from connector_sdk.testing import Gateway

from rows import SHARED, fields_of, row_of

SHARED_MISTAKES = json.loads((SHARED / "mistakes.json").read_text())


def connector_of(operations=None, **more):
    statements = {"identifier": "a", "version": "1.0.0", "title": "A", "auth": NONE, "upstreams": {"api": "https://a.example"}, **more}
    return Connector(**statements, operations={"one": get("api", "/x", "One")} if operations is None else operations)


def table(operations=None, **more):
    return connector_of(operations, **more).manifest


def added(additions, **more):
    return table(**{"auth": oauth2("p"), "auth_additions": additions, **more})


def row(path, **clauses):
    return table({"one": get("api", path, "One", **clauses)})


def function(run=lambda: 1, **clauses):
    connector = Connector(identifier="a", version="1.0.0", title="A", auth=NONE)
    connector.read(**clauses)(run)


def one(**_):
    """One"""


async def run_later():
    """Returns a value later."""


def takes_word(word, from_=None):
    """Takes a word."""


def yielding():
    """Yields."""
    yield 1


def twice():
    connector = Connector(identifier="a", version="1.0.0", title="A", auth=NONE)

    def list_():
        """Lists"""

    connector.read()(list_)
    connector.write()(list_)


MISTAKES = [
    (lambda: table(address={"sub": {"titel": "A"}}), "part `sub` of the address: it has no `titel`"),
    (twice, "operation `list`: it is declared twice"),
    (lambda: table({}), "at least one operation"),
    (lambda: table({"one": "x"}), "write a row such as"),
    (lambda: table({"one": get("api", "/x", "")}), "operation `one`: say what the operation does"),
    (lambda: table({"a b": get("api", "/x", "One")}), "the path of an operation"),
    (lambda: function(check=1), "no `check`"),
    (lambda: function(), "the path of an operation"),
    (lambda: row("/x", fields={"a": "string"}), "`a` has no type"),
    (lambda: row("/x", via=run_later), "`via` is an `async` function"),
    (lambda: row("/x", check=run_later), "`check` is an `async` function"),
    (lambda: function(run_later), "operation `run_later`: the function is an `async` function"),
    (lambda: function(yielding), "a generator function"),
    (
        lambda: function(takes_word, fields={"words": string()}),
        "operation `takes_word`: the function has no argument for the field `words`; add `words`, or leave out the field",
    ),
    (
        lambda: function(takes_word, fields={"from?": string()}),
        "the function takes `word`, which is no field of its row; its fields are `from_`",
    ),
    (lambda: function(takes_word), "the function takes `word`, which is no field of its row; it has no fields"),
    (lambda: row("/x", fields={"id": string()}, check=takes_word), "`check` has no argument for the field `id`"),
    (lambda: row("/x", fields={"a": object_of({"b": file()})}), "a `file` is a field of a row"),
    (lambda: table(settings={"s": string()}), "what the operator sets"),
    (lambda: oauth2("a", scope="b"), "no `scope`"),
    (lambda: api_key(header="A", query="b"), "one of"),
    (lambda: service_account(subject="some"), '"required" or "optional"'),
    (lambda: added([device_code(device_authorization_url="https://a.example/device")] * 2), "`auth_additions` have each way once"),
    (lambda: ended_codes("token consumed"), "at most 32 codes of 1 to 64 visible ASCII"),
    (lambda: ended_codes("---"), "among them a letter or a digit"),
    (lambda: ended_codes(*["gone"] * 33), "at most 32 codes"),
    (lambda: added([ended_codes("gone")], auth=NONE), r"`auth_additions` need an `auth` with OAuth 2\.0"),
    (lambda: added([client_credentials()], auth=NONE), r"`auth_additions` need an `auth` with OAuth 2\.0, whose token URL and scopes they use"),
    (lambda: added([client_credentials(), client_credentials()]), "`auth_additions` have each way once"),
    (lambda: aws_signature(service="s3"), "one of `region` and `region_part`"),
    (lambda: hmac_signature(text=["bodies"]), "`text` of `hmac_signature` is one of method"),
    (lambda: hmac_signature(text=[], hash="md5"), "`hash` of `hmac_signature` is one of sha1, sha256, sha512"),
    (lambda: added([aws_signature(service="s3", region="eu")]), "a signature needs an `auth`"),
    (lambda: added([app_installation(upstream="b", path="/x/{installation_id}")]), "the `upstream` of an installation is the name of an upstream"),
    *(
        (lambda path=path: added([app_installation(upstream="api", path=path)]), "the `path` of an installation begins with `/`, has no query, and has")
        for path in ("/x/{id}", "/x/a{installation_id}", "x/{installation_id}", "/{installation_id}?a")
    ),
]


class Mistakes(unittest.TestCase):
    def test_every_mistake_has_a_message_that_says_what_to_write(self):
        for index, (make, message) in enumerate(MISTAKES):
            with self.subTest(index=index, message=message), self.assertRaisesRegex(Mistake, message):
                make()

    def test_signatures_have_the_form_of_the_contract(self):
        key = api_key(header="Authorization")
        [aws] = checked([aws_signature(service="s3", region_part="region")], key, ["api"])
        self.assertEqual(aws["val"], {"service": "s3", "region": {"tag": "address-part", "val": "region"}})
        timestamp = {"header": "X-Time", "form": "seconds"}
        [hmac] = checked([hmac_signature(text=["timestamp", "body_hash", {"literal": "a"}], timestamp=timestamp)], key, ["api"])
        self.assertEqual(hmac["val"]["text"], [{"tag": "timestamp"}, {"tag": "body-hash"}, {"tag": "literal", "val": "a"}])

    def test_mistakes_in_inboxes_and_triggers_have_the_words_that_they_have_in_every_language(self):
        cases = json.loads((SHARED / "event_mistakes.json").read_text())
        self.assertGreater(len(cases), 7)
        for case in cases:
            with self.subTest(mistake=case["mistake"]), self.assertRaises(Mistake) as raised:
                check_rows(connector_of(inboxes=case["inboxes"], triggers=case["triggers"]))
            self.assertEqual(str(raised.exception), case["mistake"])

    def test_an_operation_is_internal_if_and_only_if_a_trigger_names_it(self):
        def changes(**_):
            return {"cursor": 1}

        def with_changes(role, triggers, **clauses):
            connector = Connector(identifier="a", version="1.0.0", title="A", auth=NONE, triggers=triggers)
            (connector.read() if role is None else connector.internal(role, **clauses))(changes)
            return connector.manifest

        changes.__doc__ = "Changes"
        triggers = [{"name": "word", "title": "Word", "source": "read", "read": "changes"}]
        self.assertEqual(with_changes("read", triggers)["operations"][0]["envelope"], False)
        for role, declared, clauses, message in (
            ("read", [], {}, "a row with `internal` is for a trigger; name it in `triggers`"),
            (None, triggers, {}, "a trigger names it as `read`; write `@connector.internal"),
            ("renew", triggers, {}, "a trigger names it as `read`"),
            ("reads", triggers, {}, '`internal` has a role: "subscribe"'),
            ("read", triggers, {"fields": {}}, "a function with `internal` has no `fields`"),
        ):
            with self.subTest(message=message), self.assertRaisesRegex(Mistake, f"operation `changes`: {message}"):
                with_changes(role, declared, **clauses)

    def test_an_example_fits_the_fields_as_in_rust(self):
        examples = SHARED_MISTAKES["examples"]

        def check(example):
            connector = connector_of({})
            connector.read(fields=fields_of(examples["fields"]), example={"id": "1", **example})(one)
            check_rows(connector)

        check(examples["fits"])
        for example, message in examples["wrong"]:
            with self.subTest(example=example), self.assertRaises(Mistake) as found:
                check(example)
            self.assertEqual(str(found.exception), f"operation `one`: the example does not fit at {message}")

    def test_a_name_that_is_not_there_is_named_with_what_to_write(self):
        for source, message in (
            ("strng()", "`strng` is not defined; the nearest name of the SDK is `string`"),
            ("string()", "`string` is not defined; import it: `from connector_sdk import string`"),
            ("zzz()", "`zzz` is not defined; correct the name, or import it"),
            ("from connector_sdk import strin", "`connector_sdk` has no `strin`; the nearest name of the SDK is `string`"),
            ("import reqests", "there is no module `reqests`; install it for the Python that builds, or correct its name"),
        ):
            with self.assertRaises((NameError, ImportError)) as found:
                exec(source, {})
            self.assertEqual(explained(found.exception), message)
        with self.assertRaises(Mistake) as found:
            table(upstreams={"api": "https://a.example/"})
        self.assertEqual(explained(found.exception), str(found.exception))

    def test_the_programs_of_the_build_are_ones_of_python(self):
        for parts in (CHECK, ENTRY):
            compile(program(Path("folder/words.py"), parts), "connector_entry.py", "exec")

    def test_arguments_with_defaults_and_keywords_fit_any_fields(self):
        function(takes_word, fields={"word": string(), "from?": string()})
        function(takes_word, fields={"word": string()})
        function(one, fields={"anything": string()})

    def test_a_mistake_knows_the_line_of_its_row(self):
        line = inspect.currentframe().f_lineno + 2
        rows = {
            "one": get("api", "/x", "One", rate_limit="r"),
            "two": get("api", "/y", "Two"),
        }
        with self.assertRaises(Mistake) as found:
            table(rows)
        self.assertEqual(found.exception.place, (__file__, line))

    def test_mistakes_in_a_table_have_the_words_that_they_have_in_javascript(self):
        self.assertGreater(len(SHARED_MISTAKES["tables"]), 35)
        for wrong in SHARED_MISTAKES["tables"]:
            with self.subTest(**wrong), self.assertRaises(Mistake) as found:
                connector = connector_of({"one": row_of(wrong["row"])} if "row" in wrong else None, **wrong.get("statements", {}))
                self.assertTrue(connector.manifest)
                check_rows(connector)
            self.assertIn(wrong["mistake"], str(found.exception))

    def test_mistakes_in_rows_have_the_words_that_they_have_in_rust(self):
        rows, fields, headers = (SHARED_MISTAKES[part] for part in ("rows", "fields", "headers"))
        self.assertTrue(len(rows) > 35 and len(fields) > 4 and len(headers) > 4)
        rows = [*rows, *({**wrong, "mistake": f"field `a`: {wrong['mistake']}"} for wrong in fields)]
        settings = {"version": string(doc="A"), "list": list_of(string(), doc="A")}
        for wrong in rows:
            connector = connector_of({"one": row_of(wrong["row"])}, settings=settings)
            for use in (check_rows, lambda connector: Gateway().invoke(connector, "one")):
                with self.subTest(row=wrong["rust"]), self.assertRaises(Mistake) as found:
                    use(connector)
                self.assertEqual(str(found.exception), f"operation `one`: {wrong['mistake']}")
        for wrong in headers:
            name, value = wrong["header"]
            with self.subTest(header=name), self.assertRaises(Mistake) as found:
                check_rows(connector_of(settings=settings, headers={name: value}))
            self.assertEqual(str(found.exception), wrong["mistake"])

    def test_the_types_of_functions_have_the_rules_that_they_have_in_rows(self):
        connector = connector_of({})
        connector.read(fields={"a": list_of(object_of({"b": integer(min=5, max=1)}))})(one)
        with self.assertRaises(Mistake) as found:
            check_rows(connector)
        self.assertEqual(str(found.exception), "operation `one`: field `a.b`: the lower bound is not larger than the upper bound")

    def test_mistakes_in_settings_have_the_words_that_they_have_in_rust(self):
        self.assertGreater(len(SHARED_MISTAKES["settings"]), 4)
        for wrong in SHARED_MISTAKES["settings"]:
            with self.subTest(**wrong), self.assertRaises(Mistake) as found:
                check_rows(connector_of(settings=fields_of({"s": wrong["field"]})))
            self.assertEqual(str(found.exception), wrong["mistake"])

    def test_a_header_depends_on_parameters_that_a_row_has(self):
        def with_header(when):
            one = get("api", "/x", "One", fields={"a?": string()})
            return connector_of({"one": one}, headers={"X-A": {"value": "1", "when": when}})

        check_rows(with_header(["a"]))
        with self.assertRaises(Mistake) as found:
            check_rows(with_header(["a", "b"]))
        self.assertEqual(str(found.exception), "header `X-A`: `when` has `b`, which is no parameter of any row with this header")

    def test_a_value_that_no_row_has_is_a_mistake(self):
        one = get("api", "/x", "One", fields={"a?": string(max_bytes=1.5)})
        with self.assertRaisesRegex(Mistake, r"a field, a row, an inbox or a trigger has a value of another type: .*1\.5"):
            check_rows(connector_of({"one": one}))

    def test_a_mistake_in_a_row_knows_the_line_of_the_row(self):
        line = inspect.currentframe().f_lineno + 3
        connector = connector_of({
            "one": get("api", "/x", "One"),
            "two": get("api", "x", "Two"),
        })
        with self.assertRaises(Mistake) as found:
            check_rows(connector)
        self.assertEqual(found.exception.place, (__file__, line))


if __name__ == "__main__":
    unittest.main()
