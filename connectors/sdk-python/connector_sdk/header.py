"""Headers that a connector cannot send, because the gateway sets them (`wit/rules/src/header.rs`)."""

import re

from .mistake import Mistake

RESERVED = (
    "authorization", "connection", "content-length", "cookie", "cookie2", "expect", "forwarded", "host", "http2-settings", "keep-alive",
    "te", "trailer", "transfer-encoding", "upgrade", "via", "x-http-method", "x-http-method-override", "x-method-override",
    "x-original-url", "x-real-ip", "x-rewrite-url",
)
RESERVED_PREFIXES = ("proxy-", "x-forwarded-")


def check_header(name: str) -> None:
    """Refuses the name of a header that requests cannot have."""
    if not re.fullmatch(r"[\w!#$%&'*+.^`|~-]+", name, re.ASCII):
        raise Mistake(f"`{name}` is not the name of a header")
    # Some servers take `_` for `-`.
    plain = name.lower().replace("_", "-")
    if plain in RESERVED or plain.startswith(RESERVED_PREFIXES):
        raise Mistake("the gateway sets this header itself; leave it out")
