"""Mistakes in a table stop the build, with a message that says what to write."""

import unittest

from connector_sdk import NONE, Connector, Mistake, api_key, boolean, entries, get, integer, oauth2, object_of, post, string


def table(operations=None, **more):
    statements = {"identifier": "a", "version": "1.0.0", "title": "A", "auth": NONE, "upstreams": {"api": "https://a.example"}, **more}
    return Connector(**statements, operations={"one": get("api", "/x", "One")} if operations is None else operations).manifest


def row(path, **clauses):
    return table({"one": get("api", path, "One", **clauses)})


def body(**fields):
    return table({"one": post("api", "/x", "One", fields=fields)})


def function(**clauses):
    connector = Connector(identifier="a", version="1.0.0", title="A", auth=NONE)
    connector.read(**clauses)(lambda: 1)


def twice():
    connector = Connector(identifier="a", version="1.0.0", title="A", auth=NONE)

    def list_():
        """Lists"""

    connector.read()(list_)
    connector.write()(list_)


MISTAKES = [
    (twice, "operation `list`: it is declared twice"),
    (lambda: table({}), "at least one operation"),
    (lambda: table(identifier="A"), "an identifier"),
    (lambda: table({"one": "x"}), "write a row such as"),
    (lambda: table({"one": get("api", "/x", "")}), "operation `one`: say what the operation does"),
    (lambda: table({"a b": get("api", "/x", "One")}), "the path of an operation"),
    (lambda: table({"one": get("other", "/x", "One")}), "no upstream `other`"),
    (lambda: function(check=1), "no `check`"),
    (lambda: function(), "the path of an operation"),
    (lambda: row("x"), "begins with one `/`"),
    (lambda: row("//x"), "begins with one `/`"),
    (lambda: row("/x/{id"), "not closed"),
    (lambda: row("/x?a={b}"), "the query in a path is fixed"),
    (lambda: row("/x/{settings.y}"), "no setting `y`"),
    (lambda: row("/x", rate_limit="r"), "no rate limit `r`"),
    (lambda: row("/x", feilds={}), "no `feilds`"),
    (lambda: row("/x", fields={"a": "string"}), "`a` has no type"),
    (lambda: row("/x", fields={"a-b": string()}), "name of a field"),
    (lambda: row("/x", fields={"a": integer(maximum=1)}), "no `maximum`"),
    (lambda: row("/x", fields={"a": string(default="b")}), r"optional: `a\?`"),
    (lambda: row("/x", fields={"a?": string(default="b", assumed=True)}), "`assumed` is for functions"),
    (lambda: row("/x", fields={"a": object_of()}), "an object cannot be"),
    (lambda: row("/x/{a}", fields={"a?": string()}), "the path needs it"),
    (lambda: row("/x/{a}", fields={"a": string(in_="query")}), "the path has this name"),
    (lambda: row("/x", fields={"a": string(in_="path")}), "the path has no such name"),
    (lambda: row("/x", fields={"a?": boolean(nullable=True)}), "`nullable` is for"),
    (lambda: row("/x", pages={"items": "/a", "into": "/b"}), "how the next page is found"),
    (lambda: row("/x", form=True), "has a field in its body"),
    (lambda: body(a=entries("x", in_="body")), "entries become"),
    (lambda: body(body=object_of(), a=string()), "the whole request body"),
    (lambda: body(**{"a": string(), "a?": string()}), "`a` is declared twice"),
    (lambda: body(a=string(), b=string(as_="a")), "`a` is sent as `a` too; give it or `b` another name"),
    (lambda: body(a=string(as_="c.d"), b=string(as_="c")), "one of the two would be inside"),
    (lambda: body(a=string(as_="c"), b=string(as_="c.d.e")), "one of the two would be inside"),
    (lambda: row("/x", fields={"a": string(), "b": string(as_="a")}), "is sent as `a` too"),
    (lambda: row("/x", fields={"a": string(in_="header", as_="X-A"), "b": string(in_="header", as_="x-a")}), "sent as `x-a` too"),
    (lambda: row("/x", fields={"query?": entries("a", "a")}), "the entry `a` is there twice"),
    (lambda: row("/x", background=True), r'the field `"waiting\?": boolean'),
    (lambda: row("/x", background=True, fields={"waiting": string()}), "by which callers wait"),
    (lambda: table(rate_limits={"r": "3 a day"}), "300 per minute"),
    (lambda: table(upstreams={"api": "https://a.example/"}), "no `/` at its end"),
    (lambda: table(headers={"A": "{b}"}), r"`\{b\}` is not a setting"),
    (lambda: table(settings={"s": string()}), "what the operator sets"),
    (lambda: table(answer_examples={"two": {}}), "no operation of the table"),
    (lambda: oauth2("a", scope="b"), "no `scope`"),
    (lambda: api_key(header="A", query="b"), "one of"),
]


class Mistakes(unittest.TestCase):
    def test_every_mistake_has_a_message_that_says_what_to_write(self):
        for index, (make, message) in enumerate(MISTAKES):
            with self.subTest(index=index, message=message), self.assertRaisesRegex(Mistake, message):
                make()


if __name__ == "__main__":
    unittest.main()
