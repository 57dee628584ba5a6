"""Events of the service: inboxes and triggers.

An inbox says how the service notifies the gateway. A trigger is a type of events. The crate
`contract_rules` has the rules, which the build asks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from inspect import cleandoc
from typing import Any, Literal

from .mistake import Mistake, only, within
from .reader import written

Role = Literal["subscribe", "renew", "unsubscribe", "read", "recover", "identify"]

_INBOX = (
    "name", "scope", "checks", "handshakes", "decode", "items", "id", "kind", "data", "time", "accounts", "visibility", "ignored", "lifecycle",
    "max_body",
)
_TRIGGER = (
    "name", "title", "description", "parameters", "payload", "example", "source", "kinds", "scopes", "inboxes", "key", "conditions", "subscribe",
    "renew", "unsubscribe", "read", "recover", "identify", "requires_setting", "lifetime_seconds", "poll_seconds",
)
_HMAC = {
    "hash": "sha256", "secret": "text", "encoding": "hex", "text": ["body"], "separator": "", "signature": None, "prefix": "",
    "list_separator": None, "timestamp": None, "tolerance_seconds": 300,
}
_HMAC_QUERY = {"parameter": None, "hash": "sha256", "secret": "text", "encoding": "base64", "member": None, "prefix": ""}
_JWT = {"place": None, "issuers": [], "jwks_url": None, "audience": "address", "claims": {}}
_VISIBILITY = ("upstream", "path", "context", "parameter", "accounts", "cursor")
_CONDITION = {"place": None, "comparison": "equals", "value": None, "pattern": ""}
_NO_PARAMETERS = {"type": "object", "properties": {}, "additionalProperties": False}


def _itself(value: Any) -> Any:
    return value


def _case(what: str, value: Any, cases: Mapping[str, Callable[[Any], Any] | None]) -> dict[str, Any]:
    """A case of a variant: its name, or a dictionary whose only key is the name.

    `None` among the cases stands for one without a value.
    """
    words: dict[str, Any] = {value: None} if isinstance(value, str) else dict(value or {})
    [(word, given)] = words.items() if len(words) == 1 else [(None, None)]
    if word not in cases:
        known = (f'"{name}"' if make is None else f"{{ {name}: … }}" for name, make in cases.items())
        raise Mistake(f"{what} is one of {', '.join(known)}")
    make = cases[word]
    tag = word.replace("_", "-")
    return {"tag": tag} if make is None else {"tag": tag, "val": make(given)}


def _place(value: Any) -> dict[str, Any]:
    cases = {"header": _itself, "header_field": list, "pointer": _itself, "query": _itself, "body_hash": None}
    return _case("a place", value, cases)


def _maybe_place(value: Any) -> dict[str, Any] | None:
    return None if value is None else _place(value)


def _check(value: Any) -> dict[str, Any]:
    return _case("a check", value, {"hmac": _hmac, "token": _place, "jwt": _jwt})


def _hmac(declared: Mapping[str, Any]) -> dict[str, Any]:
    only(declared, _HMAC, "`hmac`")
    hmac = {**_HMAC, **declared}
    parts = {"body": None, "timestamp": None, "header": _itself, "literal": _itself}
    hmac["text"] = [_case("a part of `text`", part, parts) for part in hmac["text"]]
    hmac["signature"], hmac["timestamp"] = _place(hmac["signature"]), _maybe_place(hmac["timestamp"])
    return hmac


def _jwt(declared: Mapping[str, Any]) -> dict[str, Any]:
    only(declared, _JWT, "`jwt`")
    jwt = {**_JWT, **declared}

    def claim(value: Any) -> dict[str, Any]:
        if isinstance(value, str):
            return {"tag": "literal", "val": value}
        return _case("a claim", value, {"literal": _itself, "setting": _itself})

    jwt["place"] = _place(jwt["place"])
    jwt["audience"] = _case("`audience`", jwt["audience"], {"address": None, "setting": _itself})
    jwt["claims"] = [[name, claim(value)] for name, value in jwt["claims"].items()]
    return jwt


def _handshake(value: Any) -> dict[str, Any]:
    return _case("a handshake", value, {"echo_query": _itself, "echo_member": _echo_member, "hmac_query": _hmac_query})


def _echo_member(echo: Mapping[str, Any]) -> dict[str, Any]:
    only(echo, ("when", "member"), "`echo_member`")
    return {"when": list(echo.get("when", ())), "member": echo.get("member")}


def _hmac_query(query: Mapping[str, Any]) -> dict[str, Any]:
    only(query, _HMAC_QUERY, "`hmac_query`")
    return {**_HMAC_QUERY, **query}


def _account_key(key: Mapping[str, Any]) -> dict[str, Any]:
    only(key, ("place", "account"), "a key of `accounts`")
    return {"place": _place(key.get("place")), "account": key.get("account")}


def _visibility(declared: Mapping[str, Any]) -> dict[str, Any]:
    only(declared, _VISIBILITY, "`visibility`")
    return {**{word: declared.get(word) for word in _VISIBILITY}, "cursor": list(declared.get("cursor", ()))}


def _inbox(inbox: Mapping[str, Any]) -> dict[str, Any]:
    only(inbox, _INBOX, "an inbox")
    visibility = inbox.get("visibility")
    return {
        "name": inbox.get("name"),
        "scope": inbox.get("scope", "subscription"),
        "checks": [_check(check) for check in inbox.get("checks", ())],
        "handshakes": [_handshake(handshake) for handshake in inbox.get("handshakes", ())],
        "decode": inbox.get("decode"),
        "items": inbox.get("items"),
        "id": [_place(place) for place in inbox.get("id", ())],
        "kind": [_place(place) for place in inbox.get("kind", ())],
        "data": inbox.get("data", ""),
        "time": _maybe_place(inbox.get("time")),
        "accounts": [_account_key(key) for key in inbox.get("accounts", ())],
        "visibility": None if visibility is None else _visibility(visibility),
        "ignored": list(inbox.get("ignored", ())),
        "lifecycle": [list(pair) for pair in inbox.get("lifecycle", {}).items()],
        "max_body": inbox.get("max_body", 1 << 20),
    }


def _condition(declared: Mapping[str, Any]) -> dict[str, Any]:
    only(declared, _CONDITION, "a condition")
    found = {**_CONDITION, **declared}
    values = {"parameter": _itself, "account": _itself, "literal": _itself}
    found["place"], found["comparison"] = _place(found["place"]), found["comparison"].replace("_", "-")
    found["value"] = _case("the value of a condition", found["value"], values)
    return found


def _trigger(trigger: Mapping[str, Any]) -> dict[str, Any]:
    only(trigger, _TRIGGER, "a trigger")
    if trigger.get("source") not in ("carried", "read"):
        raise Mistake('`source` of a trigger is "carried" or "read"')
    return {
        "name": trigger.get("name"),
        "title": trigger.get("title"),
        "description": cleandoc(trigger.get("description", "")),
        "parameters": written(trigger.get("parameters", _NO_PARAMETERS)),
        "payload": written(trigger.get("payload", {"type": "object"})),
        "example": written(trigger.get("example", {})),
        "source": trigger["source"],
        **{word: list(trigger.get(word, ())) for word in ("kinds", "scopes", "inboxes", "key")},
        "conditions": [_condition(condition) for condition in trigger.get("conditions", ())],
        **{word: trigger.get(word) for word in ROLES},
        "requires_setting": trigger.get("requires_setting"),
        "lifetime_seconds": trigger.get("lifetime_seconds"),
        "poll_seconds": trigger.get("poll_seconds", 300),
    }


def events_of(inboxes: Sequence[Mapping[str, Any]], triggers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The declarations of a table. A value of a variant is `{"tag": …, "val": …}`."""
    found: dict[str, Any] = {"inboxes": [], "triggers": []}
    for what, declared, make in (("inbox", inboxes, _inbox), ("trigger", triggers, _trigger)):
        for one in declared:
            with within(f"{what} `{one.get('name')}`"):
                found["inboxes" if what == "inbox" else "triggers"].append(make(one))
    return found


