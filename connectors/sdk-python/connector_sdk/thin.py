"""The request of a row: it follows from the input, which is JSON text, and from the row's
description.
"""

from __future__ import annotations

from dataclasses import dataclass, field


from . import multipart, reader
from .encoding import encode, encode_name, has_dot_segment
from .form import pairs
from .host import host
from .http import DOT_SEGMENT, EMPTY_SEGMENT, Request
from .outcome import Fault


@dataclass
class WireField:
    """The part of a field that the request depends on."""

    name: str
    location: str
    upstream_name: str
    body_path: list[str]
    #: The field is the whole body.
    whole: bool
    required: bool
    integer: bool
    #: The separator of a list. `None`: each item is a separate parameter, or the list is JSON in a
    #: body.
    joined: str | None
    max_bytes: int | None
    default: str | None
    nullable: bool
    keeps_slashes: bool
    odata_string: bool


class Setting:
    """A setting of the table, for paths and headers."""

    def __init__(self, name: str, default: str | None):
        self.name = name
        self.default = default

    def json(self) -> str | None:
        """Its value as JSON text; `None` if there is neither a value nor a default."""
        found = host().config(self.name)
        return self.default if found is None else found

    def text(self) -> str | None:
        json = self.json()
        if json is None:
            return None
        found = reader.scalar(json)
        if found is None:
            raise Fault.failed(f"The setting `{self.name}` of this connector is {json}, which is not of the declared type.")
        return found


#: A part of a path or of a header's value: fixed text, the index of a field, or a setting.
Piece = str | int | Setting


@dataclass
class Header:
    name: str
    value: list[Piece]
    #: Query parameters that the header is sent with, and a value of each for which it is not sent.
    when: list[tuple[str, str | None]]

    def pair(self) -> list[tuple[str, str]]:
        """Empty if a setting in the value has no value."""
        parts = [piece.text() if isinstance(piece, Setting) else piece for piece in self.value]
        return [] if None in parts else [(self.name, "".join(parts))]


@dataclass
class Wire:
    """The request of a row."""

    method: str
    upstream: str
    path: list[Piece]
    fixed_query: str
    fields: list[WireField]
    default_query: list[tuple[str, list[str]]]
    headers: list[Header]
    #: The index of the field that is the body; or members that are always sent, and the indices of
    #: the fields that are members.
    whole: int | None = None
    fixed_body: str | None = None
    members: list[int] = field(default_factory=list)
    #: How the body is written: `json`, `form` or `multipart`.
    encoding: str = "json"


def row_request(row: Wire, given: str) -> Request:
    """The request of a row for an input."""
    values = _Values(row, given)
    values.check()
    query = _Query(values.path())
    values.query(query)
    request = Request(row.method, row.upstream, query.path)
    request.headers = values.headers(query)
    body = values.body()
    if row.encoding == "multipart":
        request.body = multipart.row_body(row.fields, values.get, body or "{}")
    elif body is not None:
        request.body = ("form", pairs(body)) if row.encoding == "form" else ("json", body)
    return request


class _Query:
    """The path, and the part of the query that is already written."""

    def __init__(self, path: str):
        self.path = path
        self.given: dict[str, str] = {}
        self.separator = "?"

    def raw(self, parameters: str) -> None:
        self.path += self.separator + parameters
        self.separator = "&"

    def parameter(self, name: str, value: str, field: WireField) -> None:
        self.given.setdefault(name, value)
        encoded = encode_name(name)
        items = reader.items(value)
        if items is None:
            self.raw(f"{encoded}={encode(_text(field, value))}")
        elif field.joined is not None and items:
            self.raw(f"{encoded}={_joined(field, items)}")
        else:
            for item in items:
                self.raw(f"{encoded}={encode(_text(field, item))}")


