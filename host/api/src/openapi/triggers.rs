//! The routes of triggers, of inboxes and of requests of services.

use serde_json::{Value, json};

use super::components::parameter_references;
use super::gateway::{describe_answer, describe_created, filter, with_problems};
use super::problems::OF_SERVICE;
use super::schemas::reference;

/// Members of a list of triggers.
pub(crate) fn describe_list() -> Value {
    describe_answer("Triggers, the newest first.", reference("TriggerPage"))
}

/// Members of POST /triggers.
pub(crate) fn describe_create() -> Value {
    let mut members = describe_created("The trigger.", reference("Trigger"));
    members["description"] = "`X-User-Identifier` names the account, as for operations. In this order: the body is checked, \
        the account is found, the scopes of its grant are checked (409 `scopes-missing`), the trigger is stored, and the service is \
        asked to notify the gateway. If that takes longer than the call has, the trigger is `pending`, and continues. Events \
        count from the moment at which it is `active`. With `urls`, the tenant needs a webhook secret."
        .into();
    if let (Some(parameters), Value::Array(more)) =
        (members["parameters"].as_array_mut(), parameter_references(&["UserIdentifier"]))
    {
        parameters.extend(more);
    }
    members["requestBody"] = json!({"required": true, "content": {"application/json": {
        "schema": reference("NewTrigger"),
        "example": {
            "connector": "tracker", "type": "issue", "parameters": {"project": "shop"},
            "urls": ["https://app.example.com/events"], "filters": [{"pointer": "/action", "in": ["opened"]}],
        },
    }}});
    with_problems(members, &["409", "424", "429", OF_SERVICE, "502", "504", "507"])
}

/// Members of GET /triggers/{trigger_id}.
pub(crate) fn describe_trigger() -> Value {
    describe_answer("The trigger.", reference("Trigger"))
}

/// Members of PATCH /triggers/{trigger_id}.
pub(crate) fn describe_change() -> Value {
    let mut members = describe_answer("The trigger as it is now.", reference("Trigger"));
    members["description"] =
        "What a trigger looks at cannot be changed: `parameters` is 422. Its cursor and its subscription stay.".into();
    members["requestBody"] = json!({"required": true, "content": {"application/json": {
        "schema": reference("TriggerChange"),
        "example": {"paused": true},
    }}});
    with_problems(members, &["409"])
}

/// Members of DELETE of a trigger.
pub(crate) fn describe_delete() -> Value {
    let mut members = describe_answer("The trigger is deleted.", reference("TriggerDeleted"));
    members["description"] =
        "Its webhooks that are not delivered yet are not sent. The last trigger of a subscription ends it at the service.".into();
    members
}

/// Members of POST /triggers/{trigger_id}/test.
pub(crate) fn describe_test() -> Value {
    let mut members = describe_answer("The event is on its way.", reference("TriggerTested"));
    members["description"] =
        "It takes the way of every event, with `source` `test` and a new id: through `filters` and `response_fields` to \
         the URLs, and to GET /triggers/{trigger_id}/events."
            .into();
    members
}

/// Members of POST /triggers/{trigger_id}/read.
pub(crate) fn describe_read() -> Value {
    let mut members = accepted(describe_answer("The read begins.", reference("Trigger")));
    members["description"] = "`last_read_at` of the trigger changes when the read has ended. At most one in 10 s. 409 \
        `nothing-to-read` if the service sends its events and keeps none."
        .into();
    with_problems(members, &["409", "429"])
}

/// Members of GET /triggers/{trigger_id}/events.
pub(crate) fn describe_events() -> Value {
    let mut members = describe_answer("Events, in the order that was asked for.", reference("TriggerEvents"));
    members["description"] = "For applications that pull. Keep `next_cursor` and send it as `cursor` of the next call, also if \
        there was no event: it is never null. Events are kept for `triggers.keep_h` hours; after a longer pause, `truncated` is \
        true, and the oldest events that are kept follow."
        .into();
    members["parameters"] = json!([
        filter("limit", json!({"type": "integer", "minimum": 1, "maximum": 200, "default": 50}), "The most events."),
        filter(
            "cursor",
            json!({"type": "string"}),
            "The `next_cursor` of the previous call. Without it, the oldest events."
        ),
        filter(
            "wait_s",
            json!({"type": "integer", "minimum": 0, "maximum": 25, "default": 0}),
            "Seconds to wait for an event, if there is none.",
        ),
        filter(
            "order",
            json!({"type": "string", "enum": ["oldest", "newest"], "default": "oldest"}),
            "The event that comes first. `newest` shows the last events, without `cursor` and `wait_s`; later events \
             follow its `next_cursor`."
        ),
    ]);
    members
}

/// Members of POST /triggers/{trigger_id}/replay.
pub(crate) fn describe_replay() -> Value {
    let mut members = describe_answer("The webhooks are sent once more.", reference("TriggerReplayed"));
    members["description"] =
        "They have the `webhook-id` and the `data` of before; only `event.replay` differs. 410 if an event is no longer kept.".into();
    members["requestBody"] = json!({"required": true, "content": {"application/json": {
        "schema": reference("TriggerReplay"),
        "example": {"since": "2026-11-27T12:00:00.000Z"},
    }}});
    with_problems(members, &["409", "410"])
}

/// Members of POST /admin/triggers/{trigger_id}/resubscribe.
pub(crate) fn describe_resubscribe() -> Value {
    let mut members = accepted(describe_answer("The subscription is made anew.", reference("Trigger")));
    members["description"] =
        "The gateway asks the service for a new subscription, and reads from the old cursor.".into();
    members
}

/// Members of POST /admin/inboxes.
pub(crate) fn describe_new_inbox() -> Value {
    let mut members = describe_created("The inbox.", reference("Inbox"));
    members["description"] = "Give `url` to the service, and the secret of the service to the inbox, with POST \
        /admin/inboxes/{inbox_id}/secrets. Until then, everything that comes to it is refused."
        .into();
    members["requestBody"] = json!({"required": true, "content": {"application/json": {
        "schema": reference("NewInbox"),
        "example": {"connector": "chat", "inbox": "events"},
    }}});
    with_problems(members, &["409"])
}

/// Members of POST /admin/inboxes/{inbox_id}/secrets.
pub(crate) fn describe_new_inbox_secret() -> Value {
    let mut members = describe_created("The secret, without the secret itself.", reference("InboxSecret"));
    members["description"] =
        "At most two are valid. To replace one, add the new one here, change it at the service, and delete \
        the old one."
            .into();
    members["requestBody"] = json!({"required": true, "content": {"application/json": {
        "schema": reference("NewInboxSecret"),
        "example": {"secret": "a secret that the service shows"},
    }}});
    with_problems(members, &["409"])
}

/// The members of an endpoint that answers 202.
fn accepted(mut members: Value) -> Value {
    let answer = members["responses"]["200"].take();
    members["responses"] = json!({"202": answer});
    members
}
