"""From the manifest as plain data to the types of the contract, by their annotations."""

from __future__ import annotations

import re
from dataclasses import is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from wit_world.imports import manifest


def manifest_of(data: dict[str, Any]) -> manifest.Manifest:
    return value_of(manifest.Manifest, data)


def case_of(kind: type) -> str:
    """The name of a case in the contract: `invalid-request` for `Error_InvalidRequest`."""
    words = re.findall(r"[A-Z][a-z0-9]*", kind.__name__.partition("_")[2])
    return "-".join(words).lower()


def value_of(kind: Any, data: Any) -> Any:
    """A value of a type of the contract."""
    if get_origin(kind) in (Union, UnionType):
        return _choice(get_args(kind), data)
    if get_origin(kind) is list:
        [item] = get_args(kind)
        return [value_of(item, found) for found in data]
    if get_origin(kind) is tuple:
        return tuple(value_of(item, found) for item, found in zip(get_args(kind), data, strict=True))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind[data.replace("-", "_").upper()]
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{name: value_of(hint, data[name]) for name, hint in hints.items()})
    return data


def _choice(kinds: tuple[Any, ...], data: Any) -> Any:
    """An option, or a case of a variant."""
    if NoneType in kinds:
        kinds = tuple(kind for kind in kinds if kind is not NoneType)
        if data is None:
            return None
        if len(kinds) == 1:
            return value_of(kinds[0], data)
    case = next(kind for kind in kinds if case_of(kind) == data["tag"])
    hints = get_type_hints(case)
    return case(value_of(hints["value"], data["val"])) if hints else case()
