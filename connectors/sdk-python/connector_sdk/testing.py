"""Tests of connectors without a gateway: `Gateway()` is a stand-in for it. It returns the responses
that the test has prepared, and records the requests.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakSet

from . import reader
from .fault import Fault
from .host import set_host
from .http import HttpError, Request
from .multipart import BrokenPart, Part
from .recording import Recording
from .row_module import broken_rule, check_rows, next_of, request_of
from .table import Connector

#: The connectors whose rows have been checked.
_checked: WeakSet[Connector] = WeakSet()


@dataclass
class Answer:
    """A response of a service. A body that is not text is written as JSON."""

    status: int
    body: Any = ""
    headers: dict[str, str] | list[tuple[str, str]] = field(default_factory=dict)


def replay(connector: Connector, file: str | Path) -> None:
    """Runs the operation of a recording, answers its requests from the recording, and checks that
    it sends the recorded requests and ends as recorded. The content of a file is not compared. For
    a recorded problem, it only checks that the operation fails. Raises an `AssertionError` with the
    differences.
    """
    try:
        recording = Recording(Path(file).read_text(encoding="utf-8"))
        if recording.operation not in connector._context.operations:
            raise AssertionError(
                f"{connector.identifier} has no operation {recording.operation}; delete the recording, or name another operation in it"
            )
        gateway = Gateway()
        gateway._recording = recording
        gateway._settings.update(recording.settings)
        recording.compare(lambda: gateway.invoke(connector, recording.operation, recording.input), gateway.parts)
    except AssertionError as difference:
        raise AssertionError(f"{file}: {difference}") from None


class Gateway:
    """The gateway that the code under test calls, until the next one is made."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.stored: dict[str, bytes] = {}
        self.logged: list[tuple[str, str]] = []
        self.reported: list[tuple[float, str]] = []
        self._answers: list[Answer | HttpError] = []
        self._settings: dict[str, str] = {}
        self._now = 0
        self._recording: Recording | None = None
        self._multiparts: dict[str, list[Part]] = {}
        set_host(_Host(self))

    def answer(self, status: int, body: Any = "", headers: dict[str, str] | list[tuple[str, str]] | None = None) -> Gateway:
        """Prepares a response. Requests get the responses in this order."""
        self._answers.append(Answer(status, body, headers or {}))
        return self

    def failure(self, tag: str, value: str | int | None = None) -> Gateway:
        """Prepares a failure instead of the next response, for example `timed-out`."""
        self._answers.append(HttpError(tag, value))
        return self

    def setting(self, name: str, value: Any) -> Gateway:
        self._settings[name] = json.dumps(value)
        return self

    def now(self, milliseconds: int) -> Gateway:
        """Sets the clock: milliseconds since 1970-01-01T00:00:00Z.

        It advances when a connector sleeps.
        """
        self._now = milliseconds
        return self

    def invoke(self, connector: Connector, operation: str, given: Any = None) -> Any:
        """Runs an operation, and returns what its function returned.

        Its input may be JSON text. Raises its fault, or a mistake in the rows of the table.
        """
        if connector not in _checked:
            check_rows(connector)
            _checked.add(connector)
        return connector.run(operation, given if isinstance(given, str) else json.dumps(given or {}))

    def parts(self, request: Request) -> list[Part]:
        """The parts of a request whose body is a form with files. Empty for any other body."""
        match request.body:
            case ("bytes", (content_type, b"")):
                return self._multiparts.get(content_type, [])
        return []

    def refused(self, connector: Connector, operation: str, given: Any = None) -> list[dict[str, str]]:
        """The violations of an input that an operation refuses."""
        try:
            self.invoke(connector, operation, given)
        except Fault as fault:
            if fault.tag == "invalid-input":
                return fault.values["violations"]
            raise
        raise AssertionError(f"{operation} does not refuse {given}")


