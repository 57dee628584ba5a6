"""The rows of a table: an operation that is one request, or a function."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field as member
from keyword import iskeyword
from typing import Any, Literal, TypedDict, Unpack

from . import reader
from .declared_rows import Data, RowClauses, declaration_of
from .fields import Field, named, string
from .host import host
from .http import Request
from .mistake import Mistake, Place, check_arguments, check_function, here, only
from .triggers import ROLES, Role

Effect = Literal["read", "write", "destructive"]


# `while` is a keyword, which a class cannot have as a member.
_While = TypedDict("_While", {"while": str}, total=False)


class Pages(_While, total=False):
    items: str
    cursor: str
    link: str
    parameter: str
    page_number: int
    offset: bool
    last: str
    into: str


class Clauses(TypedDict, total=False):
    """The parts of a row other than its request or its function."""

    fields: Mapping[str, Field]
    example: dict[str, Any]
    rate_limit: str
    pages: Pages
    answers: Literal["json", "file", "any"]
    answer_schema: dict[str, Any]
    no_envelope: bool
    background: bool


class RequestClauses(Clauses, RowClauses, total=False):
    effect: Effect
    check: Callable[..., None]
    via: Callable[[Request], Any]


@dataclass
class Row:
    """An operation that is one request, before the table is known."""

    method: str
    upstream: str
    path: str
    doc: str
    effect: Effect
    clauses: RequestClauses
    #: Where the author wrote it.
    place: Place


def get(upstream: str, path: str, doc: str, **clauses: Unpack[RequestClauses]) -> Row:
    return Row("get", upstream, path, doc, "read", clauses, here())


def head(upstream: str, path: str, doc: str, **clauses: Unpack[RequestClauses]) -> Row:
    return Row("head", upstream, path, doc, "read", clauses, here())


def post(upstream: str, path: str, doc: str, **clauses: Unpack[RequestClauses]) -> Row:
    return Row("post", upstream, path, doc, "write", clauses, here())


def put(upstream: str, path: str, doc: str, **clauses: Unpack[RequestClauses]) -> Row:
    return Row("put", upstream, path, doc, "write", clauses, here())


def patch(upstream: str, path: str, doc: str, **clauses: Unpack[RequestClauses]) -> Row:
    return Row("patch", upstream, path, doc, "write", clauses, here())


def delete(upstream: str, path: str, doc: str, **clauses: Unpack[RequestClauses]) -> Row:
    return Row("delete", upstream, path, doc, "destructive", clauses, here())


@dataclass
class Operation:
    name: str
    doc: str
    effect: Effect
    clauses: RequestClauses
    fields: list[Field]
    #: Where the author wrote it.
    place: Place | None = None
    #: The row of a request, or the function.
    request: Data | None = None
    run: Callable[..., Any] | None = None
    via: Callable[[Request], Any] | None = None
    #: Set for a function that a trigger names.
    role: Role | None = None


class InternalClauses(TypedDict, total=False):
    """The parts of a function that a trigger names."""

    rate_limit: str


class Setting:
    """A setting of the table."""

    def __init__(self, name: str, default: str | None):
        self.name = name
        self.default = default

    def json(self) -> str | None:
        """Its value as JSON text; `None` if there is neither a value nor a default."""
        found = host().config(self.name)
        return self.default if found is None else found


@dataclass
class Context:
    """The parts of a table that its rows refer to."""

    rate_limits: Mapping[str, str]
    settings: dict[str, Setting]
    headers: list[Data]
    #: How lists among entries are sent.
    lists: Data
    via: Callable[[Request], Any] | None = None
    operations: dict[str, Operation] = member(default_factory=dict)


def function(context: Context, name: str, doc: str | None, effect: Effect, run: Callable[..., Any], clauses: Clauses) -> Operation:
    """The operation of a function."""
    only(clauses, Clauses.__annotations__, "a function of the table")
    _check(context, name, doc, clauses)
    check_function("the function", run)
    fields = named(clauses.get("fields", {}))
    check_arguments("the function", run, [argument(field) for field in fields])
    return Operation(name, doc or "", effect, clauses, fields, run=run)


def internal(context: Context, name: str, role: Role, run: Callable[..., Any], clauses: InternalClauses) -> Operation:
    """The operation of a function that a trigger names."""
    if role not in ROLES:
        known = ", ".join(f'"{name}"' for name in ROLES)
        raise Mistake(f"`internal` has a role: {known}")
    only(clauses, InternalClauses.__annotations__, "a function with `internal`")
    summary, members = ROLES[role]
    doc = run.__doc__ or summary
    _check(context, name, doc, clauses)
    check_function("the function", run)
    check_arguments("the function", run, list(members))
    effect: Effect = "read" if role in ("read", "identify") else "write"
    return Operation(name, doc, effect, {**clauses, "no_envelope": True}, [], run=run, role=role)


def request(context: Context, name: str, row: Row) -> Operation:
    """The operation of a row."""
    if not isinstance(row, Row):
        raise Mistake('write a row such as `get("api", "/path", "What it does.")`')
    clauses = row.clauses
    only(clauses, RequestClauses.__annotations__, "a row")
    _check(context, name, row.doc, clauses)
    names = re.findall(r"\{([^{}]*)\}", row.path.partition("?")[0])
    names = [found for found in names if not found.startswith("settings.")]
    declared = named(clauses.get("fields", {}))
    known = [field.name for field in declared]
    implied = named({found: string() for found in names if found not in known})
    fields = [_placed(field, row.method, names) for field in [*implied, *declared]]
    for word in ("check", "via"):
        if word in clauses:
            check_function(f"`{word}`", clauses[word])
    if "check" in clauses:
        check_arguments("`check`", clauses["check"], [argument(field) for field in fields])
    request = declaration_of(row.method, row.upstream, row.path, fields, context.headers, context.lists, clauses)
    effect, via = clauses.get("effect", row.effect), clauses.get("via", context.via)
    return Operation(name, row.doc, effect, clauses, fields, place=row.place, request=request, via=via)


def _check(context: Context, name: str, doc: str | None, clauses: Clauses) -> None:
    if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name):
        raise Mistake("the path of an operation is 1 to 64 of `a-z`, `A-Z`, `0-9`, `_` and `-`")
    if name in context.operations:
        raise Mistake("it is declared twice")
    if not doc:
        raise Mistake("say what the operation does: in the third argument of a row, or in the docstring of a function")
    if "rate_limit" in clauses and clauses["rate_limit"] not in context.rate_limits:
        raise Mistake(f"there is no rate limit `{clauses['rate_limit']}`")


def _placed(field: Field, method: str, names: list[str]) -> Field:
    """A field with its part of the request: the declared part, else the part that follows from the
    path, the type and the method.
    """

    def refuse(rule: str) -> None:
        raise Mistake(f"`{field.name}`: {rule}")

    is_entries = field.kind == "entries"
    if field.name in names:
        by_default = "path"
    elif is_entries:
        by_default = "header" if field.name == "headers" else "query"
    else:
        by_default = "query" if method in ("get", "head", "delete") else "body"
    location = field["in_"] or by_default
    if location not in ("path", "query", "body", "header"):
        refuse("`in_` is `path`, `query`, `body` or `header`")
    if field["assumed"]:
        refuse("`assumed` is for functions: every default of a request that is not `sent` is assumed by the service")
    if is_entries and location not in ("query", "header"):
        refuse("entries become query parameters or headers")
    field.location, field.in_path, field.text = location, location == "path", is_entries and location == "header"
    return field


def read_input(fields: list[Field], given: str) -> dict[str, Any]:
    """The arguments of a function.

    An absent field has its default, or is `None`. A keyword of Python gets a `_` at its end.
    """
    values = reader.members(given) or {}
    found = {}
    for field in fields:
        text = values.get(field.name)
        name = argument(field)
        if text is not None and text != "null":
            found[name] = _value(field, text)
        else:
            found[name] = None if field["assumed"] or "default" not in field else json.loads(json.dumps(field["default"]))
    return found


def argument(field: Field) -> str:
    """The argument of a function that gets the value of a field."""
    return f"{field.name}_" if iskeyword(field.name) else field.name


def _value(field: Field, text: str) -> Any:
    match field.kind:
        case "string_or_list":
            found = json.loads(text)
            return found if isinstance(found, list) else [found]
        case "integer":
            return int(reader.integer(text) or text)
        case "entries":
            named_values = reader.members(text).items()
            return {name: [reader.scalar(item) for item in reader.items(value) or [value]] for name, value in named_values if value != "null"}
        case _:
            return json.loads(text)
