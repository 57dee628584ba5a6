"""The fields of a table: a function for each type, and the JSON Schema that follows from a field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from copy import copy
from inspect import cleandoc
from typing import Any, Literal, TypedDict, Unpack

from .mistake import Mistake, only

Location = Literal["path", "query", "body", "header"]


class Modifiers(TypedDict, total=False):
    doc: str
    in_: Location
    as_: str
    default: Any
    sent: bool
    assumed: bool
    nullable: bool
    secret: bool


class Bounded(Modifiers, total=False):
    min: float
    max: float


class Text(Bounded, total=False):
    one_of: list[str]
    pattern: str
    format: str
    max_bytes: int


class String(Text, total=False):
    keeps_slashes: bool
    odata_string: bool


class Lists(Modifiers, total=False):
    joined: str
    repeated: bool


class StringOrList(Text, Lists, total=False):
    pass


class List(Bounded, Lists, total=False):
    max_bytes: int


class Object(Modifiers, total=False):
    without: list[str]
    max_bytes: int


class Entry(TypedDict, total=False):
    one_of: list[str]
    doc: str


#: The modifiers that say how a row sends a field.
_OF_ROWS = ("in_", "as_", "sent", "assumed", "nullable", "joined", "repeated", "keeps_slashes", "odata_string")
#: The modifiers that an item of a list may have.
_OF_ITEMS = ("one_of", "pattern", "format")


class Field:
    """A type of a field, with its modifiers.

    The name is the key in the table; a `?` at the end of the key makes it optional.
    """

    name = ""
    optional = False
    in_path = False
    # The field is `headers`: its entries are text.
    text = False
    location = ""
    # The type of the items of a list, the fields of an object, the entries with their modifiers.
    item: Field | None = None
    members: list[Field] | None = None
    entries: list[tuple[str, Entry]] = []

    def __init__(self, kind: str, modifiers: Mapping[str, Any], known: type, **parts: Any):
        only(modifiers, known.__annotations__, f"the type `{kind}`")
        self.kind = kind
        self.modifiers = dict(modifiers)
        self.__dict__.update(parts)

    def __getitem__(self, modifier: str) -> Any:
        return self.modifiers.get(modifier)

    def __contains__(self, modifier: str) -> bool:
        return modifier in self.modifiers

    @property
    def is_object(self) -> bool:
        return self.kind in ("object", "members")

    @property
    def is_of_row(self) -> bool:
        """`True` if a modifier says how a row sends the field."""
        return any(word in self for word in _OF_ROWS)

    @property
    def is_file(self) -> bool:
        """`True` for a file and for a list of files."""
        return (self.item or self).kind == "file"


def string(**modifiers: Unpack[String]) -> Field:
    return Field("string", modifiers, String)


def integer(**modifiers: Unpack[Bounded]) -> Field:
    return Field("integer", modifiers, Bounded)


def number(**modifiers: Unpack[Bounded]) -> Field:
    return Field("number", modifiers, Bounded)


def boolean(**modifiers: Unpack[Modifiers]) -> Field:
    return Field("boolean", modifiers, Modifiers)


def list_of(item: Field, **modifiers: Unpack[List]) -> Field:
    """A list of items of one type.

    Modifiers of the items, such as `one_of`, belong to the item's type.
    """
    for word in item.modifiers:
        if word not in _OF_ITEMS:
            known = ", ".join(f"`{known}`" for known in _OF_ITEMS)
            raise Mistake(f"an item of a list has no `{word}`; it may have {known}, and its list has the other modifiers")
    return Field("list", modifiers, List, item=item)


def string_or_list(**modifiers: Unpack[StringOrList]) -> Field:
    """A string or a list of strings."""
    return Field("string_or_list", modifiers, StringOrList)


def object_of(fields: Mapping[str, Field] | None = None, **modifiers: Unpack[Object]) -> Field:
    """An object: with any members, or with these fields only."""
    if fields is None:
        return Field("object", modifiers, Object)
    return Field("members", modifiers, Object, members=[_inside(field) for field in named(fields)])


def _inside(field: Field) -> Field:
    """A field inside of an object. Modifiers that would have no effect there are refused, as in Rust."""
    if field.is_of_row:
        raise Mistake(f"`{field.name}`: an object is sent as it is, so this modifier does not belong to a field inside of it")
    if field.kind == "entries":
        raise Mistake(f"`{field.name}`: `entries` do not belong into an object; write its fields")
    return field


def file(**modifiers: Unpack[Modifiers]) -> Field:
    """A file: `{file_name, content_type?, content_base64}`."""
    return Field("file", modifiers, Modifiers)


def entries(*names: str | Mapping[str, list[str] | Entry], **modifiers: Unpack[Lists]) -> Field:
    """An object with these names only, whose values are scalars or lists of scalars:
    `entries("page", {"sort": ["asc", "desc"], "order": {"one_of": ["name", "size"], "doc": "Key of the order."}})`.
    """
    found: list[tuple[str, Entry]] = []
    for name in names:
        declared = {name: {}} if isinstance(name, str) else name
        found.extend((entry, _entry_of(entry, about)) for entry, about in declared.items())
    for index, (entry, _) in enumerate(found):
        if any(known == entry for known, _ in found[:index]):
            raise Mistake(f"the entry `{entry}` is there twice")
    return Field("entries", modifiers, Lists, entries=found)


def _entry_of(name: str, declared: list[str] | Entry) -> Entry:
    """An entry with its values, or with a dictionary of its values and its description."""
    if not isinstance(declared, Mapping):
        return {"one_of": declared}
    only(declared, Entry.__annotations__, f"the entry `{name}`")
    return declared


def named(fields: Mapping[str, Field]) -> list[Field]:
    """Copies of the fields of a dictionary, in their order, with names and `optional`."""
    found = []
    for key, declared in fields.items():
        name = key.removesuffix("?")
        if not isinstance(declared, Field):
            raise Mistake(f"`{name}` has no type; write a type such as `string()`")
        if not re.fullmatch(r"[a-zA-Z0-9_]{1,64}", name):
            raise Mistake(f"the name of a field is 1 to 64 of `a-z`, `A-Z`, `0-9` and `_`, not `{name}`")
        if any(known.name == name for known in found):
            raise Mistake(f"`{name}` is declared twice")
        if any(member.is_file for member in (declared.item or declared).members or []):
            raise Mistake(f"`{name}`: a `file` is a field of a row, and not inside of an object")
        field = copy(declared)
        field.name, field.optional = name, key.endswith("?")
        if "default" in field and not field.optional:
            raise Mistake(f"a field with a default is optional: `{name}?`")
        found.append(field)
    return found


def plain_field(field: Field) -> dict[str, Any]:
    """A field in the form of the crate `contract_rules`."""
    of_strings = field.item or field
    return {
        "name": field.name,
        "optional": field.optional,
        "kind": _kind(field),
        "minimum": field["min"],
        "maximum": field["max"],
        "values": of_strings["one_of"],
        "pattern": of_strings["pattern"],
        "format": of_strings["format"],
        "default": field["default"],
        "max_bytes": field["max_bytes"],
        "without": field["without"] or [],
    }


def _kind(field: Field) -> dict[str, Any]:
    match field.kind:
        case "list":
            return {"tag": "list", "val": _kind(field.item)}
        case "members":
            return {"tag": "members", "val": [plain_field(member) for member in field.members]}
        case "entries":
            names = [{"name": name, "values": entry.get("one_of")} for name, entry in field.entries]
            return {"tag": "text-entries" if field.text else "entries", "val": names}
        case kind:
            return {"tag": kind.replace("_", "-")}


def schema_of(fields: Iterable[Field]) -> dict[str, Any]:
    """The schema of an object with these fields only."""
    return {"type": "object", **_properties(list(fields))}


def _properties(fields: list[Field]) -> dict[str, Any]:
    schema: dict[str, Any] = {"properties": {field.name: field_schema(field) for field in fields}}
    required = [field.name for field in fields if not field.optional]
    if required:
        schema["required"] = required
    return {**schema, "additionalProperties": False}


def field_schema(field: Field) -> dict[str, Any]:
    """The schema of one field's value."""
    schema = {**_typed(field), **_bounds(field)}
    if "default" in field:
        schema["default"] = field["default"]
    if field["nullable"]:
        schema["nullable"] = True
    if field["secret"]:
        schema["writeOnly"] = True
    if field["doc"]:
        schema["description"] = cleandoc(field["doc"])
    return schema


