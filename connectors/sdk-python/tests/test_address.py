"""Services whose base URL differs from account to account."""

import unittest

from connector_sdk import Connector, api_key, get


class Addresses(unittest.TestCase):
    def test_a_table_declares_the_parts_of_addresses_and_the_sites_of_upstreams(self):
        table = Connector(
            identifier="a",
            version="1.0.0",
            title="A",
            auth=api_key(header="A", check="one"),
            address={
                "subdomain": {"title": "Your subdomain", "max": 30},
                "cloud": {"title": "Site", "form": "segment", "from": "/0/id"},
            },
            upstreams={"api": {"url": "https://{subdomain}.a.example/{cloud}", "site": "a.example"}, "me": "{api}/me"},
            operations={"one": get("api", "/x", "One")},
        )
        parts = [
            {"name": "subdomain", "title": "Your subdomain", "form": "label", "max_length": 30, "source": {"tag": "user"}},
            {"name": "cloud", "title": "Site", "form": "segment", "max_length": 253, "source": {"tag": "account", "val": "/0/id"}},
        ]
        self.assertEqual(table.additions, {"parts": parts, "sites": [("api", "a.example")]})
        self.assertEqual(table.manifest["upstreams"][0]["base_url"], "https://{subdomain}.a.example/{cloud}")


if __name__ == "__main__":
    unittest.main()
