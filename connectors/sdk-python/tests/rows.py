"""The table of the Rust SDK's tests (`sdk/tests/shared/rows.rs`) in Python.

Its rows, inboxes and triggers are in files that the SDK for JavaScript reads too.
"""

import json
from pathlib import Path

from connector_sdk import (
    Connector, Fault, boolean, delete, entries, file, get, integer, list_of, number, oauth2, object_of, patch, post, send, string, string_or_list,
)

SHARED = Path(__file__).parents[2] / "sdk" / "tests" / "shared"
ROWS = json.loads((SHARED / "rows.json").read_text())


def some_change(name, text_color, **_):
    if name is None and text_color is None:
        raise Fault.invalid_input("", "Give `name` or `text_color`.")


def guarded(request):
    """A service that reports errors with status 200."""
    answer = send(request).successful().document()
    code = answer.string("/error")
    if code is not None:
        raise Fault.upstream(400, code)
    return answer


def field_of(field):
    """A field of the shared files: its type, its modifiers, and the item, the fields or the names inside of it."""
    kind, modifiers, inner = *field, *[{}, None][len(field) - 1 :]
    words = {f"{word}_" if word in ("in", "as") else word: value for word, value in modifiers.items()}
    match kind:
        case "list":
            return list_of(field_of(inner), **words)
        case "entries":
            return entries(*inner, **words)
        case "object":
            return object_of(inner and fields_of(inner), **words)
    types = {"string": string, "integer": integer, "number": number, "boolean": boolean, "string_or_list": string_or_list, "file": file}
    return types[kind](**words)


def fields_of(fields):
    return {key: field_of(field) for key, field in fields.items()}


def row_of(row):
    """A row of the shared files."""
    clauses = {**row, "fields": fields_of(row.get("fields", {}))}
    method, upstream, path, doc = (clauses.pop(word, "One") for word in ("method", "upstream", "path", "doc"))
    functions = {"some_change": some_change, "guarded": guarded}
    clauses.update((word, functions[clauses[word]]) for word in ("check", "via") if word in clauses)
    return {"get": get, "post": post, "patch": patch, "delete": delete}[method](upstream, path, doc, **clauses)


connector = Connector(
    identifier="rows",
    version="0.1.0",
    title="Rows",
    doc="Rows of many services.",
    license="Apache-2.0",
    author="Connector Gateway contributors",
    auth=oauth2(
        "google",
        scopes=["openid"],
        authorization_parameters={"access_type": "offline"},
        identity={"operation": "list_users", "id": "/users/0/id"},
    ),
    upstreams={
        "api": "https://api.example.com/v1",
        "files": {
            "url": "{api}/files",
            "credential": "none",
            "links": ["*.example-files.com"],
            "pacing": {"interval_ms": 3000, "concurrency": 1, "max_wait_ms": 15000},
        },
    },
    rate_limits={"searches": "30 per 2 minutes"},
    settings={
        "employees_path": string(default="/employees", doc="Path of the employees."),
        "api_version": string(default="2022-11-28", doc="Version of the service's API."),
    },
    lists="repeated",
    answer_examples=json.loads((SHARED / "answers.json").read_text()),
    headers={
        "X-Api-Version": "{settings.api_version}",
        "ConsistencyLevel": {"value": "eventual", "when": ["$search", {"name": "$count", "unless": "false"}]},
    },
    **json.loads((SHARED / "inboxes_and_triggers.json").read_text()),
    operations={name: row_of(row) for name, row in ROWS["requests"].items()},
)


@connector.write(fields=fields_of(ROWS["typed"]))
def typed(**given):
    """Typed input"""
    return given


@connector.internal("subscribe")
def change_subscribe(parameters, kinds):
    return {"upstream_id": parameters["folder"], "expires_at": "2026-12-04T00:00:00Z"}


@connector.internal("renew")
def change_renew(upstream_id, state, **_):
    return {"upstream_id": upstream_id} if state is None else {"upstream_id": upstream_id, "state": state}


@connector.internal("unsubscribe", rate_limit="searches")
def change_unsubscribe(**_):
    pass


@connector.internal("read")
def change_read(parameters, cursor, hint, limit):
    """Changes of a folder"""
    if cursor is None:
        return {"cursor": "1"}
    return {"events": [{"id": "7", "kind": "changed", "data": [limit]}], "cursor": cursor, "gap": True}


@connector.internal("recover")
def change_recover(upstream_id, state, parameters):
    pass


@connector.internal("identify")
def change_identify(parameters):
    return parameters
