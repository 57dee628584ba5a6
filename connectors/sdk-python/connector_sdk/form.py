"""A body as a form: the members of a JSON object become pairs of names and values.

A form has no types and no levels, so that services agree on names such as `card[number]`.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import reader


def pairs(object_text: str) -> list[tuple[str, str]]:
    """The pairs of an object, from its JSON text."""
    found = reader.members(object_text) or {}
    return [pair for name, value in found.items() for pair in _pairs(name, value, is_inner=False)]


def _pairs(name: str, value: str, is_inner: bool) -> Iterator[tuple[str, str]]:
    """`is_inner` is true inside of an object or a list, where the name of a list needs brackets."""
    members, items = reader.members(value), reader.items(value)
    if members is not None:
        for inner, found in members.items():
            yield from _pairs(f"{name}[{inner}]", found, is_inner=True)
    elif items is not None:
        for index, item in enumerate(items):
            of_item = f"{name}[{index}]" if item[0] in "[{" else f"{name}[]" if is_inner else name
            yield from _pairs(of_item, item, is_inner=True)
    else:
        # Null is empty: a form has no other value that means "none".
        yield name, reader.scalar(value) or ""
