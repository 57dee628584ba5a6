"""How users authenticate at the service."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Unpack

from .auth_additions import app_installation as app_installation
from .auth_additions import aws_signature as aws_signature
from .auth_additions import client_credentials as client_credentials
from .auth_additions import device_code as device_code
from .auth_additions import ended_codes as ended_codes
from .auth_additions import hmac_signature as hmac_signature
from .auth_additions import service_account as service_account
from .mistake import Mistake, only

#: Users need no account.
NONE: dict[str, Any] = {"tag": "none"}


class Identity(TypedDict, total=False):
    operation: str
    id: str
    email: str
    name: str


#: The identity in the answer of an operation `userinfo`, which returns `userinfo(…)`.
USERINFO: Identity = {"operation": "userinfo", "id": "/data/id", "email": "/data/email", "name": "/data/name"}


class OAuth2(TypedDict, total=False):
    authorization_url: str
    token_url: str
    refresh_url: str
    revocation: dict[Literal["form", "bearer", "delete"], str]
    scopes: list[str]
    scope_separator: str
    scope_parameter: str
    authorization_parameters: dict[str, str]
    token_parameters: dict[str, str]
    pkce: bool
    client_authentication: Literal["body", "basic"]
    token_pointer: str
    default_lifetime_seconds: int
    form_field: str
    revokes_replaced_grants: bool
    identity: Identity


_STANDARD = {
    "authorization_url": "", "token_url": "", "refresh_url": None, "revocation": None, "scopes": [], "scope_separator": " ",
    "scope_parameter": "scope", "authorization_parameters": {}, "token_parameters": {}, "pkce": True,
    "client_authentication": "body", "token_pointer": "", "default_lifetime_seconds": None, "form_field": None,
    "revokes_replaced_grants": True, "identity": None,
}


def oauth2(provider: str, **client: Unpack[OAuth2]) -> dict[str, Any]:
    """Users grant access by OAuth 2.0. `provider` is its name.

    The other arguments describe how it differs from the standard: PKCE, client credentials in the
    form body, spaces between scopes, a new grant for each authorization.
    """
    only(client, _STANDARD, "`oauth2`")
    found = {"provider": provider, **_STANDARD, **client}
    if found["revocation"]:
        only(found["revocation"], ("form", "bearer", "delete"), "`revocation`")
        [(tag, url)] = found["revocation"].items()
        found["revocation"] = {"tag": tag, "val": url}
    for parameters in ("authorization_parameters", "token_parameters"):
        found[parameters] = [[name, value] for name, value in found[parameters].items()]
    if found["identity"]:
        found["identity"] = {"email": None, "name": None, **found["identity"]}
    return {"tag": "oauth2", "val": found}


def api_key(*, header: str | None = None, prefix: str = "", query: str | None = None, basic: bool = False,
            form_field: str | None = None, check: str | None = None) -> dict[str, Any]:
    """Users bring a key that the service issued to them: in a header, in a query parameter, or as
    user name and password.

    `check` is an operation that tests a key.
    """
    placements: list[dict[str, Any]] = []
    if header is not None:
        placements.append({"tag": "header", "val": {"name": header, "prefix": prefix}})
    if query is not None:
        placements.append({"tag": "query", "val": query})
    if basic:
        placements.append({"tag": "basic"})
    if len(placements) != 1:
        raise Mistake("`api_key` has one of `header`, `query` and `basic`")
    return {"tag": "api-key", "val": {"placement": placements[0], "form_field": form_field, "check": check}}
