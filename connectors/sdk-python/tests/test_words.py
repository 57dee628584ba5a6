"""The page with the words of a table in three languages has every word of this SDK, and no other."""

import inspect
import re
import unittest
from pathlib import Path

import connector_sdk
from connector_sdk import Connector, fields, rows
from connector_sdk.table import Upstream

ROOT = Path(__file__).parents[2]


def column(number):
    """The words of a column, a set for each section."""
    found = []
    for section in (ROOT / "docs/words.md").read_text().split("\n## ")[1:]:
        lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
        cells = [re.split(r"(?<!\\)\|", line)[number] for line in lines]
        found.append({word for cell in cells for word in re.findall(r"`@?([\w.]+)`", cell)})
    return found


class Words(unittest.TestCase):
    def test_the_page_has_the_words_of_the_table(self):
        statements, clauses, types, modifiers = column(3)
        arguments = set(inspect.signature(Connector).parameters)
        self.assertEqual(statements, arguments | set(Upstream.__annotations__))
        methods = {"get", "head", "post", "put", "patch", "delete"}
        functions = {f"connector.{effect}" for effect in ("read", "write", "destructive", "internal")}
        known = set(rows.RequestClauses.__annotations__) | set(rows.Clauses.__annotations__) | set(rows.Pages.__annotations__)
        self.assertEqual(clauses, methods | functions | known)
        self.assertLessEqual(methods | types, set(connector_sdk.__all__))
        kinds = (fields.String, fields.StringOrList, fields.List, fields.Object)
        self.assertEqual(modifiers, {word for kind in kinds for word in kind.__annotations__})

    def test_the_words_of_rust_are_those_of_its_table(self):
        table = (ROOT / "sdk/TABLE.md").read_text()
        for words in column(1):
            # The methods of HTTP are known.
            for word in filter(str.islower, words):
                self.assertTrue(re.search(rf"\b{word}\b", table), word)


if __name__ == "__main__":
    unittest.main()
