"""The same table gives the same manifest and the same requests as in Rust."""

import json
import unittest

from connector_sdk import Fault
from connector_sdk.testing import Gateway

from rows import SHARED, connector


def answer_of(gateway, operation, given):
    try:
        request = gateway.invoke(connector, operation, given)
    except Fault as fault:
        if fault.tag != "invalid-input":
            raise
        return {"invalid": fault.values["violations"]}
    return {
        "request": {
            "method": request.method,
            "upstream": request.upstream,
            "path": request.path,
            "headers": [list(pair) for pair in request.headers],
            "body": body_of(gateway, request),
        }
    }


def body_of(gateway, request):
    if request.body is None:
        return None
    kind, sent = request.body
    # The pairs of a form are lists in the file.
    return json.loads(json.dumps(gateway.parts(request) if kind == "bytes" else sent))


class Languages(unittest.TestCase):
    maxDiff = None

    def test_the_manifest_is_that_of_the_same_table_in_rust(self):
        known = json.loads((SHARED / "manifest.json").read_text())
        self.assertEqual(json.loads(json.dumps(connector.manifest)), known)

    def test_the_declarations_of_rows_are_those_of_the_same_table_in_rust(self):
        known = json.loads((SHARED / "declarations.json").read_text())
        declared = [{"operation": operation, "row": row} for operation, row in connector.rows]
        self.assertEqual(json.loads(json.dumps(declared)), known)

    def test_the_declarations_of_pages_are_those_of_the_same_table_in_rust(self):
        known = json.loads((SHARED / "last_items.json").read_text())
        declared = [{"operation": operation, "more": more} for operation, more in connector.last_items]
        self.assertEqual(declared, known)

    def test_the_inboxes_and_triggers_are_those_of_the_same_table_in_rust(self):
        known = json.loads((SHARED / "events.json").read_text())
        self.assertEqual(json.loads(json.dumps(connector.events)), known)

    def test_the_answers_of_internal_functions_are_those_of_rust(self):
        cases = json.loads((SHARED / "internal.json").read_text())
        self.assertGreater(len(cases), 5)
        for case in cases:
            with self.subTest(operation=case["operation"], input=case["input"]):
                self.assertEqual(Gateway().invoke(connector, case["operation"], case["input"]), case["answer"])

    def test_the_requests_are_those_of_the_same_table_in_rust(self):
        gateway = Gateway()
        cases = json.loads((SHARED / "cases.json").read_text())
        self.assertGreater(len(cases), 50)
        for case in cases:
            with self.subTest(operation=case["operation"], input=case["input"]):
                self.assertEqual(answer_of(gateway, case["operation"], case["input"]), case["answer"])


if __name__ == "__main__":
    unittest.main()
