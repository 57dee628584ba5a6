"""Further ways in which accounts get access tokens, besides the authorization code of `oauth2`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from .mistake import Mistake


def client_credentials() -> dict[str, Any]:
    """Accounts bring a client id and a client secret (RFC 6749, section 4.4)."""
    return {"tag": "client-credentials"}


def service_account(*, subject: Literal["required", "optional"], audience: str | None = None) -> dict[str, Any]:
    """Accounts bring the key file of a service account, which signs assertions (RFC 7523).

    `subject` says if an account names the user for whom the service account acts. `audience` is the
    claim `aud`; without it, the token URL.
    """
    if subject not in ("required", "optional"):
        raise Mistake('`service_account` has `subject`: "required" or "optional"')
    return {"tag": "service-account", "val": {"audience": audience, "subject": subject}}


def app_installation(*, upstream: str, path: str) -> dict[str, Any]:
    """Accounts are installations of an application. The gateway gets a token with a POST to `path`."""
    return {"tag": "app-installation", "val": {"upstream": upstream, "path": path}}


def device_code(*, device_authorization_url: str) -> dict[str, Any]:
    """Users authorize with a code that they enter on another device (RFC 8628).

    `device_authorization_url` is empty if only the operator knows it.
    """
    return {"tag": "device-code", "val": {"device_authorization_url": device_authorization_url}}


def checked(additions: Sequence[dict[str, Any]], auth: dict[str, Any], upstreams: list[str]) -> list[dict[str, Any]]:
    """The declarations of a table."""
    additions = list(additions)
    if additions and auth["tag"] != "oauth2":
        raise Mistake("`auth_additions` need an `auth` with OAuth 2.0, whose token URL and scopes they use")
    if len({addition["tag"] for addition in additions}) != len(additions):
        raise Mistake("`auth_additions` have each way once")
    for addition in additions:
        if addition["tag"] != "app-installation":
            continue
        if addition["val"]["upstream"] not in upstreams:
            raise Mistake("the `upstream` of an installation is the name of an upstream of the table")
        if not _is_path(addition["val"]["path"]):
            raise Mistake("the `path` of an installation begins with `/`, has no query, and has `{installation_id}` once, as a whole segment")
    return additions


def _is_path(path: str) -> bool:
    segments = [segment for segment in path.split("/") if segment == "{installation_id}"]
    return path.startswith("/") and re.search("[?#]", path) is None and len(segments) == 1 and path.count("{") == 1
