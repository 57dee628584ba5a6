"""Bodies of forms with files (`multipart/form-data`).

The gateway builds them, so that no name or media type of a caller can end a part. A part is a
dictionary: `{"name": …, "text": …}` or `{"name": …, "file_name": …, "bytes": …}`, with
`content_type` if need be. A file of a caller has `content_base64` in place of `bytes`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import reader
from .host import host
from .outcome import Fault

Part = Mapping[str, Any]


class BrokenPart(Exception):
    """A part breaks a rule. `index` is its place among the parts."""

    def __init__(self, index: int, detail: str):
        super().__init__(detail)
        self.index = index
        self.detail = detail


def body(parts: Iterable[Part]) -> tuple[str, Any]:
    """The body of these parts, for `Request.body`."""
    return _built(list(parts), lambda index: "")


def row_body(fields: Iterable[Any], given: Callable[[Any], str | None], object_text: str) -> tuple[str, Any]:
    """The body of a row: the members of a JSON object as fields, then the row's files.

    Services that read a form from its beginning need the fields first. `given` has a file's JSON
    text.
    """
    parts: list[Part] = []
    for name, value in (reader.members(object_text) or {}).items():
        items = reader.items(value)
        parts.extend(_field(name, item) for item in ([value] if items is None else items))
    places = [""] * len(parts)
    for field in fields:
        value = given(field) if field.location == "file" else None
        if value is None:
            continue
        items = reader.items(value)
        for index, item in enumerate([value] if items is None else items):
            parts.append({**json.loads(item), "name": field.upstream_name})
            places.append(f"/{field.name}" if items is None else f"/{field.name}/{index}")
    return _built(parts, lambda index: places[index] if index < len(places) else "")


def _field(name: str, value: str) -> Part:
    """A value as a part: a scalar as text, and an object or a list as JSON."""
    if value[0] in "[{":
        return {"name": name, "content_type": "application/json", "text": value}
    # Null is empty: a form has no other value that means "none".
    return {"name": name, "text": reader.scalar(value) or ""}


def _built(parts: list[Part], place: Callable[[int], str]) -> tuple[str, Any]:
    try:
        return "bytes", (host().multipart(parts), b"")
    except BrokenPart as broken:
        raise Fault.invalid_input(place(broken.index), broken.detail) from None
