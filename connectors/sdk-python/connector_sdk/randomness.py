"""Random values, as the component gets them from the gateway.

The state of a generator would be in the memory that is stored with the module. Each call starts
from that memory, so its values would be the same in every call. The values of the gateway are not.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

#: The largest number of bytes that the gateway gives at once.
_MOST_BYTES = 65_536

#: Bytes of the seed of a generator: more than anyone can guess.
_SEED_BYTES = 32

_draw: Callable[[int], bytes] | None = None


def replace_random_values() -> None:
    """Makes the gateway the source of random values, as soon as `start` is called.

    `secrets`, `uuid.uuid4` and `random.SystemRandom` take their values from `os.urandom`. The
    functions of `random` and new generators get their seed from there. This runs before the module
    of the connector. Until `start` is called, all of them raise an exception: values from the time
    of the build would be the same in every call.
    """
    os.urandom = random._urandom = _urandom
    own_seed = random.Random.seed

    def seed_of_gateway(self: random.Random, a: Any = None, version: int = 2) -> None:
        own_seed(self, int.from_bytes(_urandom(_SEED_BYTES)) if a is None else a, version)

    random.Random.seed = seed_of_gateway
    own = {name: getattr(random, name) for name in random.__all__}
    own = {name: found for name, found in own.items() if getattr(found, "__self__", None) is random._inst}
    is_seeded = False

    def seed(a: Any = None, version: int = 2) -> None:
        nonlocal is_seeded
        random._inst.seed(a, version)
        is_seeded = True

    def setstate(state: Any) -> None:
        nonlocal is_seeded
        own["setstate"](state)
        is_seeded = True

    def seeded(function: Callable[..., Any]) -> Callable[..., Any]:
        # A module may import the function by its name, so that the function itself cannot be replaced later.
        def call(*arguments: Any, **named: Any) -> Any:
            if not is_seeded:
                seed()
            return function(*arguments, **named)

        call.__name__, call.__doc__ = function.__name__, function.__doc__
        return call

    for name, function in own.items():
        setattr(random, name, seeded(function))
    random.seed, random.setstate = seed, setstate


def start(draw: Callable[[int], bytes]) -> None:
    """An operation runs: from now on there are random values. `draw` is the gateway's function."""
    global _draw
    _draw = draw


def _urandom(size: int, /) -> bytes:
    if _draw is None:
        raise NotImplementedError(
            "There are random values in an operation, not while the module of the connector is loaded: that happens once, in the build."
        )
    if size < 0:
        raise ValueError("negative argument not allowed")
    return b"".join(_draw(min(size - begin, _MOST_BYTES)) for begin in range(0, size, _MOST_BYTES))
