"""Two fields of a row must not have the same place in its request, nor one inside of the other."""

from __future__ import annotations

from collections.abc import Sequence

from .mistake import Mistake
from .thin import WireField


def check_sent_names(fields: Sequence[WireField]) -> None:
    """Refuses fields whose names collide in the request."""
    for index, field in enumerate(fields):
        if field.location == "path" or field.location.endswith("-entries") or field.whole:
            continue
        for known in fields[:index]:
            if known.location != field.location or known.whole:
                continue
            if _is_same(known, field):
                raise Mistake(
                    f"the field `{known.name}` is sent as `{field.upstream_name}` too; give it or `{field.name}` another name "
                    "with `as_`"
                )
            if field.location == "body" and (_leads(known, field) or _leads(field, known)):
                raise Mistake(
                    f"`{known.name}` is sent as `{known.upstream_name}` and `{field.name}` as `{field.upstream_name}`: one of the "
                    "two would be inside of the other"
                )


def _is_same(one: WireField, other: WireField) -> bool:
    if one.location == "header":
        return one.upstream_name.lower() == other.upstream_name.lower()
    return one.upstream_name == other.upstream_name


def _leads(outer: WireField, inner: WireField) -> bool:
    """Returns `True` if one field is a member of another one in the body."""
    return inner.body_path[: len(outer.body_path)] == outer.body_path
