"""Mistakes in a table stop the build, with a message that says what to write."""

import inspect
import json
import unittest
from pathlib import Path

from connector_sdk import (
    NONE, Connector, Mistake, api_key, app_installation, aws_signature, boolean, client_credentials, device_code, ended_codes, entries, file, get, hmac_signature, integer, list_of, number, oauth2, object_of, post, service_account, string, string_or_list,
)
from connector_sdk.auth_additions import checked
from connector_sdk.build import CHECK, ENTRY, program
from connector_sdk.mistake import explained
from connector_sdk.row_module import check_rows
from connector_sdk.testing import Gateway

from rows import SHARED


def table(operations=None, **more):
    statements = {"identifier": "a", "version": "1.0.0", "title": "A", "auth": NONE, "upstreams": {"api": "https://a.example"}, **more}
    return Connector(**statements, operations={"one": get("api", "/x", "One")} if operations is None else operations).manifest


def added(additions, **more):
    return table(**{"auth": oauth2("p"), "auth_additions": additions, **more})


def row(path, **clauses):
    return table({"one": get("api", path, "One", **clauses)})


def body(**fields):
    return table({"one": post("api", "/x", "One", fields=fields)})


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


def addressed(**more):
    return table(**{"auth": api_key(header="A"), "address": {"sub": {"title": "Subdomain"}}, **more})


