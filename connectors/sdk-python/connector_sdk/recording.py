"""Tests of operations against recordings, which `connector-gateway connectors call --record`
writes.

The crate `rows` answers the requests, and compares a call with the recorded one.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from .fault import Fault
from .http import Document, HttpError, Request
from .multipart import Part
from .outcome import File
from .reader import written
from .row_module import replayed


class Recording:
    """A recorded call."""

    def __init__(self, text: str):
        self._text = text
        self._asked: list[dict[str, Any]] = []
        found = self._replayed()
        if "refused" in found:
            raise AssertionError(found["refused"])
        self.operation: str = found["operation"]
        self.input: str = found["input"]
        #: Names, and values as JSON text.
        self.settings = dict(found["settings"])

    def _replayed(self, end: dict[str, Any] | None = None) -> dict[str, Any]:
        return replayed({"recording": self._text, "asked": self._asked, "end": end})

    def take(self, asked: Request, parts: list[Part]) -> dict[str, Any]:
        """The answer to a request, and the end of a call whose last request it is.

        `parts` are those of its body, if the body is a form with files.
        """
        path = None if asked.link is not None else asked.path
        body = _form(parts) if parts else _body(asked)
        self._asked.append({"method": asked.method, "upstream": asked.upstream, "path": path, "link": asked.link, "body": body})
        found = self._replayed()
        if "denied" in found:
            raise HttpError("denied", found["denied"])
        return found

    def compare(self, run: Callable[[], Any], parts: Callable[[Request], list[Part]]) -> None:
        """Runs the operation. Raises an `AssertionError` if it differs from the recording.

        `parts` gives the parts of a request.
        """
        try:
            end = self._end(run(), parts)
        except (Fault, HttpError) as fault:
            end = {"tag": "failed", "val": str(fault)}
        differences = self._replayed(end)["differences"]
        if differences:
            raise AssertionError("\n  ".join(differences))

    def _end(self, outcome: Any, parts: Callable[[Request], list[Part]]) -> dict[str, Any]:
        if isinstance(outcome, File):
            return {"tag": "file"}
        if isinstance(outcome, Request):
            return self.take(outcome, parts(outcome))["end"]
        return {"tag": "answer", "val": outcome.text() if isinstance(outcome, Document) else written(outcome)}


def _form(parts: list[Part]) -> dict[str, Any]:
    common = ("name", "file_name", "content_type", "text")
    return {"tag": "parts", "val": [{**{word: part.get(word) for word in common}, "base64": _base64(part)} for part in parts]}


def _base64(part: Part) -> str | None:
    return base64.b64encode(part["bytes"]).decode() if "bytes" in part else part.get("content_base64")


def _body(request: Request) -> dict[str, Any] | None:
    """A body that is no form with files."""
    if request.body is None:
        return None
    tag, sent = request.body
    return {"tag": tag, "val": list(sent[1]) if tag == "bytes" else sent}
