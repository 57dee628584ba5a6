"""The table of the Rust SDK's tests (`sdk/tests/shared/rows.rs`) in Python."""

import json
from pathlib import Path

from connector_sdk import (
    Connector, Fault, boolean, delete, entries, file, get, integer, list_of, number, oauth2, object_of, patch, post, send, string, string_or_list,
)

SHARED = Path(__file__).parents[2] / "sdk" / "tests" / "shared"
COLORS = ["#000000", "#ffffff"]


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
    inboxes=[
        {
            "name": "app",
            "scope": "application",
            "checks": [
                {
                    "hmac": {
                        "text": [{"literal": "v0"}, "timestamp", "body"],
                        "separator": ":",
                        "signature": {"header": "X-Signature"},
                        "prefix": "v0=",
                        "timestamp": {"header": "X-Timestamp"},
                    },
                },
            ],
            "handshakes": [{"echo_member": {"when": ["/type", "url_verification"], "member": "/challenge"}}],
            "id": [{"pointer": "/event_id"}],
            "kind": [{"pointer": "/event/type"}],
            "data": "/event",
            "time": {"pointer": "/event_time"},
            "accounts": [{"place": {"pointer": "/team_id"}, "account": "/users/0/team"}],
            "visibility": {
                "upstream": "api",
                "path": "/authorizations",
                "context": "/event_context",
                "parameter": "event_context",
                "accounts": "/authorizations",
                "cursor": ["/next", "cursor"],
            },
        },
        {
            "name": "hook",
            "checks": [
                {"token": {"header_field": ["X-Token", "t"]}},
                {
                    "jwt": {
                        "place": {"header": "Authorization"},
                        "issuers": ["https://accounts.example.com"],
                        "jwks_url": "https://accounts.example.com/certs",
                        "audience": {"setting": "api_version"},
                        "claims": {"email_verified": "true", "email": {"setting": "employees_path"}},
                    },
                },
                {
                    "hmac": {
                        "secret": "base64",
                        "encoding": "base64",
                        "text": [{"header": "webhook-id"}, "timestamp", "body"],
                        "separator": ".",
                        "signature": {"header": "webhook-signature"},
                        "prefix": "v1,",
                        "list_separator": " ",
                        "timestamp": {"header": "webhook-timestamp"},
                    },
                },
            ],
            "handshakes": [
                {"echo_query": "validationToken"},
                {"hmac_query": {"parameter": "crc_token", "member": "response_token", "prefix": "sha256="}},
            ],
            "decode": "/message/data",
            "items": "/value",
            "id": [{"header": "X-Id"}, "body_hash"],
            "kind": [{"query": "kind"}, {"header": "X-Kind"}],
            "ignored": ["sync"],
            "lifecycle": {"removed": "recreate", "missed": "read"},
            "max_body": 65536,
        },
    ],
    triggers=[
        {
            "name": "message",
            "title": "Message",
            "description": "A message in a channel.",
            "parameters": {"type": "object", "properties": {"channel": {"type": "string"}}, "additionalProperties": False},
            "payload": {"type": "object", "properties": {"text": {"type": "string"}}},
            "example": {"text": "Hello"},
            "source": "carried",
            "kinds": ["message"],
            "scopes": ["messages"],
            "inboxes": ["app"],
            "conditions": [
                {"place": {"pointer": "/event/channel"}, "value": {"parameter": "/channel"}},
                {"place": {"pointer": "/event/text"}, "comparison": "contains", "value": {"account": "/users/0/id"}, "pattern": "<@{}>"},
                {"place": {"header": "X-Kind"}, "comparison": "starts_with", "value": {"literal": "message"}},
            ],
        },
        {
            "name": "change",
            "title": "Change",
            "parameters": {"type": "object", "properties": {"folder": {"type": "string"}}, "required": ["folder"], "additionalProperties": False},
            "payload": {"type": "object"},
            "example": {"id": "7"},
            "source": "read",
            "inboxes": ["hook"],
            "key": ["folder"],
            "subscribe": "change_subscribe",
            "renew": "change_renew",
            "unsubscribe": "change_unsubscribe",
            "read": "change_read",
            "recover": "change_recover",
            "identify": "change_identify",
            "requires_setting": "api_version",
            "lifetime_seconds": 86400,
            "poll_seconds": 600,
        },
    ],
    operations={
        "events_get": get(
            "api",
            "/calendars/{calendar_id}/events/{event_id}",
            """Event by its id.

            With all of its attendees.
            """,
            fields={
                "query?": entries(
                    "alwaysIncludeEmail", {"maxAttendees": {"doc": "most attendees in the answer"}, "q": {"doc": "words to find"}}
                ),
            },
            example={"calendar_id": "primary", "event_id": "abc", "query": {"maxAttendees": 10}},
        ),
        "events_insert": post(
            "api",
            "/calendars/{calendar_id}/events",
            "Create an event",
            fields={"body": object_of(without=["attendees"]), "query?": entries("sendUpdates")},
        ),
        "create_label": post(
            "api",
            "/labels",
            "Create a label",
            fields={
                "text_color?": string(as_="color.textColor", one_of=COLORS),
                "name": string(min=1, max=225),
                "visibility?": string(as_="labelListVisibility", one_of=["labelShow", "labelHide"], default="labelShow", sent=True),
                "background_color?": string(as_="color.backgroundColor", one_of=COLORS),
                "deep?": integer(as_="color.inner.deep"),
            },
        ),
        "update_issue": patch(
            "api",
            "/issues/{number}",
            "Change an issue",
            fields={"title?": string(), "milestone?": integer(as_="fields.milestone", nullable=True)},
        ),
        "create_folder": post(
            "api",
            "/drives/{drive_id}/children",
            "Create a folder",
            fields={
                "name": string(),
                "conflict_behavior?": string(
                    as_="@microsoft.graph.conflictBehavior", one_of=["fail", "rename"], default="fail", sent=True
                ),
                "users?": string_or_list(joined=","),
                "tags?": list_of(string()),
            },
            fixed_body={"folder": {}},
        ),
        "search": get(
            "api",
            "/me/drive/search(q='{q}')",
            "Search",
            fields={"q": string(odata_string=True), "query?": entries("$select", "$search", "$top", "$count")},
            rate_limit="searches",
        ),
        "contents": get(
            "api",
            "/repos/{owner}/contents/{path}?ref=main",
            "A file",
            fields={"path": string(keeps_slashes=True), "part?": integer(min=1, max=9)},
        ),
        "update_label": patch(
            "api",
            "/labels/{id}",
            "Update a label",
            fields={"name?": string(), "text_color?": string(as_="color.textColor", one_of=COLORS), "query?": entries("fields")},
            check=some_change,
        ),
        "charge": post(
            "api",
            "/charges",
            "Charge a card",
            fields={
                "amount": integer(),
                "currency?": string(one_of=["eur", "usd"], default="eur", sent=True),
                "number?": string(as_="card.number"),
                "year?": integer(as_="card.year"),
                "note?": string(nullable=True),
                "expand?": list_of(string(), as_="expand[]"),
                "ids?": list_of(string(), joined=","),
                "lines?": list_of(object_of()),
            },
            form=True,
            fixed_body={"source": "api", "flags": {"test": True}},
        ),
        "send_form": post("api", "/forms", "Send a form as it is", fields={"body": object_of()}, form=True),
        "upload_photos": post(
            "api",
            "/albums/{album}/photos",
            "Upload photos",
            fields={
                "photo": file(as_="photo[file]"),
                "more?": list_of(file()),
                "title": string(),
                "size?": integer(),
                "tags?": list_of(string()),
                "about?": object_of({"author": string(), "year?": integer()}),
                "places?": list_of(object_of(), as_="details.places"),
                "note?": string(nullable=True),
                "notify?": boolean(in_="query"),
            },
            multipart=True,
            fixed_body={"source": "api"},
            example={"album": "a", "title": "Sea", "photo": {"file_name": "sea.png", "content_base64": "iVBORw=="}},
        ),
        "list_items": get(
            "api",
            "/items",
            "Items, by the header `Link`",
            fields={"page?": integer()},
            pages={"items": "", "link": "Link", "parameter": "page", "into": "/page"},
        ),
        "list_users": get(
            "api",
            "/users",
            "Users",
            fields={"query?": entries("customer", "domain", "pageToken")},
            pages={"items": "/users", "cursor": "/nextPageToken", "into": "/query/pageToken"},
            default_query={"customer": "my_customer"},
            default_query_unless=["domain"],
        ),
        "list_charges": get(
            "api",
            "/charges",
            "Charges, by the last item of a page",
            fields={"query?": entries("limit", "starting_after")},
            pages={"items": "/data", "last": "/id", "while": "/has_more", "into": "/query/starting_after"},
        ),
        "list_names": get(
            "api",
            "/names",
            "Names, each of which leads to the next ones",
            fields={"after?": string()},
            pages={"items": "", "last": "", "into": "/after"},
        ),
        "list_events": get(
            "api",
            "/me/events",
            "Events with headers",
            fields={"trace?": string(in_="header", as_="X-Trace"), "headers?": entries("Prefer")},
        ),
        "get_posts": get(
            "api",
            "/posts",
            "Posts",
            fields={
                "ids": list_of(string(), min=1, max=100, joined=","),
                "post_fields?": list_of(string(), as_="post.fields", joined=","),
                "ranges?": list_of(string(), repeated=True),
                "limit?": integer(max=100, default=30, sent=True),
            },
        ),
        "get_employee": get("api", "{settings.employees_path}/{employee_id}", "An employee", fields={"employee_id": integer()}),
        "post_message": post(
            "api",
            "/messages",
            "Post a message",
            fields={"text": string(max_bytes=8), "card?": object_of(max_bytes=16), "thread?": string(in_="query")},
        ),
        "post_card": post("api", "/cards", "Post a card", fields={"body": object_of(max_bytes=16)}),
        "end_call": post("api", "/calls/{id}:end", "End a call", effect="destructive"),
        "delete_thing": delete("api", "/things/{id}", "Delete a thing"),
        "guarded": get("api", "/guarded", "A list by another function", fields={"limit?": integer()}, via=guarded),
    },
)


@connector.write(
    fields={
        "type": string(),
        "many?": string_or_list(),
        "count?": integer(min=1, default=5),
        "flag?": boolean(default=True),
        "filters?": entries("state", "labels"),
        "thing?": object_of(),
        "parts?": list_of(object_of()),
        "share?": number(default=0.5, assumed=True),
    }
)
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
