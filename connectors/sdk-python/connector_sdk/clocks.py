"""The clocks of Python, as the component gets them from the gateway.

Python's own clocks use WASI, which a component does not have. They work while the module of the
connector is loaded, which is at the build.
"""

from __future__ import annotations

import _strptime  # noqa: F401  `strptime` imports it at its first call, which is too late in a component
import datetime
import math
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

_now: Callable[[], int] | None = None


def start(now: Callable[[], int]) -> None:
    """An operation runs: from now on `now` is the clock. It gives milliseconds since 1970."""
    global _now
    _now = now


def replace_clocks() -> None:
    """Replaces the clocks in `time` and `datetime`. This runs before the module of the connector."""
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time"):
        if not hasattr(time, name):
            continue
        setattr(time, name, _clock(getattr(time, name), lambda milliseconds: milliseconds / 1000))
        nanoseconds = f"{name}_ns"
        setattr(time, nanoseconds, _clock(getattr(time, nanoseconds), lambda milliseconds: milliseconds * 1_000_000))
    for name, value_of in (("clock_gettime", lambda milliseconds: milliseconds / 1000), ("clock_gettime_ns", lambda ms: ms * 1_000_000)):
        if hasattr(time, name):
            setattr(time, name, _of_clock(getattr(time, name), value_of))
    if hasattr(time, "clock_getres"):
        time.clock_getres = _of_known_clock(time.clock_getres, 0.001)
    # `asyncio` asks for the resolution.
    time.get_clock_info = _of_known_clock(
        time.get_clock_info, SimpleNamespace(implementation="gateway", monotonic=False, adjustable=True, resolution=0.001)
    )
    for name in ("gmtime", "localtime", "ctime"):
        setattr(time, name, _of_seconds(getattr(time, name)))
    for name, position in (("asctime", 0), ("strftime", 1)):
        setattr(time, name, _of_tuple(getattr(time, name), position))
    _replace_dates()


def replace_sleep(sleep: Callable[[int], None]) -> None:
    """Makes `time.sleep` wait in the gateway. `sleep` takes milliseconds."""

    def sleep_in_gateway(seconds: float, /) -> None:
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        # A number that is not finite raises the exceptions of Python.
        milliseconds = math.ceil(seconds * 1000)
        if milliseconds >= 1 << 64:
            raise OverflowError("timestamp out of range")
        sleep(milliseconds)

    time.sleep = sleep_in_gateway


def _clock(own: Callable[[], Any], value_of: Callable[[int], Any]) -> Callable[[], Any]:
    return lambda: own() if _now is None else value_of(_now())


def _of_clock(own: Callable[[int], Any], value_of: Callable[[int], Any]) -> Callable[[int], Any]:
    """A function of the number of a clock. There is one clock."""
    return lambda clock, /: own(clock) if _now is None else value_of(_now())


def _of_known_clock(own: Callable[..., Any], value: Any) -> Callable[..., Any]:
    """A property of the clocks."""
    return lambda clock, /: own(clock) if _now is None else value


def _of_seconds(own: Callable[..., Any]) -> Callable[..., Any]:
    """A function of seconds since 1970, which are the present ones if they are absent."""
    return lambda seconds=None, /: own(time.time() if seconds is None else seconds)


def _of_tuple(own: Callable[..., Any], position: int) -> Callable[..., Any]:
    """A function of a tuple, which is the present time if it is absent."""
    return lambda *given: own(*given) if len(given) > position else own(*given, time.localtime())


class _Replacement(type):
    """The class of a class that stands for another one: all objects of that one are its objects."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.__base__) if cls in _REPLACEMENTS else super().__instancecheck__(instance)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, cls.__base__) if cls in _REPLACEMENTS else super().__subclasscheck__(other)


_REPLACEMENTS: list[type] = []


def _repr_of(own: type) -> Callable[[Any], str]:
    """The text of an object, which has the module of its class, as that of the replaced class."""
    return lambda value: f"datetime.{own.__repr__(value)}" if type(value) in _REPLACEMENTS else own.__repr__(value)


def _replace_dates() -> None:
    """The classes are written in C, so their methods cannot be replaced, and the classes are."""

    class date(datetime.date, metaclass=_Replacement):
        @classmethod
        def today(cls) -> Any:
            return cls.fromtimestamp(time.time())

        __repr__ = _repr_of(datetime.date)

    class datetime_(datetime.datetime, metaclass=_Replacement):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return cls.fromtimestamp(time.time(), tz)

        @classmethod
        def utcnow(cls) -> Any:
            return cls.now(datetime.timezone.utc).replace(tzinfo=None)

        @classmethod
        def today(cls) -> Any:
            return cls.now()

        __repr__ = _repr_of(datetime.datetime)

    _REPLACEMENTS.extend((date, datetime_))
    for name, replacement in (("date", date), ("datetime", datetime_)):
        replacement.__name__ = replacement.__qualname__ = name
        replacement.__module__ = "datetime"
        setattr(datetime, name, replacement)
