"""A mistake in a table. It stops the build, so its message says what to write."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

#: A file and a line.
Place = tuple[str, int]


class Mistake(Exception):
    #: Where the author wrote it, if this is not where the table was made.
    place: Place | None = None


def here() -> Place:
    """The place at which the author has called a function of the SDK, which calls this one."""
    frame = sys._getframe(2)
    return frame.f_code.co_filename, frame.f_lineno


def only(given: Mapping, known: Iterable[str], where: str) -> None:
    """Refuses words that are not known here, because a misspelt one would have no effect."""
    for word in given:
        if word not in known:
            raise Mistake(f"{where} has no `{word}`; it has " + ", ".join(f"`{word}`" for word in known))


@contextmanager
def within(what: str, place: Place | None = None):
    """Names the part of the table in the message of a mistake, and its place."""
    try:
        yield
    except Mistake as mistake:
        named = Mistake(f"{what}: {mistake}")
        named.place = mistake.place or place
        raise named from None


def check_function(what: str, run: Callable[..., Any]) -> None:
    """Refuses a function whose result the gateway would not get: it has to be there when it
    returns.
    """
    if inspect.iscoroutinefunction(run) or inspect.isasyncgenfunction(run):
        raise Mistake(
            f"{what} is an `async` function, and nothing runs after it has returned; leave out `async` and `await`: `send` returns "
            "the response itself"
        )
    if inspect.isgeneratorfunction(run):
        raise Mistake(f"{what} is a generator function, which returns no value; use `return` in place of `yield`")


def check_arguments(what: str, run: Callable[..., Any], fields: list[str]) -> None:
    """Refuses a function whose arguments are not the fields of its row: each call would fail."""
    arguments = inspect.signature(run).parameters.values()
    if any(argument.kind is inspect.Parameter.VAR_KEYWORD for argument in arguments):
        return
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    taken = [argument.name for argument in arguments if argument.kind in by_name]
    for field in fields:
        if field not in taken:
            raise Mistake(f"{what} has no argument for the field `{field}`; add `{field}`, or leave out the field")
    for argument in arguments:
        is_needed = argument.default is inspect.Parameter.empty and argument.kind is not inspect.Parameter.VAR_POSITIONAL
        if is_needed and argument.name not in fields:
            known = f"its fields are {', '.join(f'`{field}`' for field in fields)}" if fields else "it has no fields"
            raise Mistake(f"{what} takes `{argument.name}`, which is no field of its row; {known}")


def explained(error: Exception) -> str:
    """What is wrong in the author's file, and what to write, in one line."""
    if isinstance(error, ModuleNotFoundError):
        return f"there is no module `{error.name}`; install it for the Python that builds, or correct its name"
    if isinstance(error, ImportError):
        [name] = re.findall(r"cannot import name '(\w+)'", str(error)) or [None]
        return f"`{error.name}` has no `{name}`{_instead(name)}" if name else str(error)
    if isinstance(error, NameError):
        exported = error.name in _exported()
        return f"`{error.name}` is not defined" + (_imported(error.name) if exported else _instead(error.name))
    return str(error)


def _exported() -> list[str]:
    """The names of the SDK."""
    return sys.modules[__package__].__all__


def _imported(name: str) -> str:
    return f"; import it: `from {__package__} import {name}`"


def _instead(name: str | None) -> str:
    near = get_close_matches(name or "", _exported(), n=1)
    return f"; the nearest name of the SDK is `{near[0]}`" if near else "; correct the name, or import it"
