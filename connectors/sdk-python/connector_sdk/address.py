"""Parts of accounts' addresses, which base URLs have in braces: `https://{subdomain}.example.com`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NotRequired, TypedDict

from .mistake import Mistake, only, within

#: The forms of a value, and the longest value that each allows.
_FORMS = {"label": 63, "host": 253, "segment": 253}

#: The most parts of an address.
_MOST_PARTS = 8


#: `from` is `user`, or a JSON Pointer into the service's answer about the account.
AddressPart = TypedDict("AddressPart", {"title": str, "form": NotRequired[str], "max": NotRequired[int], "from": NotRequired[str]})


def parts_of(declared: Mapping[str, AddressPart], upstreams: Iterable[str]) -> list[dict[str, Any]]:
    """The parts of a table, in the form of the contract."""
    parts = []
    for name, part in declared.items():
        with within(f"part `{name}` of the address"):
            parts.append(_part(name, part, upstreams))
    if len(parts) > _MOST_PARTS:
        raise Mistake(f"an address has at most {_MOST_PARTS} parts")
    return parts


def _part(name: str, declared: AddressPart, upstreams: Iterable[str]) -> dict[str, Any]:
    only(declared, AddressPart.__annotations__, "it")
    form, source = declared.get("form", "label"), declared.get("from", "user")
    if not re.fullmatch(r"[a-z0-9_]{1,64}", name) or name == "client_id":
        raise Mistake("a name is 1 to 64 of `a-z`, `0-9` and `_`, and not `client_id`")
    if name in upstreams:
        raise Mistake("an upstream has this name, and base URLs have both in braces; use another name")
    if not declared.get("title"):
        raise Mistake("say in `title`, in a few words, what the user gives or what it is")
    if form not in _FORMS:
        raise Mistake("`form` is `label`, `host` or `segment`")
    most = declared.get("max", _FORMS[form])
    if not 1 <= most <= _FORMS[form]:
        raise Mistake(f"`max` is 1 to {_FORMS[form]} characters")
    if source != "user" and not source.startswith("/"):
        raise Mistake("`from` is `user`, or a JSON Pointer into the service's answer about the account")
    tagged = {"tag": "user"} if source == "user" else {"tag": "account", "val": source}
    return {"name": name, "title": declared["title"], "form": form, "max_length": most, "source": tagged}


def _names_in(url: str) -> list[str]:
    """The names in braces, without the upstream that a URL may begin with."""
    return re.findall(r"\{([^}]*)\}", re.sub(r"^\{[^}]*\}", "", url))


def check_url(url: str, site: str | None, parts: list[dict[str, Any]]) -> None:
    """Checks the names in braces in the base URL of an upstream, and its site."""
    for name in _names_in(url):
        if all(part["name"] != name for part in parts):
            raise Mistake(f"there is no part `{name}`; declare it in `address` of the table")
    host = found[1] if (found := re.match(r"https?://([^/]*)", url)) else ""
    differs = bool(re.search(r"\{[^}]*\}", host))
    if differs and site is None:
        raise Mistake(
            "its host has a part of the account's address; say in `site` which domain the hosts of all accounts are below"
        )
    if not differs and site is not None:
        raise Mistake("its host has no part of the account's address, so it needs no `site`")
    if differs and not url.startswith("https://"):
        raise Mistake("a URL whose host has a part of the account's address is `https`")
    is_whole = any(part["form"] == "host" and host == f"{{{part['name']}}}" for part in parts)
    if differs and not is_whole and not host.endswith(f".{site}"):
        raise Mistake(f"its host is below `{site}`, and has no port")
