"""Requests to the upstreams, responses, and JSON documents that stay in the gateway."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn, cast

from . import multipart
from .encoding import encode, encode_name, has_dot_segment
from .fault import Fault
from .host import host
from .reader import written

DOT_SEGMENT = "Give a value that does not contain `.` or `..` as a segment, in any encoding: it is a part of a path."
EMPTY_SEGMENT = "Give a value that is not empty: it is a part of a path."


class HttpError(Exception):
    """A request has no response.

    `tag` is a case of the contract's `http.error`, for example `denied`.
    """

    def __init__(self, tag: str, value: str | int | None = None):
        super().__init__(tag if value is None else f"{tag}: {value}")
        self.tag = tag
        self.value = value

    def successful(self) -> NoReturn:
        """Raises the error: a result of `send_all` has this method as a response has."""
        raise self


class Request:
    """A request to an upstream. The gateway adds the user's credential, and the headers of the
    connection.

    `path` is percent-encoded, and empty or begins with `/`.
    """

    def __init__(self, method: str, upstream: str, path: str = "", link: Any = None):
        self.method = method.lower()
        self.upstream = upstream
        self.path = path
        self.link = link
        self.headers: list[tuple[str, str]] = []
        self.body: tuple[str, Any] | None = None
        self.omit_credential = False

    @classmethod
    def get(cls, upstream: str, path: str) -> Request:
        return cls("get", upstream, path)

    @classmethod
    def post(cls, upstream: str, path: str) -> Request:
        return cls("post", upstream, path)

    @classmethod
    def follow(cls, upstream: str, link: Any) -> Request:
        """A request to an address that a response of this upstream contained.

        It has no path and no query.
        """
        return cls("get", upstream, link=link)

    def segment(self, field: str, value: str | Iterable[str]) -> Request:
        """Appends `/` and a segment, percent-encoded. A list is joined with commas.

        Refuses the caller's `field` if it is empty, `.` or `..`.
        """
        parts = [value] if isinstance(value, (str, int)) else value
        segment = ",".join(encode(str(part)) for part in parts)
        if not segment:
            raise Fault.invalid_input(f"/{field}", EMPTY_SEGMENT)
        if has_dot_segment(segment):
            raise Fault.invalid_input(f"/{field}", DOT_SEGMENT)
        self.path += f"/{segment}"
        return self

    def query(self, name: str, value: Any) -> Request:
        """Appends a query parameter. `None` is left out."""
        if value is not None:
            text = written(value) if isinstance(value, bool) else str(value)
            self.path += f"{'&' if '?' in self.path else '?'}{encode_name(name)}={encode(text)}"
        return self

    def header(self, name: str, value: str) -> Request:
        self.headers.append((name, value))
        return self

    def json(self, value: Any) -> Request:
        """Sets the body to a value as JSON."""
        self.body = ("json", written(value))
        return self

    def form(self, fields: Mapping[str, str] | Iterable[tuple[str, str]]) -> Request:
        """Sets the body to a form. The gateway encodes it."""
        pairs = fields.items() if isinstance(fields, Mapping) else fields
        self.body = ("form", [(name, str(value)) for name, value in pairs])
        return self

    def multipart(self, parts: Iterable[multipart.Part]) -> Request:
        """Sets the body to a form with files (`multipart/form-data`).

        A part is `{"name": …, "text": …}` or `{"name": …, "file_name": …, "bytes": …}`, with
        `content_type` if need be. The file of a caller is a part once it has a name: `{"name":
        "photo", **photo}`.
        """
        self.body = multipart.body(parts)
        return self

    def signed_link(self, seconds: int) -> str:
        """A link to the path of this request, with a signature of the user in its query.

        Someone without an account can follow it with the request's method for this number of seconds, at
        most seven days.
        """
        return cast(str, host().signed_link(self, seconds))

    def bytes(self, content_type: str, content: bytes) -> Request:
        self.body = ("bytes", (content_type, content))
        return self

    def without_credential(self) -> Request:
        """Leaves out the user's credential."""
        self.omit_credential = True
        return self

    def check_target(self) -> None:
        if self.link is not None and self.path:
            raise HttpError("invalid-request", f"a request that follows a link has no path and no query: `{self.path}`")


