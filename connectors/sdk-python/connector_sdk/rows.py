"""The rows of a table: an operation that is one request, or a function."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field as member
from keyword import iskeyword
from typing import Any, Literal, TypedDict, Unpack

from . import reader
from .accept import check_example
from .encoding import encode, encode_name
from .fields import Field, named, string
from .header import check_header
from .http import Request
from .mistake import Mistake, Place, check_arguments, check_function, here, only, within
from .sent_names import check_sent_names
from .thin import Header, Piece, Setting, Wire, WireField

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


class RequestClauses(Clauses, total=False):
    effect: Effect
    check: Callable[..., None]
    via: Callable[[Request], Any]
    form: bool
    multipart: bool
    fixed_body: dict[str, Any]
    default_query: dict[str, Any]
    default_query_unless: list[str]


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
    #: The request of a row, or the function.
    wire: Wire | None = None
    run: Callable[..., Any] | None = None
    via: Callable[[Request], Any] | None = None


@dataclass
class Context:
    """The parts of a table that its rows refer to."""

    upstreams: list[str]
    rate_limits: Mapping[str, str]
    settings: dict[str, Setting]
    headers: list[Header]
    #: The separator of lists among entries. `None`: each item is a separate parameter.
    joined: str | None
    via: Callable[[Request], Any] | None = None
    operations: dict[str, Operation] = member(default_factory=dict)


def function(context: Context, name: str, doc: str | None, effect: Effect, run: Callable[..., Any], clauses: Clauses) -> Operation:
    """The operation of a function."""
    only(clauses, Clauses.__annotations__, "a function of the table")
    _check(context, name, doc, clauses)
    check_function("the function", run)
    fields = named(clauses.get("fields", {}))
    _check_fields(name, fields, clauses)
    check_arguments("the function", run, [argument(field) for field in fields])
    return Operation(name, doc or "", effect, clauses, fields, run=run)


def request(context: Context, name: str, row: Row) -> Operation:
    """The operation of a row."""
    if not isinstance(row, Row):
        raise Mistake('write a row such as `get("api", "/path", "What it does.")`')
    clauses = row.clauses
    only(clauses, RequestClauses.__annotations__, "a row")
    _check(context, name, row.doc, clauses)
    if row.upstream not in context.upstreams:
        raise Mistake(f"there is no upstream `{row.upstream}`")
    template, _, fixed_query = row.path.partition("?")
    if "{" in fixed_query or "}" in fixed_query:
        raise Mistake("the query in a path is fixed; declare the other parameters as fields")
    if not re.match(r"/(?!/)|\{settings\.|$", template):
        raise Mistake("a path begins with one `/`")
    names = [found for found in re.findall(r"\{([^{}]*)\}", template) if not found.startswith("settings.")]
    declared = named(clauses.get("fields", {}))
    known = [field.name for field in declared]
    implied = named({found: string() for found in names if found not in known})
    encoding = _encoding(clauses)
    fields = [_placed(field, row.method, names, encoding == "multipart") for field in [*implied, *declared]]
    indices = {field.name: index for index, field in enumerate(fields)}
    for word in ("check", "via"):
        if word in clauses:
            check_function(f"`{word}`", clauses[word])
    _check_fields(name, fields, clauses)
    if "check" in clauses:
        check_arguments("`check`", clauses["check"], [argument(field) for field in fields])
    wire = Wire(
        method=row.method,
        upstream=row.upstream,
        path=pieces(template, context.settings, indices),
        fixed_query=fixed_query,
        fields=[_wire_field(context, field) for field in fields],
        default_query=_default_query(clauses),
        headers=context.headers,
    )
    check_sent_names(wire.fields)
    _set_body(wire, fields, clauses.get("fixed_body", {}))
    wire.encoding = encoding
    has_body = wire.whole is not None or wire.fixed_body is not None or any(field.is_file for field in fields)
    if encoding != "json" and not has_body:
        raise Mistake(f"a row with `{encoding}` has a field in its body, which is sent as a form")
    effect = clauses.get("effect", row.effect)
    return Operation(name, row.doc, effect, clauses, fields, place=row.place, wire=wire, via=clauses.get("via", context.via))


def _check(context: Context, name: str, doc: str | None, clauses: Clauses) -> None:
    if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name):
        raise Mistake("the path of an operation is 1 to 64 of `a-z`, `A-Z`, `0-9`, `_` and `-`")
    if name in context.operations:
        raise Mistake("it is declared twice")
    if not doc:
        raise Mistake("say what the operation does: in the third argument of a row, or in the docstring of a function")
    if "rate_limit" in clauses and clauses["rate_limit"] not in context.rate_limits:
        raise Mistake(f"there is no rate limit `{clauses['rate_limit']}`")
    if clauses.get("background"):
        _check_background(clauses.get("fields", {}))


def _check_fields(name: str, fields: list[Field], clauses: Clauses) -> None:
    """The parts of a row that refer to its fields."""
    if "example" in clauses:
        check_example(fields, clauses["example"])
    into = clauses.get("pages", {}).get("into")
    if into is not None:
        _check_input(name, fields, into.split("/")[1:])


def _check_input(owner: str, fields: list[Field], steps: list[str]) -> None:
    """The pointer of `pages` leads to a field, which takes the next page."""
    if not steps:
        raise Mistake("say in `into` which field takes the next page, as in `/page`")
    first, *rest = (step.replace("~1", "/").replace("~0", "~") for step in steps)
    field = next((known for known in fields if known.name == first), None)
    if field is None:
        raise Mistake(f"`into`: `{owner}` has no field `{first}`")
    if field.kind == "members":
        _check_input(first, field.members or [], steps[1:])
    elif field.kind == "entries":
        if len(rest) != 1:
            raise Mistake(f"say in `into` which entry takes the next page: `/{first}/…`")
        if all(entry != rest[0] for entry, _ in field.entries):
            raise Mistake(f"`into`: `{first}` has no entry `{rest[0]}`")
    elif rest and field.kind != "object":
        raise Mistake(f"`into`: `{first}` is not an object")


def _check_background(fields: Mapping[str, Field]) -> None:
    """The gateway reads the field by which callers wait."""
    found = next((field for key, field in fields.items() if key.removesuffix("?") == "waiting"), None)
    if not isinstance(found, Field) or found.kind != "boolean":
        raise Mistake('a row with `background` has the field `"waiting?": boolean(default=False)`, by which callers wait')


def _encoding(clauses: RequestClauses) -> str:
    """How the body is written."""
    form, multipart = clauses.get("form", False), clauses.get("multipart", False)
    if form and multipart:
        raise Mistake("a body is sent as a `form` or as `multipart`, which is a form with files; leave one out")
    return "form" if form else "multipart" if multipart else "json"


def _placed(field: Field, method: str, names: list[str], is_multipart: bool) -> Field:
    """A field with its part of the request: the declared part, else the part that follows from the
    path, the type and the method.
    """

    def refuse(rule: str) -> None:
        raise Mistake(f"`{field.name}`: {rule}")

    in_template = field.name in names
    is_entries = field.kind == "entries"
    if in_template:
        by_default = "path"
    elif is_entries:
        by_default = "header" if field.name == "headers" else "query"
    else:
        by_default = "query" if method in ("get", "head", "delete") else "body"
    location = field["in_"] or by_default
    if location not in ("path", "query", "body", "header"):
        refuse("`in_` is `path`, `query`, `body` or `header`")
    if in_template != (location == "path"):
        refuse("the path has this name, so the field is a part of it" if in_template else "the path has no such name")
    if location == "path" and field.optional and not field["sent"]:
        refuse("the path needs it, so the field is not optional")
    if field["assumed"]:
        refuse("`assumed` is for functions: every default of a request that is not `sent` is assumed by the service")
    if (field.item or field).is_object and location != "body":
        refuse("an object cannot be a part of a path, a parameter or a header")
    if is_entries and location not in ("query", "header"):
        refuse("entries become query parameters or headers")
    if field.is_file and (location != "body" or not is_multipart):
        refuse("a `file` is in the body of a row with `multipart`; a function can take one too")
    if location == "header":
        for sent in [entry for entry, _ in field.entries] if is_entries else [field["as_"] or field.name]:
            with within(f"header `{sent}`"):
                check_header(sent)
    whole = field.name == "body" and field.is_object and "as_" not in field and location == "body"
    if field["nullable"] and (location != "body" or not field.optional or whole):
        refuse("`nullable` is for an optional member of the body of a request")
    field.location, field.whole, field.in_path, field.text = location, whole, location == "path", is_entries and location == "header"
    return field


def _wire_field(context: Context, field: Field) -> WireField:
    upstream_name = field["as_"] or field.name
    is_entries = field.kind == "entries"
    if field["repeated"]:
        joined = None
    elif "joined" in field:
        joined = field["joined"]
    elif field.location == "body":
        joined = None
    else:
        joined = context.joined if is_entries and not field.text else ","
    return WireField(
        name=field.name,
        location="file" if field.is_file else f"{field.location}-entries" if is_entries else field.location,
        upstream_name=upstream_name,
        # A dotted name is a path inside the body. Annotations such as
        # `@microsoft.graph.conflictBehavior` are names as they are.
        body_path=[upstream_name] if upstream_name.startswith("@") else upstream_name.split("."),
        whole=field.whole,
        required=not field.optional,
        integer=(field.item or field).kind == "integer",
        joined=joined,
        max_bytes=field["max_bytes"],
        default=reader.written(field["default"]) if field["sent"] else None,
        nullable=bool(field["nullable"]),
        keeps_slashes=bool(field["keeps_slashes"]),
        odata_string=bool(field["odata_string"]),
    )


def _default_query(clauses: RequestClauses) -> list[tuple[str, list[str]]]:
    found = []
    for name, value in clauses.get("default_query", {}).items():
        text = value if isinstance(value, str) else reader.written(value)
        found.append((f"{encode_name(name)}={encode(text, '$@')}", [name, *clauses.get("default_query_unless", [])]))
    return found


def _set_body(wire: Wire, fields: list[Field], fixed_body: dict[str, Any]) -> None:
    members = [index for index, field in enumerate(fields) if field.location == "body" and not field.whole and not field.is_file]
    wire.whole = next((index for index, field in enumerate(fields) if field.whole), None)
    if wire.whole is not None and (members or fixed_body):
        raise Mistake("`body` is the whole request body, so there are no other members")
    if members or fixed_body:
        wire.fixed_body = ",".join(f"{reader.quoted(name)}:{reader.written(value)}" for name, value in fixed_body.items())
        wire.members = _grouped([(index, wire.fields[index].body_path) for index in members], 0)


def _grouped(members: list[tuple[int, list[str]]], depth: int) -> list[int]:
    """Groups the fields of one inner object, and otherwise keeps the order."""
    groups: list[list[tuple[int, list[str]]]] = []
    step = slice(depth, depth + 1)
    for found in members:
        inner = (group for group in groups if len(group[0][1]) > depth + 1)
        group = next((group for group in inner if group[0][1][step] == found[1][step]), None)
        if group is None:
            groups.append([found])
        else:
            group.append(found)
    order: list[int] = []
    for group in groups:
        order.extend(_grouped(group, depth + 1) if len(group) > 1 else [group[0][0]])
    return order


def pieces(template: str, settings: dict[str, Setting], fields: dict[str, int]) -> list[Piece]:
    """Splits `/a/{b}` at its names."""
    found: list[Piece] = []
    for index, text in enumerate(re.split(r"\{([^{}]*)\}", template)):
        if index % 2 == 0:
            if "{" in text or "}" in text:
                raise Mistake("a brace in a path or a header is not closed")
            if text:
                found.append(text)
        elif text.startswith("settings."):
            name = text.removeprefix("settings.")
            if name not in settings:
                raise Mistake(f"there is no setting `{name}`")
            found.append(settings[name])
        elif text in fields:
            found.append(fields[text])
        else:
            raise Mistake(f"`{{{text}}}` is not a setting; a header may have `{{settings.name}}` only")
    return found


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
