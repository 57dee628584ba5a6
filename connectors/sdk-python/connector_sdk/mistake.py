"""A mistake in a table. It stops the build, so its message says what to write."""

from collections.abc import Iterable, Mapping
from contextlib import contextmanager


class Mistake(Exception):
    pass


def only(given: Mapping, known: Iterable[str], where: str) -> None:
    """Refuses words that are not known here, because a misspelt one would have no effect."""
    for word in given:
        if word not in known:
            raise Mistake(f"{where} has no `{word}`; it has " + ", ".join(f"`{word}`" for word in known))


@contextmanager
def within(place: str):
    """Names the place in the message of a mistake."""
    try:
        yield
    except Mistake as mistake:
        raise Mistake(f"{place}: {mistake}") from None