def _typed(field: Field) -> dict[str, Any]:
    def types(*names: str) -> str | list[str]:
        every = [*names, "null"] if field.optional else list(names)
        return every[0] if len(every) == 1 else every

    text = {"type": "string", **_keywords(field, False)}
    match field.kind:
        # An `enum` next to `"type": ["string", "array"]` would refuse every list.
        case "string_or_list" if "one_of" in field:
            null = [{"type": "null"}] if field.optional else []
            return {"anyOf": [text, {"type": "array", "items": text}, *null]}
        case "string_or_list":
            return {"type": types("string", "array"), **_keywords(field, False), "items": text}
        case "list":
            return {"type": types("array"), "items": _item(field.item)}
        case "entries":
            properties = {name: _entry(field, entry) for name, entry in field.entries}
            return {"type": types("object"), "properties": properties, "additionalProperties": False}
        case "members":
            return {"type": types("object"), **_properties(field.members)}
        case "object":
            if not field["without"]:
                return {"type": types("object")}
            refused = {name: False for name in field["without"]}
            return {"type": types("object"), "properties": refused, "additionalProperties": True}
        case "file":
            return {"type": types("object"), **_FILE}
        case "string":
            return {"type": types("string"), **_keywords(field, field.optional)}
        case kind:
            return {"type": types(kind)}