MISTAKES = [
    (lambda: addressed(upstreams={"api": "https://a.example/{b}"}), "upstream `api`: there is no part `b`"),
    (lambda: addressed(upstreams={"api": "https://{sub}.a.example"}), "say in `site`"),
    (lambda: addressed(upstreams={"api": {"url": "https://{sub}.a.example", "site": "b.example"}}), "its host is below `b.example`"),
    (lambda: addressed(upstreams={"api": {"url": "http://{sub}.a.example", "site": "a.example"}}), "is `https`"),
    (lambda: addressed(upstreams={"api": {"url": "https://a.example", "site": "a.example"}}), "it needs no `site`"),
    (lambda: addressed(address={"sub": {"titel": "A"}}), "part `sub` of the address: it has no `titel`"),
    (lambda: addressed(address={"sub": {}}), "say in `title`"),
    (lambda: addressed(address={"Sub": {"title": "A"}}), "a name is 1 to 64"),
    (lambda: addressed(address={"api": {"title": "A"}}), "an upstream has this name"),
    (lambda: addressed(address={"sub": {"title": "A", "form": "word"}}), "`form` is `label`, `host` or `segment`"),
    (lambda: addressed(address={"sub": {"title": "A", "max": 64}}), "`max` is 1 to 63"),
    (lambda: addressed(address={"sub": {"title": "A", "from": "id"}}), "a JSON Pointer"),
    (twice, "operation `list`: it is declared twice"),
    (lambda: table({}), "at least one operation"),
    (lambda: table(identifier="A"), "an identifier"),
    (lambda: table(identifier="a__b"), "an identifier"),
    (lambda: table(identifier="a_"), "an identifier"),
    (lambda: table({"one": "x"}), "write a row such as"),
    (lambda: table({"one": get("api", "/x", "")}), "operation `one`: say what the operation does"),
    (lambda: table({"a b": get("api", "/x", "One")}), "the path of an operation"),
    (lambda: function(check=1), "no `check`"),
    (lambda: function(), "the path of an operation"),
    (lambda: row("/x", rate_limit="r"), "no rate limit `r`"),
    (lambda: row("/x", feilds={}), "no `feilds`"),
    (lambda: row("/x", fields={"a": "string"}), "`a` has no type"),
    (lambda: row("/x", fields={"a-b": string()}), "name of a field"),
    (lambda: row("/x", fields={"a": integer(maximum=1)}), "no `maximum`"),
    (lambda: row("/x", fields={"a": string(default="b")}), r"optional: `a\?`"),
    (lambda: row("/x", fields={"a?": string(default="b", assumed=True)}), "`assumed` is for functions"),
    (lambda: row("/x", fields={"b": string()}, pages={"items": "/a", "into": "/b"}), "how the next page is found"),
    (lambda: row("/x", fields={"b": string()}, pages={"items": "/a", "into": "/c", "offset": True}), "`one` has no field `c`"),
    (
        lambda: row("/x", fields={"b": string()}, pages={"items": "/a", "into": "/b", "cursor": "/n", "while": "/m"}),
        "`while` in `pages` is for `last`",
    ),
    (
        lambda: row("/x", fields={"b": string()}, pages={"items": "/a", "into": "/b", "last": "/id", "while": "more"}),
        "such as `/has_more`",
    ),
    (lambda: row("/x", fields={"q": entries("a")}, pages={"items": "", "into": "/q/b", "offset": True}), "`q` has no entry `b`"),
    (lambda: row("/x", fields={"q": entries("a")}, pages={"items": "", "into": "/q", "offset": True}), "which entry"),
    (lambda: row("/x", fields={"q": string()}, pages={"items": "", "into": "/q/b", "offset": True}), "`q` is not an object"),
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
    (lambda: row("/x", example={"a": 1}), "does not fit at `/a`: there is no field `a`"),
    (lambda: row("/x/{id}", example={}), "does not fit: the field `id` is required"),
    (lambda: row("/x", form=True, multipart=True), "leave one out"),
    (lambda: body(a=object_of({"b": file()})), "a `file` is a field of a row"),
    (lambda: body(a=entries("x", in_="body")), "entries become"),
    (lambda: body(**{"a": string(), "a?": string()}), "`a` is declared twice"),
    (lambda: row("/x", fields={"query?": entries("a", "a")}), "the entry `a` is there twice"),
    (lambda: row("/x", fields={"query?": entries({"a": {"docs": "A"}})}), "the entry `a` has no `docs`; it has `one_of`, `doc`"),
    (lambda: row("/x", background=True), r'the field `"waiting\?": boolean'),
    (lambda: row("/x", background=True, fields={"waiting": string()}), "by which callers wait"),
    (lambda: table(rate_limits={"r": "3 a day"}), "300 per minute"),
    (lambda: table(upstreams={"api": "https://a.example/"}), "no `/` at its end"),
    (lambda: table(settings={"s": string()}), "what the operator sets"),
    (lambda: table(answer_examples={"two": {}}), "no operation of the table"),
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
                check_rows(
                    Connector(
                        identifier="a", version="1.0.0", title="A", auth=NONE, inboxes=case["inboxes"], triggers=case["triggers"],
                        operations={"one": get("api", "/x", "One")}, upstreams={"api": "https://a.example"},
                    )
                )
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
        fields = {
            "id": string(), "tags?": list_of(string(one_of=["a", "b"]), max=2), "page?": integer(min=1), "share?": number(max=1),
            "query?": entries("q", {"order": ["asc"]}), "address?": object_of({"street": string()}), "open?": object_of(without=["hidden"]),
            "photo?": file(), "many?": string_or_list(), "flag?": boolean(), "name?": string(min=2, max=3),
        }

        def wrong(example):
            try:
                function(one, fields=fields, example={"id": "1", **example})
            except Mistake as mistake:
                return str(mistake).replace("operation `one`: the example does not fit at ", "")
            return None

        fits = {
            "tags": ["a"], "page": 2.0, "share": 0.5, "query": {"q": [1, True], "order": "asc"}, "address": {"street": "x"},
            "open": {"a": 1}, "photo": {"file_name": "a", "content_base64": ""}, "many": ["x"], "flag": None, "name": "äöü",
        }
        self.assertIsNone(wrong(fits))
        for example, message in (
            ({"id": 1}, "`/id`: expected a string"),
            ({"tags": ["a", "c"]}, "`/tags/1`: expected one of a, b"),
            ({"tags": ["a", "a", "a"]}, "`/tags`: expected at most 2 items"),
            ({"tags": "a"}, "`/tags`: expected a list"),
            ({"page": 0}, "`/page`: expected a number that is at least 1"),
            ({"page": 1.5}, "`/page`: expected a whole number"),
            ({"page": True}, "`/page`: expected a whole number"),
            ({"share": 2}, "`/share`: expected a number that is at most 1"),
            ({"query": {"x": 1}}, "`/query/x`: there is no entry `x`"),
            ({"query": {"order": "up"}}, "`/query/order`: the entry `order` does not accept this value"),
            ({"address": {}}, "`/address`: the field `street` is required"),
            ({"open": {"hidden": 1}}, "`/open/hidden`: the member `hidden` is forbidden"),
            ({"photo": {"file_name": "a"}}, "`/photo`: the field `content_base64` is required"),
            ({"many": 1}, "`/many`: expected a string or a list of strings"),
            ({"flag": 1}, "`/flag`: expected a boolean"),
            ({"name": "ä"}, "`/name`: expected at least 2 characters"),
        ):
            self.assertEqual(wrong(example), message)

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
            "one": get("api", "/x", "One", example={"a": 1}),
            "two": get("api", "/y", "Two"),
        }
        with self.assertRaises(Mistake) as found:
            table(rows)
        self.assertEqual(found.exception.place, (__file__, line))

    def test_mistakes_in_rows_have_the_words_that_they_have_in_rust(self):
        shared = json.loads((SHARED / "mistakes.json").read_text())
        self.assertGreater(len(shared["rows"]), 30)
        types = {"string": string, "object": object_of, "objects": lambda **words: list_of(object_of(), **words), "file": file}
        settings = {"version": string(doc="A"), "list": list_of(string(), doc="A")}

        def typed(kind, modifiers):
            words = {f"{word}_" if word in ("in", "as") else word: value for word, value in modifiers.items()}
            return entries(*kind, **words) if isinstance(kind, list) else types[kind](**words)

        def connector_of(row, **more):
            statements = {"identifier": "a", "version": "1.0.0", "title": "A", "auth": NONE, "upstreams": {"api": "https://a.example"}}
            return Connector(**statements, settings=settings, operations={"one": row}, **more)

        for wrong in shared["rows"]:
            row = wrong["row"]
            fields = {key: typed(kind, modifiers) for key, kind, modifiers in row["fields"]}
            make = {"get": get, "post": post}[row["method"]]
            connector = connector_of(make(row["upstream"], row["path"], "One", fields=fields, **row["clauses"]))
            for use in (check_rows, lambda connector: Gateway().invoke(connector, "one")):
                with self.subTest(row=wrong["rust"]), self.assertRaises(Mistake) as found:
                    use(connector)
                self.assertEqual(str(found.exception), f"operation `one`: {wrong['mistake']}")
        for wrong in shared["headers"]:
            name, value = wrong["header"]
            with self.subTest(header=name), self.assertRaises(Mistake) as found:
                check_rows(connector_of(get("api", "/x", "One"), headers={name: value}))
            self.assertEqual(str(found.exception), wrong["mistake"])

    def test_a_value_that_no_row_has_is_a_mistake(self):
        statements = {"identifier": "a", "version": "1.0.0", "title": "A", "auth": NONE, "upstreams": {"api": "https://a.example"}}
        one = get("api", "/x", "One", fields={"a?": string(max_bytes=1.5)})
        with self.assertRaisesRegex(Mistake, r"a row, an inbox or a trigger has a value of another type: .*1\.5"):
            check_rows(Connector(**statements, operations={"one": one}))

    def test_a_mistake_in_a_row_knows_the_line_of_the_row(self):
        line = inspect.currentframe().f_lineno + 4
        statements = {"identifier": "a", "version": "1.0.0", "title": "A", "auth": NONE, "upstreams": {"api": "https://a.example"}}
        connector = Connector(**statements, operations={
            "one": get("api", "/x", "One"),
            "two": get("api", "x", "Two"),
        })
        with self.assertRaises(Mistake) as found:
            check_rows(connector)
        self.assertEqual(found.exception.place, (__file__, line))


if __name__ == "__main__":
    unittest.main()
