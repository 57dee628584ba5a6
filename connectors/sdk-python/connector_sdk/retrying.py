"""Tries again, later each time."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeVar

from .fault import Fault
from .services import clock

Result = TypeVar("Result")

#: The statuses after which a service may answer otherwise a moment later.
PASSING = (429, 502, 503, 504)


def retry(run: Callable[[], Result], *, attempts: int = 4, first: float = 0.5, longest: float = 8.0) -> Result:
    """Runs a function until it succeeds, fails for good, or has had all attempts.

    Returns its result. It is tried again after a `Fault.upstream` with the status 429, 502, 503 or
    504, which `successful()` raises. The delay is at least the one that the service asks for
    (`Retry-After`). If the service asks for more than `longest`, the function is not tried again.
    Delays are seconds. Up to a half of one is taken off by chance, and each is twice the previous
    one.

    The gateway itself repeats requests that may be repeated, if there was no response or a status
    of 502, 503 or 504.
    """
    delay = min(first, longest)
    while True:
        attempts -= 1
        try:
            return run()
        except Fault as fault:
            if fault.tag != "upstream" or fault.values["status"] not in PASSING:
                raise
            asked = fault.values["retry_after_seconds"] or 0
            if attempts <= 0 or asked > longest:
                raise
            clock.sleep(round(1000 * max(delay * (1 - random.random() / 2), asked)))
            delay = min(2 * delay, longest)