def send(request: Request) -> Response:
    """Sends one request.

    Any status is a response. Raises an `HttpError` if there is no response.
    """
    request.check_target()
    return Response(host().send(request))


def send_all(requests: Iterable[Request]) -> list[Response | HttpError]:
    """Sends at most 32 requests in parallel. The results are in the order of the requests."""
    prepared = list(requests)
    for request in prepared:
        request.check_target()
    return [found if isinstance(found, HttpError) else Response(found) for found in host().send_all(prepared)]


class Response:
    """A response.

    Its body stays in the gateway until the connector reads it, and can be read several times.
    """

    def __init__(self, handle: Any):
        self.handle = handle

    @property
    def status(self) -> int:
        return self.handle.status()

    def header(self, name: str) -> str | None:
        """The value of a header; `None` if it is absent.

        Several lines of one name are one value, with a comma between them (RFC 9110, section 5.3).
        """
        lines = self.handle.header(name)
        return ", ".join(lines) if lines else None

    def header_link(self, name: str) -> Any:
        """The address in a header, for `Request.follow`; `None` if it is absent.

        For `link`, the address of the link with the relation `next`.
        """
        return host().calling(self.handle.header_link, name)

    def body_link(self, pointer: str) -> Any:
        """The address at a JSON Pointer of the body, for `Request.follow`.

        `None` if the body has nothing there, or null.
        """
        return host().calling(self.handle.body_link, pointer)

    def peek(self, length: int) -> bytes:
        """The first bytes of the body, at most 4096, without consuming it."""
        return host().calling(self.handle.peek, length)

    def bytes(self) -> bytes:
        return host().calling(self.handle.bytes)

    def text(self) -> str:
        return host().calling(self.handle.text)

    def json(self) -> Any:
        """The body as a Python value."""
        return self.document().value()

    def document(self) -> Document:
        """The body as a JSON document that stays in the gateway. An empty body is `{}`."""
        return Document(host().calling(self.handle.document))

    def successful(self) -> Response:
        """The response itself if its status is below 400.

        Otherwise raises a fault with the status, the body and `Retry-After`.
        """
        status = self.status
        if status < 400:
            return self
        wait = (self.header("retry-after") or "").strip()
        try:
            body = self.document().text()
        except HttpError:
            body = None
        seconds = int(wait) if wait.isascii() and wait.isdigit() and len(wait) < 10 else None
        raise Fault.upstream(status, f"The service answered with status {status}.", body, seconds)


class Document:
    """A JSON value that the gateway holds. A function can return it, or a part of it."""

    def __init__(self, handle: Any):
        self.handle = handle

    @classmethod
    def parse(cls, text: str) -> Document:
        """Raises `ValueError` with the place where the text is wrong."""
        return cls(host().parse(text))

    def pointer(self, pointer: str) -> Document | None:
        """The value at a JSON Pointer; `None` if there is nothing."""
        found = self.handle.pointer(pointer)
        return None if found is None else Document(found)

    def string(self, pointer: str) -> str | None:
        """The string at a JSON Pointer; `None` if there is nothing, or another value."""
        found = self.pointer(pointer)
        return None if found is None else found.handle.as_string()

    def keys(self) -> list[str]:
        return self.handle.keys()

    def __len__(self) -> int:
        return self.handle.length()

    def __bool__(self) -> bool:
        return True

    def item(self, index: int) -> Document | None:
        found = self.handle.item(index)
        return None if found is None else Document(found)

    def __iter__(self) -> Iterator[Document]:
        """Items of an array, or members of an object in their order."""
        for index in range(len(self)):
            yield Document(self.handle.item(index))

    def text(self) -> str:
        """The JSON text. Numbers keep their original text."""
        return self.handle.text()

    def value(self) -> Any:
        """The value as a Python value."""
        return json.loads(self.text())