_SUBSCRIPTION = ("upstream_id", "state", "parameters")
_SCHEMAS: dict[str, Any] = {
    "parameters": {"type": "object"}, "kinds": {"type": "array", "items": {"type": "string"}}, "upstream_id": {"type": "string"}, "state": {},
    "cursor": {}, "hint": {}, "limit": {"type": "integer", "minimum": 1},
}

#: The roles of operations that a trigger names: the summary, and the members of the input.
ROLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "subscribe": ("Subscribe to events", ("parameters", "kinds")),
    "renew": ("Renew a subscription", (*_SUBSCRIPTION, "kinds")),
    "unsubscribe": ("End a subscription", _SUBSCRIPTION),
    "read": ("Read events", ("parameters", "cursor", "hint", "limit")),
    "recover": ("Let the service send failed notifications again", _SUBSCRIPTION),
    "identify": ("What the account sees", ("parameters",)),
}


def input_schema(role: str) -> dict[str, Any]:
    """The schema of the input of an operation with a role."""
    _, members = ROLES[role]
    return {
        "type": "object",
        "properties": {name: _SCHEMAS[name] for name in members},
        "required": [name for name in members if _SCHEMAS[name]],
        "additionalProperties": False,
    }


def run_role(role: str, run: Callable[..., Any], given: str) -> Any:
    """Runs the function of a role, and completes its answer.

    A member that is absent in the input is `None`.
    """
    members = json.loads(given)
    answer = run(**{name: members.get(name) for name in ROLES[role][1]})
    if role != "read":
        return {} if answer is None else answer
    events = [{"id": event["id"], "kind": event.get("kind", ""), "time": event.get("time"), "data": event["data"]} for event in answer.get("events", ())]
    return {"events": events, "cursor": answer["cursor"], "more": answer.get("more", False), "gap": answer.get("gap", False)}


def check_named(triggers: list[dict[str, Any]], name: str, role: str | None) -> None:
    """Refuses an operation that is internal and that no trigger names, and the other way round."""
    named = [known for known in ROLES if any(trigger[known] == name for trigger in triggers)]
    if role is not None and not named:
        raise Mistake("a row with `internal` is for a trigger; name it in `triggers`")
    for known in named:
        if role != known:
            raise Mistake(f'a trigger names it as `{known}`; write `@connector.internal("{known}")`')
