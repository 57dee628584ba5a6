"""Attempts, and the delays between them."""

import unittest

from connector_sdk import NONE, Connector, Fault, Request, clock, retry, send
from connector_sdk.testing import Gateway


def run(gateway, work):
    """Runs a function as an operation.

    Returns its answer and the milliseconds by which the gateway's clock advanced.
    """
    connector = Connector(identifier="a", version="1.0.0", title="A", auth=NONE, upstreams={"api": "https://a.example"})
    took = []

    @connector.read()
    def operation():
        """Works."""
        before = clock.now()
        try:
            return work()
        finally:
            took.append(clock.now() - before)

    return gateway.invoke(connector, "operation", {}), took[0]


def failing(fault, **options):
    """The number of attempts of a function that always fails so, and the time that they took."""
    attempts = []

    def work():
        attempts.append(1)
        raise fault

    def operation():
        try:
            retry(work, **options)
        except type(fault) as found:
            assert found is fault
        return {}

    _, took = run(Gateway(), operation)
    return len(attempts), took


def upstream(status, seconds=None):
    return Fault.upstream(status, "Not now.", retry_after_seconds=seconds)


class Retrying(unittest.TestCase):
    def test_a_passing_failure_is_tried_again_later_each_time(self):
        count, took = failing(upstream(503))
        self.assertTrue(count == 4 and 1749 <= took <= 3501, f"{count} attempts in {took} ms")
        count, took = failing(upstream(429), longest=0.6)
        self.assertTrue(count == 4 and 849 <= took <= 1701, f"{count} attempts in {took} ms")

    def test_the_service_may_ask_for_a_longer_delay_but_not_for_any(self):
        self.assertEqual(failing(upstream(429, 5)), (4, 15000))
        self.assertEqual(failing(upstream(429, 9)), (1, 0))

    def test_another_failure_is_final(self):
        for fault in (upstream(404), Fault.not_found("No."), TypeError("a defect")):
            self.assertEqual(failing(fault), (1, 0))
        self.assertEqual(failing(upstream(503), attempts=0)[0], 1)

    def test_a_response_that_comes_later_is_returned(self):
        gateway = Gateway().answer(429, {}).answer(200, {"id": 1})
        found, _ = run(gateway, lambda: retry(lambda: send(Request.post("api", "/orders").json({})).successful()).document())
        self.assertEqual(found.value(), {"id": 1})
        self.assertEqual(len(gateway.requests), 2)


if __name__ == "__main__":
    unittest.main()
