"""Rows as the contract has them (`row-additions`), so that the gateway makes their requests."""

from __future__ import annotations

from typing import Any

from .thin import Header, Piece, Setting, Wire, WireField


def declaration_of(row: Wire) -> dict[str, Any]:
    """The declaration of a row's request, as plain data."""
    return {
        "method": row.method,
        "upstream": row.upstream,
        "path": _template(row.path, row.fields) + (f"?{row.fixed_query}" if row.fixed_query else ""),
        "fields": [_field(field) for field in row.fields],
        "default_query": [{"parameter": parameter, "unless": unless} for parameter, unless in row.default_query],
        "headers": [_header(header) for header in row.headers],
        "fixed_body": f"{{{row.fixed_body}}}" if row.fixed_body else None,
        "encoding": row.encoding,
    }


def _template(pieces: list[Piece], fields: list[WireField]) -> str:
    """The text with names in braces."""

    def text(piece: Piece) -> str:
        if isinstance(piece, Setting):
            return f"{{settings.{piece.name}}}"
        return f"{{{fields[piece].name}}}" if isinstance(piece, int) else piece

    return "".join(text(piece) for piece in pieces)


def _header(header: Header) -> dict[str, Any]:
    when = [{"parameter": name, "unless": unless} for name, unless in header.when]
    return {"name": header.name, "value": _template(header.value, []), "when": when}


def _field(field: WireField) -> dict[str, Any]:
    return {
        "name": field.name,
        "location": _location(field),
        "required": field.required,
        "integer": field.integer,
        "lists": _lists(field),
        "max_bytes": field.max_bytes,
        "default": field.default,
        "nullable": field.nullable,
    }


def _location(field: WireField) -> dict[str, Any]:
    match field.location:
        case "path":
            encoding = "path" if field.keeps_slashes else "odata-string" if field.odata_string else "segment"
            return {"tag": "path", "val": encoding}
        case "body" if field.whole:
            return {"tag": "whole-body"}
        case "body":
            return {"tag": "body", "val": field.body_path}
        case "query-entries" | "header-entries" as location:
            return {"tag": location}
        case location:
            return {"tag": location, "val": field.upstream_name}


def _lists(field: WireField) -> dict[str, Any]:
    if field.joined is not None:
        return {"tag": "joined", "val": field.joined}
    return {"tag": "as-they-are" if field.location in ("body", "file") else "repeated"}
