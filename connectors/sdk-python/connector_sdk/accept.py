"""Checks whether the fields of a row accept its example.

The gateway validates the bodies of calls with the schema itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any

from .fields import Field, string
from .mistake import Mistake

#: The place of a value, and why it does not fit.
Mismatch = tuple[str, str]


def check_example(fields: Iterable[Field], example: Any) -> None:
    """Refuses an example that does not fit. Patterns and formats are not checked."""
    if not isinstance(example, Mapping):
        raise Mistake("an example is an object: `{ … }`")
    mismatch = _members(list(fields), example, "")
    if mismatch is not None:
        place, reason = mismatch
        raise Mistake(f"the example does not fit{f' at `{place}`' if place else ''}: {reason}")


def _file_members() -> list[Field]:
    """The fields of a file, as far as an example needs them."""
    members = []
    for name in ("file_name", "content_type", "content_base64"):
        member = string()
        member.name, member.optional = name, name == "content_type"
        members.append(member)
    return members


def _members(fields: list[Field], value: Any, place: str) -> Mismatch | None:
    if not isinstance(value, Mapping):
        return place, "expected an object"
    for name, member in value.items():
        field = next((known for known in fields if known.name == name), None)
        mismatch = (f"{place}/{name}", f"there is no field `{name}`") if field is None else _field(field, member, f"{place}/{name}")
        if mismatch is not None:
            return mismatch
    missing = next((field.name for field in fields if not field.optional and field.name not in value), None)
    return None if missing is None else (place, f"the field `{missing}` is required")


def _field(field: Field, value: Any, place: str) -> Mismatch | None:
    """The first part of a value that a field does not accept. `None` if it accepts the value."""
    if field.optional and value is None:
        return None
    match field.kind, value:
        case "file", _:
            return _members(_file_members(), value, place)
        case "members", _:
            return _members(field.members or [], value, place)
        case "object", dict():
            forbidden = next((name for name in field["without"] or [] if name in value), None)
            return None if forbidden is None else (f"{place}/{forbidden}", f"the member `{forbidden}` is forbidden")
        case "entries", dict():
            return _entries(field, value, place)
        case "list", list():
            return _items(field, field.item or field, value, place)
        case "string_or_list", list():
            return _items(field, string(one_of=field["one_of"]) if field["one_of"] else string(), value, place)
        case "string_or_list", str():
            return _values(field, value, place)
        case "string", str():
            return _values(field, value, place) or _size(field, len(value), "characters", place)
        case "boolean", bool():
            return None
        case "integer", bool() | str():
            return place, "expected a whole number"
        case "integer", int():
            return _number(field, value, place)
        case "integer", float() if value.is_integer():
            return _number(field, value, place)
        case "number", int() | float() if not isinstance(value, bool):
            return _number(field, value, place)
        case kind, _:
            return place, f"expected {_EXPECTED[kind]}"


_EXPECTED = {
    "object": "an object", "entries": "an object", "list": "a list", "string_or_list": "a string or a list of strings",
    "string": "a string", "boolean": "a boolean", "integer": "a whole number", "number": "a number",
}


def _items(field: Field, item: Field, values: list[Any], place: str) -> Mismatch | None:
    required = copy(item)
    required.optional = False
    for index, value in enumerate(values):
        mismatch = _field(required, value, f"{place}/{index}")
        if mismatch is not None:
            return mismatch
    return _size(field, len(values), "items", place)


def _entries(field: Field, value: dict[str, Any], place: str) -> Mismatch | None:
    known = dict(field.entries)
    for name, member in value.items():
        if name not in known:
            return f"{place}/{name}", f"there is no entry `{name}`"
        values = known[name].get("one_of")
        is_list = isinstance(member, list) and all(map(_is_scalar, member))
        fits = isinstance(member, str) if field.text else _is_scalar(member) or is_list
        if member is not None and not (fits and (values is None or member in values)):
            return f"{place}/{name}", f"the entry `{name}` does not accept this value"
    return None


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (str, int, float))


def _values(field: Field, text: str, place: str) -> Mismatch | None:
    values = field["one_of"]
    return None if values is None or text in values else (place, f"expected one of {', '.join(values)}")


def _size(field: Field, size: int, unit: str, place: str) -> Mismatch | None:
    if field["min"] is not None and size < field["min"]:
        return place, f"expected at least {field['min']} {unit}"
    return (place, f"expected at most {field['max']} {unit}") if field["max"] is not None and size > field["max"] else None


def _number(field: Field, value: float, place: str) -> Mismatch | None:
    if field["min"] is not None and value < field["min"]:
        return place, f"expected a number that is at least {field['min']}"
    return (place, f"expected a number that is at most {field['max']}") if field["max"] is not None and value > field["max"] else None
