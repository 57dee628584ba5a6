"""The functions of the contract that the SDK calls.

In a component the gateway provides them, in a test `testing` does.
"""

from typing import Any

_current: Any = None


def set_host(given: Any) -> None:
    global _current
    _current = given


def host() -> Any:
    if _current is None:
        raise RuntimeError("There is no gateway here. In a test, make one: `Gateway()` of `connector_sdk.testing`.")
    return _current
