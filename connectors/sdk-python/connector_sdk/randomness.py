"""Random values. Their state would be in the memory that is stored with the module, and each call
starts from that memory.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any, NoReturn

_WHY = (
    "would give the same values in every call, because each call starts from the memory that was stored with the module; "
    "the gateway has no random values for connectors yet"
)


def refuse_random_values() -> None:
    """Makes the sources of random values raise an exception.

    `secrets`, `uuid.uuid4` and `random.SystemRandom` take theirs from `os.urandom`. The functions of
    `random` work once the connector has called `random.seed` with a value.
    """
    refused = _refused(f"os.urandom() {_WHY}. Take a value from the input; for a secret, let the caller give it.")
    os.urandom = random._urandom = refused
    own = {name: getattr(random, name) for name in random.__all__}
    own = {name: found for name, found in own.items() if getattr(found, "__self__", None) is random._inst}
    seed = own.pop("seed")
    for name in own.keys() - {"getstate", "setstate"}:
        advice = "Call random.seed() with a value of the input first. The numbers are not fit for secrets."
        setattr(random, name, _refused(f"random.{name}() {_WHY}. {advice}"))

    def seed_and_allow(a: Any = None, version: int = 2) -> None:
        if a is None:
            refused()
        for name, found in own.items():
            setattr(random, name, found)
        seed(a, version)

    random.seed = seed_and_allow


def _refused(message: str) -> Callable[..., NoReturn]:
    def refuse(*_arguments: Any, **_named: Any) -> NoReturn:
        raise NotImplementedError(message)

    return refuse
