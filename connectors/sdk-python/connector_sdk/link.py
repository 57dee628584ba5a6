"""The header `Link` (RFC 8288), as the gateway reads it: the address of the next page."""

from __future__ import annotations

import re
from collections.abc import Iterable

_LINK = re.compile(r"[ \t,]*<([^>]*)>")
_PARAMETER = re.compile(
    r"""[ \t]*;[ \t]*([^ \t;,=]*)[ \t]*(?:=[ \t]*(?:"((?:[^"\\]|\\.)*)(?:"|\\?\Z)|([^ \t;,]*)))?""", re.DOTALL
)


def next_of(values: Iterable[str]) -> str | None:
    """The address of the link with the relation `next`; `None` if the values have none."""
    return next((found for found in map(_next_in, values) if found is not None), None)


def _next_in(value: str) -> str | None:
    end = 0
    while link := _LINK.match(value, end):
        end = link.end()
        relations, has_anchor = None, False
        while found := _PARAMETER.match(value, end):
            end = found.end()
            name, quoted, token = found[1].lower(), found[2], found[3]
            if name == "rel" and relations is None:
                relations = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else token or ""
            has_anchor = has_anchor or name == "anchor"
        if relations is not None and not has_anchor and "next" in re.split(r"[ \t]", relations.lower()):
            return link[1].strip(" \t")
    return None
