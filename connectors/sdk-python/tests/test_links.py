"""The header `Link` is read as the gateway reads it."""

import json
import unittest

from connector_sdk import Request, send
from connector_sdk.testing import Gateway

from rows import SHARED


class Links(unittest.TestCase):
    def test_the_next_page_is_found_in_the_header_link(self):
        for case in json.loads((SHARED / "links.json").read_text()):
            Gateway().answer(200, "{}", [("Link", value) for value in case["values"]])
            with self.subTest(values=case["values"]):
                self.assertEqual(send(Request.get("api", "/x")).header_link("link"), case["next"])


if __name__ == "__main__":
    unittest.main()
