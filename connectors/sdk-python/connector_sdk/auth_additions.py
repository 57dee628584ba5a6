"""Declarations in addition to `auth`.

They are further ways in which accounts get access tokens, signatures of requests, and codes of ended
grants.
"""

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


def aws_signature(*, service: str, region: str | None = None, region_part: str | None = None) -> dict[str, Any]:
    """Requests are signed with AWS Signature Version 4.

    `service` is for example `"s3"`. `region` is fixed, or `region_part` is the name of the part of the
    account's address that has it.
    """
    if (region is None) == (region_part is None):
        raise Mistake("`aws_signature` has one of `region` and `region_part`")
    of = {"tag": "address-part", "val": region_part} if region is None else {"tag": "fixed", "val": region}
    return {"tag": "aws-signature", "val": {"service": service, "region": of}}


_PARTS = ("method", "host", "path", "query", "target", "timestamp", "key_id", "body", "body_hash")


def hmac_signature(
    *,
    text: Sequence[str | dict[str, str]],
    hash: Literal["sha1", "sha256", "sha512"] = "sha256",
    secret: Literal["text", "base64"] = "text",
    encoding: Literal["hex", "base64"] = "hex",
    separator: str = "",
    timestamp: dict[str, str] | None = None,
    key_header: str | None = None,
) -> dict[str, Any]:
    """Requests are signed by HMAC.

    `text` has the parts of the signed text: `"method"`, `"host"`, `"path"`, `"query"`, `"target"`,
    `"timestamp"`, `"key_id"`, `"body"`, `"body_hash"`, or `{"literal": "…"}`. `timestamp` is
    `{"header": …, "form": "seconds"}`, with `milliseconds` or `rfc3339` as other forms.
    """
    _one_of("hash", hash, ("sha1", "sha256", "sha512"))
    _one_of("secret", secret, ("text", "base64"))
    _one_of("encoding", encoding, ("hex", "base64"))
    parts: list[dict[str, Any]] = []
    for part in text:
        if isinstance(part, dict):
            parts.append({"tag": "literal", "val": part["literal"]})
        else:
            _one_of("text", part, _PARTS)
            parts.append({"tag": part.replace("_", "-")})
    if timestamp is not None:
        _one_of("timestamp", timestamp.get("form"), ("seconds", "milliseconds", "rfc3339"))
    val = {
        "hash": hash, "secret": secret, "encoding": encoding, "text": parts, "separator": separator, "timestamp": timestamp,
        "key_header": key_header,
    }
    return {"tag": "hmac-signature", "val": val}


def ended_codes(*codes: str) -> dict[str, Any]:
    """The provider's own error codes for a grant that has ended.

    If the code of a token response is one of them, the user must connect the account again. The gateway
    knows the common codes.
    """
    if len(codes) > 32 or not all(isinstance(code, str) and re.fullmatch(r"(?=.*[A-Za-z0-9])[!-~]{1,64}", code) for code in codes):
        raise Mistake("`ended_codes` are at most 32 codes of 1 to 64 visible ASCII characters, among them a letter or a digit")
    return {"tag": "ended-codes", "val": list(codes)}


def _one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise Mistake(f"`{name}` of `hmac_signature` is one of {', '.join(known)}")


def checked(additions: Sequence[dict[str, Any]], auth: dict[str, Any], upstreams: list[str]) -> list[dict[str, Any]]:
    """The declarations of a table."""
    additions = list(additions)
    signatures = [addition for addition in additions if addition["tag"].endswith("-signature")]
    if len(signatures) > 1:
        raise Mistake("`auth_additions` have one kind of signature")
    if signatures:
        key = auth.get("val") if auth["tag"] == "api-key" else None
        if key is None or key["placement"]["tag"] != "header" or key["form_field"] is not None:
            raise Mistake("a signature needs an `auth` that is an `api_key` with the header for the signature")
    if len(additions) > len(signatures) and auth["tag"] != "oauth2":
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
