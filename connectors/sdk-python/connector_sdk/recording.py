"""Tests of operations against recordings, which `connector-gateway connectors call --record`
writes.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from . import reader
from .fault import Fault
from .http import Document, HttpError, Request
from .multipart import Part
from .outcome import File

FORMAT = 1
"""The format of recordings that this SDK reads."""


class Recording:
    """A recorded call. Values stay JSON text, so that numbers stay as the service wrote them."""

    def __init__(self, text: str):
        try:
            json.loads(text)
            members = reader.members(text.strip())
            version = json.loads(members["format"])
        except (ValueError, KeyError, TypeError) as error:
            raise AssertionError(f"it is not a recording: {error}") from None
        if version != FORMAT:
            raise AssertionError(f"it has the format {version}, and this SDK reads format {FORMAT}; record it again")
        self.operation: str = json.loads(members["operation"])
        self.input = reader.compact(members["input"])
        self.settings = {name: reader.compact(value) for name, value in reader.members(members.get("settings", "{}")).items()}
        self.left = [_Exchange(exchange) for exchange in reader.items(members["exchanges"])]
        self.answer: str | None = members.get("answer")
        self.fails = "problem" in members
        self.differences: list[str] = []

    def take(self, asked: Request, parts: list[Part]) -> tuple[int, bytes, list[tuple[str, str]]]:
        """Status, body and headers of the answer to a request.

        `parts` are those of its body, if the body is a form with files.
        """
        for exchange in self.left:
            if exchange.is_for(asked, parts):
                self.left.remove(exchange)
                return exchange.status, exchange.body, exchange.headers
        self.differences.append(f"the recording has no request {_shown(asked)}")
        raise HttpError("denied", self.differences[-1])

    def compare(self, run: Any, parts: Callable[[Request], list[Part]]) -> None:
        """Runs the operation. Raises an `AssertionError` if it differs from the recording.

        `parts` gives the parts of a request.
        """
        failure, answered = None, None
        try:
            answered = _answered(run(), self, parts)
        except (Fault, HttpError) as fault:
            failure = fault
        differences = self.differences + [f"the recording has a request that was not sent: {left}" for left in self.left]
        if differences:
            pass
        elif failure is not None and not self.fails:
            differences.append(f"an answer is recorded, and the operation failed: {failure}")
        elif failure is None and self.fails:
            differences.append("a problem is recorded, and the operation answered")
        elif failure is None and answered is not None and not _same(json.loads(self.answer), json.loads(answered)):
            differences.append(f"the answer differs: recorded {reader.compact(self.answer)}, now {answered}")
        if differences:
            raise AssertionError("\n  ".join(differences))


class _Exchange:
    def __init__(self, text: str):
        members = reader.members(text)
        self.request = json.loads(members["request"])
        answer = reader.members(members["answer"])
        self.status: int = json.loads(answer["status"])
        self.headers = [(name, value) for name, value in json.loads(answer.get("headers", "[]"))]
        self.body = _bytes(reader.members(answer["body"])) if "body" in answer else b""

    def is_for(self, asked: Request, parts: list[Part]) -> bool:
        recorded = self.request
        path = None if asked.link is not None else asked.path
        target = (asked.method.upper(), asked.upstream, path, asked.link)
        if target != (recorded["method"], recorded["upstream"], recorded.get("path"), recorded.get("link")):
            return False
        if asked.body is None or "body" not in recorded:
            return asked.body is None and "body" not in recorded
        if parts:
            return recorded["body"].get("multipart") == [_recorded_part(part) for part in parts]
        return _is_body(recorded["body"], *asked.body)

    def __str__(self) -> str:
        recorded = self.request
        return f"{recorded['method']} {recorded['upstream']} {recorded.get('path', recorded.get('link'))}"


def _bytes(body: dict[str, str]) -> bytes:
    if "json" in body:
        return reader.compact(body["json"]).encode()
    if "text" in body:
        return json.loads(body["text"]).encode()
    return base64.b64decode(json.loads(body["base64"]))


def _is_body(recorded: dict[str, Any], tag: str, sent: Any) -> bool:
    if tag == "form":
        return recorded.get("form") == [list(pair) for pair in sent]
    content = sent.encode() if tag == "json" else bytes(sent[1])
    if "json" in recorded:
        try:
            return _same(recorded["json"], json.loads(content))
        except ValueError:
            return False
    if "text" in recorded:
        return recorded["text"].encode() == content
    return recorded.get("base64") == base64.b64encode(content).decode()


def _recorded_part(part: Part) -> dict[str, str]:
    """A part as the gateway records it: a field as text, and a file in base64."""
    recorded = {"name": part["name"]}
    if "file_name" not in part:
        if part.get("content_type"):
            recorded["content_type"] = part["content_type"]
        return {**recorded, "text": part["text"]}
    content = part.get("content_base64")
    if content is None:
        content = base64.b64encode(part["bytes"] if "bytes" in part else part["text"].encode()).decode()
    content_type = part.get("content_type") or "application/octet-stream"
    return {**recorded, "file_name": part["file_name"], "content_type": content_type, "base64": content}


def _shown(request: Request) -> str:
    target = request.path if request.link is None else request.link
    text = f"{request.method.upper()} {request.upstream} {target}"
    if request.body is None:
        return text
    tag, sent = request.body
    return f"{text} with the body {sent if tag != 'bytes' else f'of {len(sent[1])} bytes'}"


def _answered(outcome: Any, recording: Recording, parts: Callable[[Request], list[Part]]) -> str | None:
    """The answer as JSON text. `None` for a file."""
    if isinstance(outcome, File):
        return None
    if isinstance(outcome, Document):
        return outcome.text()
    if not isinstance(outcome, Request):
        return reader.written(outcome)
    status, body, _ = recording.take(outcome, parts(outcome))
    if not 200 <= status < 300:
        raise Fault.upstream(status, f"The service answered with status {status}.")
    try:
        text = body.decode().strip() or "{}"
        json.loads(text)
    except ValueError:
        # A body that is not JSON is a file.
        return None
    return text


def _same(one: Any, other: Any) -> bool:
    """Compares two values. `True` is not a number."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other
