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

#: Makes a value of the contract. It is called with the author's value, or without an argument if there is none.
Make = Callable[..., Any]


def _itself(value: Any = None) -> Any:
    return value


def _or(by_default: Any, make: Make = _itself) -> Make:
    return lambda value=by_default: make(value)


def _if_given(make: Make) -> Make:
    return lambda value=None: None if value is None else make(value)


def _list(make: Make) -> Make:
    return _or((), lambda values: [make(value) for value in values])


def _pairs(make: Make) -> Make:
    return _or({}, lambda values: [[name, make(value)] for name, value in values.items()])


def _record(what: str, **members: Make) -> Make:
    """A record of the contract, with what makes each of its members."""

    def make(declared: Any = None) -> dict[str, Any]:
        only(declared, members, what)
        return {word: member(declared[word]) if word in declared else member() for word, member in members.items()}

    return make


def _one_of(what: str, **cases: Make | None) -> Make:
    """A case of a variant: its name, or a dictionary whose only key is the name.

    `None` among the cases stands for one without a value.
    """

    def make(value: Any = None) -> dict[str, Any]:
        words: dict[str, Any] = {value: None} if isinstance(value, str) else dict(value or {})
        [(word, given)] = words.items() if len(words) == 1 else [(None, None)]
        if word not in cases:
            known = (f'"{name}"' if case is None else f"{{ {name}: … }}" for name, case in cases.items())
            raise Mistake(f"{what} is one of {', '.join(known)}")
        case, tag = cases[word], word.replace("_", "-")
        return {"tag": tag} if case is None else {"tag": tag, "val": case(given)}

    return make


def _source(value: Any = None) -> Any:
    if value not in ("carried", "read"):
        raise Mistake('`source` of a trigger is "carried" or "read"')
    return value


_place = _one_of("a place", header=_itself, header_field=list, pointer=_itself, query=_itself, body_hash=None)
_claim = _one_of("a claim", literal=_itself, setting=_itself)
_hmac = _record(
    "`hmac`", hash=_or("sha256"), secret=_or("text"), encoding=_or("hex"),
    text=_or(["body"], _list(_one_of("a part of `text`", body=None, timestamp=None, header=_itself, literal=_itself))),
    separator=_or(""), signature=_place, prefix=_or(""), list_separator=_itself, timestamp=_if_given(_place), tolerance_seconds=_or(300),
)
_jwt = _record(
    "`jwt`", place=_place, issuers=_or([]), jwks_url=_itself, audience=_or("address", _one_of("`audience`", address=None, setting=_itself)),
    claims=_pairs(lambda value: _claim({"literal": value} if isinstance(value, str) else value)),
)
_handshake = _one_of(
    "a handshake", echo_query=_itself, echo_member=_record("`echo_member`", when=_or((), list), member=_itself),
    hmac_query=_record(
        "`hmac_query`", parameter=_itself, hash=_or("sha256"), secret=_or("text"), encoding=_or("base64"), member=_itself, prefix=_or("")
    ),
)
_inbox = _record(
    "an inbox", name=_itself, scope=_or("subscription"), checks=_list(_one_of("a check", hmac=_hmac, token=_place, jwt=_jwt)),
    handshakes=_list(_handshake), decode=_itself, items=_itself, id=_list(_place), kind=_list(_place), data=_or(""), time=_if_given(_place),
    accounts=_list(_record("a key of `accounts`", place=_place, account=_itself)),
    visibility=_if_given(_record(
        "`visibility`", upstream=_itself, path=_itself, context=_itself, parameter=_itself, accounts=_itself, cursor=_or((), list)
    )),
    ignored=_or((), list), lifecycle=_pairs(_itself), max_body=_or(1 << 20),
)
_condition = _record(
    "a condition", place=_place, comparison=_or("equals", lambda value: value.replace("_", "-")),
    value=_one_of("the value of a condition", parameter=_itself, account=_itself, literal=_itself), pattern=_or(""),
)
_trigger = _record(
    "a trigger", name=_itself, title=_itself, description=_or("", cleandoc),
    parameters=_or({"type": "object", "properties": {}, "additionalProperties": False}, written), payload=_or({"type": "object"}, written),
    example=_or({}, written), source=_source, kinds=_or((), list), scopes=_or((), list), inboxes=_or((), list), key=_or((), list),
    conditions=_list(_condition), **{role: _itself for role in ROLES}, requires_setting=_itself, lifetime_seconds=_itself, poll_seconds=_or(300),
)


def events_of(inboxes: Sequence[Mapping[str, Any]], triggers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The declarations of a table. A value of a variant is `{"tag": …, "val": …}`."""
    return {"inboxes": _each("inbox", inboxes, _inbox), "triggers": _each("trigger", triggers, _trigger)}


def _each(what: str, declared: Sequence[Mapping[str, Any]], make: Make) -> list[dict[str, Any]]:
    found = []
    for one in declared:
        with within(f"{what} `{one.get('name')}`"):
            found.append(make(one))
    return found


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
