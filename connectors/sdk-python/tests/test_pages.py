"""Lists that have pages."""

import json
import unittest

from connector_sdk import Fault, Mistake, Request, pages
from connector_sdk.testing import Gateway

from rows import SHARED

CURSOR = {"cursor": "/next", "parameter": "page"}


def walk(limit=9, **words):
    return pages(Request.get("api", "/a?x=1").header("X-A", "1"), items="/items", limit=limit, **words)


class Walks(unittest.TestCase):
    def test_lists_are_walked_as_in_rust(self):
        cases = json.loads((SHARED / "pages.json").read_text())
        self.assertGreater(len(cases), 20)
        for case in cases:
            gateway = Gateway()
            for answer in case["answers"]:
                gateway.answer(*answer)
            words = {"while_" if word == "while" else word: value for word, value in case["words"].items()}
            found = walk(case.get("limit", 9), progress=case.get("progress"), **words)
            with self.subTest(**case):
                if "fault" in case:
                    status, part = case["fault"]
                    with self.assertRaises(Fault) as raised:
                        list(found)
                    self.assertEqual(raised.exception.values["status"], status)
                    self.assertIn(part, str(raised.exception))
                    continue
                self.assertEqual(([item.value() for item in found], found.has_more), (case["items"], case["more"]))
                self.assertEqual([request.link or request.path for request in gateway.requests], case["targets"])
                self.assertTrue(all(len(request.headers) == 1 for request in gateway.requests))
                self.assertEqual([list(report) for report in gateway.reported], case.get("reports", []))

    def test_a_word_that_is_missing_is_named(self):
        for words, message in (
            ({}, "how the next page is found"),
            ({**CURSOR, "link": "/next"}, "how the next page is found"),
            ({"cursor": "/next"}, "`parameter`"),
            ({**CURSOR, "while_": "/more"}, "`while_` of `pages` is for `last`"),
            ({**CURSOR, "last": "/id"}, "how the next page is found"),
        ):
            with self.assertRaisesRegex(Mistake, message):
                walk(**words)


if __name__ == "__main__":
    unittest.main()
