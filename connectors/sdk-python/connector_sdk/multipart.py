"""Bodies of forms with files (`multipart/form-data`).

The gateway builds them, so that no name or media type of a caller can end a part. A part is a
dictionary: `{"name": …, "text": …}` or `{"name": …, "file_name": …, "bytes": …}`, with
`content_type` if need be. A file of a caller has `content_base64` in place of `bytes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .fault import Fault
from .host import host

Part = Mapping[str, Any]


class BrokenPart(Exception):
    """A part breaks a rule. `index` is its place among the parts."""

    def __init__(self, index: int, detail: str):
        super().__init__(detail)
        self.index = index
        self.detail = detail


def body(parts: Iterable[Part]) -> tuple[str, Any]:
    """The body of these parts, for `Request.body`."""
    try:
        return "bytes", (host().multipart(list(parts)), b"")
    except BrokenPart as broken:
        raise Fault.invalid_input("", broken.detail) from None