class _Values:
    def __init__(self, row: Wire, given: str):
        self.row = row
        self.given = reader.members(given) or {}

    def get(self, field: WireField) -> str | None:
        """The JSON text of a field's value, or of its default."""
        found = self.given.get(field.name)
        return field.default if found is None or (found == "null" and not field.nullable) else found

    def check(self) -> None:
        """Sizes in bytes, which the schema cannot limit, and required fields."""
        for field in self.row.fields:
            value = self.get(field)
            if value is None:
                if field.required:
                    raise _refuse(field, "Give a value: the operation needs it.")
            elif field.max_bytes is not None and reader.utf8_length(value) > field.max_bytes:
                plain = reader.scalar(value)
                length = reader.utf8_length(reader.compact(value) if plain is None else plain)
                if length > field.max_bytes:
                    raise _refuse(field, f"Give at most {field.max_bytes} bytes; these are {length}.")

    def path(self) -> str:
        path = ""
        for piece in self.row.path:
            if isinstance(piece, str):
                path += piece
            elif isinstance(piece, Setting):
                value = piece.text()
                if value is None:
                    raise Fault.failed(
                        f"The operation needs the setting `{piece.name}` of this connector, which the operator has not set."
                    )
                path += value
            else:
                field = self.row.fields[piece]
                value = self.get(field)
                if value is None:
                    continue
                text = _path_value(field, value, path.endswith("/"))
                if not text:
                    raise _refuse(field, EMPTY_SEGMENT)
                path += text
        self._refuse_dots(path)
        return path

    def _refuse_dots(self, path: str) -> None:
        # Only a value with a dot, encoded or not, can make a dot segment: the table's own text was
        # checked.
        in_path = [(field, self.get(field) or "") for field in self.row.fields if field.location == "path"]
        suspects = [(field, value) for field, value in in_path if any(character in value for character in ".\\%")]
        if suspects and has_dot_segment(path):
            climbing = [field for field, value in suspects if has_dot_segment(reader.scalar(value) or "")]
            raise _refuse((climbing or [suspects[0][0]])[0], DOT_SEGMENT)

    def query(self, query: _Query) -> None:
        if self.row.fixed_query:
            query.raw(self.row.fixed_query)
        for field in self.row.fields:
            value = self.get(field)
            if value is None:
                continue
            if field.location == "query":
                query.parameter(field.upstream_name, value, field)
            elif field.location == "query-entries":
                for name, entry in reader.members(value).items():
                    if entry != "null":
                        query.parameter(name, entry, field)
        for parameter, unless in self.row.default_query:
            if not any(name in query.given for name in unless):
                query.raw(parameter)

    def headers(self, query: _Query) -> list[tuple[str, str]]:
        headers: list[tuple[str, str]] = []
        for header in self.row.headers:
            counts = (
                name in query.given and (unless is None or reader.scalar(query.given[name]) != unless) for name, unless in header.when
            )
            if not header.when or any(counts):
                headers.extend(header.pair())
        for field in self.row.fields:
            value = self.get(field)
            if value is None:
                continue
            if field.location == "header":
                headers.append((field.upstream_name, _header_value(field, value)))
            elif field.location == "header-entries":
                named = reader.members(value).items()
                headers.extend((name, _header_value(field, entry)) for name, entry in named if entry != "null")
        return headers

    def body(self) -> str | None:
        if self.row.whole is not None:
            field = self.row.fields[self.row.whole]
            value = self.get(field)
            return None if value is None else _as_sent(field, value)
        return None if self.row.fixed_body is None else self._members(self.row.fixed_body)

    def _members(self, fixed: str) -> str:
        """An object of the fields. Fields of one inner object follow one another."""
        json = "{" + fixed
        opened: list[str] = []

        def name(text: str) -> str:
            return ("" if json.endswith("{") else ",") + reader.quoted(text) + ":"

        for index in self.row.members:
            field = self.row.fields[index]
            value = self.get(field)
            if value is None:
                continue
            *outer, last = field.body_path
            common = 0
            while common < min(len(opened), len(outer)) and opened[common] == outer[common]:
                common += 1
            json += "}" * (len(opened) - common)
            for segment in outer[common:]:
                json += name(segment)
                json += "{"
            opened = outer
            json += name(last)
            items = reader.items(value) if field.joined is not None else None
            if items is not None:
                json += reader.quoted(field.joined.join(_text(field, item) for item in items))
            elif self.row.encoding != "json" and field.integer and value != "null" and not value.startswith("["):
                # The caller may write an integer as `1.0`, which is a text of its own in a form.
                json += _text(field, value)
            else:
                json += _as_sent(field, value)
        return json + "}" * len(opened) + "}"


def _path_value(field: WireField, value: str, after_slash: bool) -> str:
    items = reader.items(value) if field.joined is not None else None
    if items is not None:
        return _joined(field, items)
    plain = _text(field, value)
    if field.keeps_slashes:
        return encode(plain.removeprefix("/") if after_slash else plain, "/")
    if field.odata_string:
        return encode(plain.replace("'", "''"), "'")
    return encode(plain)


def _joined(field: WireField, items: list[str]) -> str:
    """Commas between items are not encoded. Commas inside an item are percent-encoded."""
    return encode(field.joined, ",").join(encode(_text(field, item)) for item in items)


def _text(field: WireField, value: str) -> str:
    """A scalar as text: a string without its quotes, any other scalar as the caller wrote it."""
    found = reader.scalar(value)
    if found is None:
        raise _refuse(field, "Give a string, a number or a boolean here.")
    return (reader.integer(found) or found) if field.integer else found


def _header_value(field: WireField, value: str) -> str:
    found = _text(field, value)
    if any(character in found for character in "\r\n\0"):
        raise _refuse(field, "Give a value without line breaks: it is sent as a header.")
    return found


def _as_sent(field: WireField, value: str) -> str:
    """An object that fits its limit only in its compact form is sent in this form."""
    is_long = field.max_bytes is not None and reader.utf8_length(value) > field.max_bytes
    return reader.compact(value) if is_long and value[0] in "[{" else value


def _refuse(field: WireField, detail: str) -> Fault:
    return Fault.invalid_input(f"/{field.name}", detail)
