"""Reads JSON text without changing it: members and items are slices of the text, so that a number
stays as the caller wrote it.

The text comes from the gateway, which has parsed and validated it. So the functions check only what
they need to find the end of a value.
"""

import json
import re

_BLANKS = re.compile(r"[ \t\n\r]*")
_INTEGER = re.compile(r"(-?\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?")
_SURROGATES = re.compile("[\ud800-\udfff]")
# Skips a value quickly: numbers are not converted.
_SKIP = json.JSONDecoder(parse_float=len, parse_int=len, strict=False)


def _after_blanks(text: str, at: int) -> int:
    return _BLANKS.match(text, at).end()


def members(text: str) -> dict[str, str] | None:
    """The members of an object in their order: names, and values as JSON text.

    `None` for other values.
    """
    if not text.startswith("{"):
        return None
    found: dict[str, str] = {}
    at = _after_blanks(text, 1)
    while text[at] != "}":
        name, at = _SKIP.raw_decode(text, at)
        start = _after_blanks(text, _after_blanks(text, at) + 1)
        _, at = _SKIP.raw_decode(text, start)
        found.setdefault(_plain(name), text[start:at])
        at = _after_blanks(text, at)
        if text[at] == ",":
            at = _after_blanks(text, at + 1)
    return found


def items(text: str) -> list[str] | None:
    """The items of an array, each as JSON text. `None` for other values."""
    if not text.startswith("["):
        return None
    found = []
    at = _after_blanks(text, 1)
    while text[at] != "]":
        start = at
        _, at = _SKIP.raw_decode(text, start)
        found.append(text[start:at])
        at = _after_blanks(text, at)
        if text[at] == ",":
            at = _after_blanks(text, at + 1)
    return found


def scalar(text: str) -> str | None:
    """The text of a string without quotes and escapes, or the text of a number or boolean.

    `None` for other values.
    """
    if text[0] == '"':
        return _plain(json.loads(text))
    return None if text[0] in "[{n" else text


def _plain(text: str) -> str:
    """Half of a surrogate pair is U+FFFD, as in Rust."""
    return _SURROGATES.sub("\ufffd", text)


def integer(text: str) -> str | None:
    """An integer in plain digits.

    JSON may write it as `1.0` or `1e2`. `None` if it has a fraction or more than 18 digits.
    """
    if not any(character in text for character in ".eE"):
        return text
    found = _INTEGER.fullmatch(text)
    if found is None:
        return None
    whole, decimals, power = found.groups(default="")
    fraction = decimals.rstrip("0")
    zeros = int(power or "0") - len(fraction)
    if zeros < 0 or len(whole) + len(fraction) + zeros > 19:
        return None
    return str(int(whole + fraction + "0" * zeros))


def written(value: object) -> str:
    """A value as JSON text without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