#: The members of a file, which are those of the files in answers.
_FILE: dict[str, Any] = {
    "properties": {
        "file_name": {"type": "string", "minLength": 1, "maxLength": 255},
        "content_type": {"type": ["string", "null"], "maxLength": 255},
        "content_base64": {"type": "string", "contentEncoding": "base64"},
    },
    "required": ["file_name", "content_base64"],
    "additionalProperties": False,
}


def _item(item: Field) -> dict[str, Any]:
    if item.kind == "file":
        return {"type": "object", **_FILE}
    if item.kind == "members":
        return {"type": "object", **_properties(item.members)}
    return {"type": item.kind, **(_keywords(item, False) if item.kind == "string" else {})}


def _entry(field: Field, entry: Entry) -> dict[str, Any]:
    scalar = ["string", "number", "boolean"]
    schema: dict[str, Any] = {"type": [*scalar, "array", "null"], "items": {"type": scalar}}
    if field.text:
        schema = {"type": ["string", "null"]}
    elif entry.get("one_of"):
        schema = {"enum": [*entry["one_of"], None]}
    if entry.get("doc"):
        schema["description"] = cleandoc(entry["doc"])
    return schema


def _keywords(field: Field, or_null: bool) -> dict[str, Any]:
    found = {}
    if "one_of" in field:
        found["enum"] = [*field["one_of"], None] if or_null else field["one_of"]
    for modifier in ("pattern", "format"):
        if modifier in field:
            found[modifier] = field[modifier]
    return found


def _bounds(field: Field) -> dict[str, Any]:
    """The declared bounds, and the bounds of the place: a path has no empty segments."""
    least, most = field["min"], field["max"]
    not_empty = 1 if field.in_path else None
    at_least_one = least if least is not None else not_empty
    match field.kind:
        case "integer" | "number":
            found = {"minimum": least, "maximum": most}
        case "string":
            found = {"minLength": at_least_one, "maxLength": most if most is not None else field["max_bytes"]}
        case "list":
            found = {"minItems": at_least_one, "maxItems": most}
        case "string_or_list":
            found = {"minLength": not_empty, "minItems": at_least_one, "maxItems": most}
        case _:
            found = {}
    return {keyword: bound for keyword, bound in found.items() if bound is not None}
