"""Percent-encoding (RFC 3986), and the rule that a path does not lead out of its base URL."""

import re
from urllib.parse import quote

_ENCODED = re.compile(r"%([0-9A-Fa-f]{2})")


def encode(text: str, keep: str = "") -> str:
    """`text`, percent-encoded.

    RFC 3986's unreserved characters and the characters of `keep` remain.
    """
    return quote(text, safe=keep)


def encode_name(name: str) -> str:
    """The name of a query parameter. `$` and `@` remain, because names of OData begin with them."""
    return quote(name, safe="$@")


def has_dot_segment(path: str) -> bool:
    """`True` if a path has a segment `.` or `..`.

    It reads the path as the most lenient server would: percent-encoding is undone, repeatedly if
    need be; encoded slashes and backslashes are separators; an encoded question mark or number sign
    ends the path; text behind a semicolon is left out of the segment.
    """
    before, plain = "", path
    while before != plain:
        before, plain = plain, _ENCODED.sub(lambda found: chr(int(found[1], 16)), plain)
    return any(re.match(r"\.{1,2}([?#]|\Z)", segment.split(";", 1)[0]) for segment in re.split(r"[/\\]", plain))
