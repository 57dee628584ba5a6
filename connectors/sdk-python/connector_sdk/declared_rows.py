"""The row of an operation as the contract has it (`row-additions`), from the words of a table.

The rules of rows, and the requests that follow from them, are those of the crate `rows` alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from .encoding import encode, encode_name
from .fields import Field
from .mistake import Mistake
from .reader import written

#: A row, a header or a part of them, as plain data. A value of a variant is `{"tag": …, "val": …}`.
Data = dict[str, Any]


class RowClauses(TypedDict, total=False):
    """The clauses that say what a row sends."""

    form: bool
    multipart: bool
    fixed_body: dict[str, Any]
    default_query: dict[str, Any]
    default_query_unless: list[str]


def declaration_of(
    method: str, upstream: str, path: str, fields: Sequence[Field], headers: list[Data], lists: Data, clauses: Mapping[str, Any]
) -> Data:
    """The row of a request.

    `fields` have their places, and `headers` and `lists` are those of the table.
    """
    if clauses.get("form") and clauses.get("multipart"):
        raise Mistake("a body is sent as a `form` or as `multipart`, which is a form with files; leave one out")
    encoding = "form" if clauses.get("form") else "multipart" if clauses.get("multipart") else "json"
    return {
        "method": method,
        "upstream": upstream,
        "path": path,
        "fields": [_field(field, lists) for field in fields],
        "default_query": _default_query(clauses),
        "headers": headers,
        "fixed_body": written(clauses["fixed_body"]) if clauses.get("fixed_body") else None,
        "encoding": encoding,
    }


def header_of(name: str, value: str, when: Sequence[str | Mapping[str, str]]) -> Data:
    """A header of the table. `when` has names of parameters, or names with a value that does not count."""
    triggers = [{"name": found} if isinstance(found, str) else found for found in when]
    return {"name": name, "value": value, "when": [{"parameter": found["name"], "unless": found.get("unless")} for found in triggers]}


def _field(field: Field, lists: Data) -> Data:
    return {
        "name": field.name,
        "location": _location(field),
        "required": not field.optional,
        "integer": (field.item or field).kind == "integer",
        "lists": _lists(field, lists),
        "max_bytes": field["max_bytes"],
        "default": written(field["default"]) if field["sent"] else None,
        "nullable": bool(field["nullable"]),
    }


def _location(field: Field) -> Data:
    name = field.name if field["as_"] is None else field["as_"]
    match field.location:
        case location if field.kind == "entries":
            return {"tag": f"{location}-entries"}
        case "path":
            return {"tag": "path", "val": "path" if field["keeps_slashes"] else "odata-string" if field["odata_string"] else "segment"}
        case "body" if field.is_file:
            return {"tag": "file", "val": name}
        case "body" if field.name == "body" and field.is_object and "as_" not in field:
            return {"tag": "whole-body"}
        case "body":
            # A dotted name is a path inside the body. Annotations such as
            # `@microsoft.graph.conflictBehavior` are names as they are.
            return {"tag": "body", "val": [name] if name.startswith("@") else name.split(".")}
        case location:
            return {"tag": location, "val": name}


def _lists(field: Field, lists: Data) -> Data:
    if field["repeated"]:
        return {"tag": "repeated"}
    if "joined" in field:
        return {"tag": "joined", "val": field["joined"]}
    if field.location == "body":
        return {"tag": "as-they-are"}
    return lists if field.kind == "entries" and not field.text else {"tag": "joined", "val": ","}


def _default_query(clauses: Mapping[str, Any]) -> list[Data]:
    found = []
    for name, value in clauses.get("default_query", {}).items():
        text = value if isinstance(value, str) else written(value)
        unless = [name, *clauses.get("default_query_unless", [])]
        found.append({"parameter": f"{encode_name(name)}={encode(text, '$@')}", "unless": unless})
    return found
