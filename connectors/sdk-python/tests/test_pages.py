"""Lists that have pages."""

import unittest

from connector_sdk import Fault, Mistake, Request, pages
from connector_sdk.testing import Gateway

CURSOR = {"cursor": "/next", "parameter": "page"}
LAST = {"last": "/id", "parameter": "after", "while_": "/more"}


def gateway(*bodies):
    service = Gateway()
    for body in bodies:
        service.answer(200, body)
    return service


def walked(limit=9, **words):
    found = pages(Request.get("api", "/a?x=1").header("X-A", "1"), items="/items", limit=limit, **words)
    return [item.value() for item in found], found.has_more


def paths(service):
    return [request.path for request in service.requests]


class Walks(unittest.TestCase):
    def test_a_cursor_leads_to_the_next_page_until_it_is_empty(self):
        for last in ({"items": [3]}, {"items": [3], "next": ""}, {"items": [3], "next": None}):
            service = gateway({"items": [1, 2], "next": "b c"}, {"next": 7}, last)
            self.assertEqual(walked(**CURSOR), ([1, 2, 3], False))
            self.assertEqual(paths(service), ["/a?x=1", "/a?x=1&page=b%20c", "/a?x=1&page=7"])
            self.assertTrue(all(len(request.headers) == 1 for request in service.requests))

    def test_the_limit_ends_the_walk_before_a_page_that_is_not_needed(self):
        bodies = [{"items": [1, 2], "next": "b"}, {"items": [3, 4], "next": "c"}]
        service = gateway(*bodies)
        self.assertEqual(walked(2, **CURSOR), ([1, 2], True))
        self.assertEqual(len(service.requests), 1)
        gateway(*bodies)
        self.assertEqual(walked(3, **CURSOR), ([1, 2, 3], True))
        self.assertEqual(walked(0, **CURSOR), ([], True))

    def test_links_are_followed_with_the_headers_of_the_first_request(self):
        service = gateway({"items": [1], "next": "https://api.example/b"}, {"items": [2], "next": ""})
        self.assertEqual(walked(link="/next"), ([1, 2], False))
        self.assertEqual((service.requests[1].link, len(service.requests[1].headers)), ("https://api.example/b", 1))
        service = Gateway().answer(200, {"items": [1]}, {"Link": '</b>; rel="next"'}).answer(200, {"items": [2]})
        self.assertEqual(walked(link="Link"), ([1, 2], False))
        self.assertEqual(service.requests[1].link, "/b")

    def test_numbers_and_offsets_end_with_a_page_without_items(self):
        bodies = [{"items": [1, 2]}, {"items": [3]}, {"items": []}]
        service = gateway(*bodies)
        self.assertEqual(walked(page_number=1, parameter="p"), ([1, 2, 3], False))
        self.assertEqual(paths(service), ["/a?x=1&p=1", "/a?x=1&p=2", "/a?x=1&p=3"])
        service = gateway(*bodies)
        self.assertEqual(walked(offset=True, parameter="start"), ([1, 2, 3], False))
        self.assertEqual(paths(service), ["/a?x=1&start=0", "/a?x=1&start=2", "/a?x=1&start=3"])

    def test_the_last_item_leads_to_the_next_page_while_the_service_says_so(self):
        for last in ({"items": [{"id": 7}], "more": False}, {"items": [{"id": 7}]}, {"items": [], "more": True}):
            service = gateway({"items": [{"id": 1}, {"id": "b c"}], "more": True}, last)
            self.assertFalse(walked(**LAST)[1])
            self.assertEqual(paths(service), ["/a?x=1", "/a?x=1&after=b%20c"])
        service = gateway({"items": [1, 2]}, {"items": [3]}, {"items": []})
        self.assertEqual(walked(last="", parameter="after"), ([1, 2, 3], False))
        self.assertEqual(paths(service), ["/a?x=1", "/a?x=1&after=2", "/a?x=1&after=3"])

    def test_a_last_item_that_leads_nowhere_or_to_the_same_page_is_a_fault(self):
        same = {"items": [{"id": 1}], "more": True}
        gateway(same, same)
        with self.assertRaisesRegex(Fault, "same next page"):
            walked(**LAST)
        for item in ({"name": "a"}, {"id": {}}, {"id": ""}, {"id": True}):
            gateway({"items": [item], "more": True})
            with self.assertRaisesRegex(Fault, "at `/id`"):
                walked(**LAST)

    def test_a_list_without_an_end_and_a_failed_page_are_faults(self):
        page = {"items": [1], "next": "b"}
        gateway(page, page, page)
        with self.assertRaisesRegex(Fault, "same next page"):
            walked(**CURSOR)
        gateway(page).answer(500, {})
        with self.assertRaisesRegex(Fault, "status 500"):
            walked(**CURSOR)

    def test_progress_is_the_part_of_the_limit_that_was_read(self):
        service = gateway({"items": [1, 2], "next": "b"}, {"items": [3], "next": "c"}, {"items": [4]})
        walked(8, progress="users", **CURSOR)
        self.assertEqual(service.reported, [(0.25, "2 users"), (0.375, "3 users"), (1.0, "4 users")])

    def test_a_word_that_is_missing_is_named(self):
        for words, message in (
            ({}, "how the next page is found"),
            ({**CURSOR, "link": "/next"}, "how the next page is found"),
            ({"cursor": "/next"}, "`parameter`"),
            ({**CURSOR, "while_": "/more"}, "`while_` of `pages` is for `last`"),
            ({**CURSOR, "last": "/id"}, "how the next page is found"),
        ):
            with self.assertRaisesRegex(Mistake, message):
                walked(**words)


if __name__ == "__main__":
    unittest.main()