class _Host:
    """The functions of the contract, as the test's gateway implements them."""

    def __init__(self, gateway: Gateway):
        self.gateway = gateway
        self.storage_get = gateway.stored.get
        self.config = gateway._settings.get

    def calling(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)

    def parse(self, text: str) -> _Document:
        json.loads(text)
        return _Document(text.strip())

    def send(self, request: Request) -> _Response:
        self.gateway.requests.append(request)
        if self.gateway._recording is not None:
            answer = self.gateway._recording.take(request, self.gateway.parts(request))["answer"]
            return _Response(Answer(answer["status"], bytes(answer["body"]), answer["headers"]))
        missing = HttpError("failed", f"the test has no answer for {request.upstream} {request.path}")
        found = self.gateway._answers.pop(0) if self.gateway._answers else missing
        if isinstance(found, HttpError):
            raise found
        return _Response(found)

    def send_all(self, requests: list[Request]) -> list[_Response | HttpError]:
        return [self._result(request) for request in requests]

    def _result(self, request: Request) -> _Response | HttpError:
        try:
            return self.send(request)
        except HttpError as error:
            return error

    def make_request(self, row: dict[str, Any], given: str, settings: dict[str, Any]) -> Request:
        """The request of a row. A fault names the place of a wrong part in the input."""
        values = {name: setting.json() for name, setting in settings.items()}
        answered = request_of(row, given, {name: value for name, value in values.items() if value is not None})
        match answered.get("fault"):
            case {"tag": "invalid-input", "val": [violation]}:
                raise Fault.invalid_input(**violation)
            case {"val": detail}:
                raise Fault.failed(detail)
        made = answered["ok"]
        request = Request(made["method"], made["upstream"], made["path"])
        request.headers = [(name, value) for name, value in made["headers"]]
        match made["body"]:
            case {"tag": "parts", "val": parts}:
                request.body = self._form(parts)
            case {"tag": tag, "val": value}:
                request.body = (tag, [tuple(pair) for pair in value] if tag == "form" else value)
        return request

    def _form(self, parts: list[dict[str, Any]]) -> tuple[str, Any]:
        kinds = {"text": "text", "base64": "content_base64"}
        common = ("name", "file_name", "content_type")
        sent = [{**{word: part[word] for word in common}, kinds[part["content"]["tag"]]: part["content"]["val"]} for part in parts]
        try:
            return "bytes", (self.multipart(sent), b"")
        except BrokenPart as broken:
            raise Fault.invalid_input(parts[broken.index]["place"], broken.detail) from None

    def signed_link(self, request: Request, seconds: int) -> str:
        """A link that shows what it is for. No secret is there to sign it."""
        join = "&" if "?" in request.path else "?"
        return f"https://{request.upstream}.test{request.path}{join}method={request.method}&seconds={seconds}"

    def multipart(self, parts: list[Part]) -> str:
        """Checks the parts as the gateway does, and keeps them for the test."""
        for index, part in enumerate(parts):
            detail = _wrong_part(part)
            if detail is not None:
                raise BrokenPart(index, detail)
        kept = self.gateway._multiparts
        content_type = f"multipart/form-data; boundary=parts-{len(kept) + 1}"
        kept[content_type] = [{name: value for name, value in part.items() if value is not None} for part in parts]
        return content_type

    def storage_set(self, key: str, value: bytes, seconds: int | None) -> None:
        self.gateway.stored[key] = value

    def storage_delete(self, key: str) -> None:
        self.gateway.stored.pop(key, None)

    def log(self, level: str, message: str) -> None:
        self.gateway.logged.append((level, message))

    def now(self) -> int:
        return self.gateway._now

    def sleep(self, milliseconds: int) -> None:
        self.gateway._now += milliseconds

    def progress(self, fraction: float, message: str) -> None:
        self.gateway.reported.append((fraction, message))


def _wrong_part(part: Part) -> str | None:
    """What is wrong with a part, in the words of the gateway."""
    broken = broken_rule(part)
    if broken is not None:
        return broken
    if "content_base64" in part:
        try:
            base64.b64decode(part["content_base64"], validate=True)
        except ValueError:
            return "Give the content in base64 (RFC 4648, section 4)."
    return None


class _Response:
    def __init__(self, answer: Answer):
        self._answer = answer
        body = answer.body
        self._bytes = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
        self._text = self._bytes.decode(errors="replace")

    def status(self) -> int:
        return self._answer.status

    def header(self, name: str) -> list[str]:
        headers = self._answer.headers
        pairs = headers.items() if isinstance(headers, dict) else headers
        return [value for known, value in pairs if known.lower() == name.lower()]

    def header_link(self, name: str) -> str | None:
        values = self.header(name)
        return next_of(values) if name.lower() == "link" else next(iter(values), None)

    def body_link(self, pointer: str) -> str | None:
        found = self.document().pointer(pointer)
        return None if found is None else found.as_string()

    def peek(self, length: int) -> bytes:
        return self.bytes()[:length]

    def bytes(self) -> bytes:
        return self._bytes

    def text(self) -> str:
        return self._text

    def document(self) -> _Document:
        try:
            json.loads(self._text or "{}")
        except ValueError as error:
            raise HttpError("bad-answer", str(error)) from None
        return _Document(self._text.strip() or "{}")


class _Document:
    """A document that keeps the text of its numbers, as the gateway's documents do."""

    def __init__(self, text: str):
        self._text = text

    def _parts(self) -> dict[str, str]:
        listed = {str(index): item for index, item in enumerate(reader.items(self._text) or [])}
        return reader.members(self._text) or listed

    def pointer(self, pointer: str) -> _Document | None:
        found = self._text
        for step in pointer.split("/")[1:]:
            value = _Document(found)._parts().get(step.replace("~1", "/").replace("~0", "~"))
            if value is None:
                return None
            found = value
        return _Document(found)

    def length(self) -> int:
        return len(self._parts())

    def keys(self) -> list[str]:
        return list(reader.members(self._text) or [])

    def item(self, index: int) -> _Document | None:
        parts = list(self._parts().values())
        return _Document(parts[index]) if index < len(parts) else None

    def text(self) -> str:
        return self._text

    def as_string(self) -> str | None:
        return reader.scalar(self._text) if self._text.startswith('"') else None
