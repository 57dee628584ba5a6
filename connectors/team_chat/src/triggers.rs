//! Events of a workspace. Slack's Events API sends them to the application with their data, so that
//! no code is needed.

use connector_sdk::triggers::{
    AccountKey, Check, CheckPart, Comparison, Condition, ConditionValue, EchoMember, Handshake, HmacCheck, Inbox,
    Lifecycle, Place, Trigger, Visibility,
};

/// The request URL of the application. Slack names one user who may see an event. The gateway asks
/// for the others.
pub(crate) const INBOXES: &[Inbox] = &[Inbox {
    name: "events",
    checks: &[Check::Hmac(HmacCheck {
        text: &[CheckPart::Literal("v0"), CheckPart::Timestamp, CheckPart::Body],
        separator: ":",
        signature: Place::Header("X-Slack-Signature"),
        prefix: "v0=",
        timestamp: Some(Place::Header("X-Slack-Request-Timestamp")),
        tolerance_seconds: 300,
        ..HmacCheck::BODY
    })],
    handshakes: &[Handshake::EchoMember(EchoMember { when: ("/type", "url_verification"), member: "/challenge" })],
    // The notification that events were lost has no id, but the minute in which they were.
    id: &[Place::Pointer("/event_id"), Place::Pointer("/minute_rate_limited")],
    kind: &[Place::Pointer("/type"), Place::Pointer("/event/type"), Place::Pointer("/event/subtype")],
    data: "/event",
    time: Some(Place::Pointer("/event_time")),
    accounts: &[
        AccountKey { place: Place::Pointer("/authorizations/0/team_id"), account: "/data/organization/id" },
        AccountKey { place: Place::Pointer("/authorizations/0/user_id"), account: "/data/id" },
        // The workspace that has lost events.
        AccountKey { place: Place::Pointer("/team_id"), account: "/data/organization/id" },
    ],
    visibility: Some(Visibility {
        upstream: "api",
        path: "/apps.event.authorizations.list",
        context: "/event_context",
        parameter: "event_context",
        accounts: "/authorizations",
        cursor: ("/response_metadata/next_cursor", "cursor"),
    }),
    // Messages that tell of something else, and changes of messages.
    ignored: &[
        "event_callback/message/message_changed",
        "event_callback/message/message_deleted",
        "event_callback/message/message_replied",
        "event_callback/message/channel_join",
        "event_callback/message/channel_leave",
        "event_callback/message/channel_topic",
        "event_callback/message/channel_purpose",
        "event_callback/message/channel_name",
        "event_callback/message/channel_archive",
        "event_callback/message/channel_unarchive",
        "event_callback/message/channel_posting_permissions",
        "event_callback/message/channel_convert_to_private",
        "event_callback/message/group_join",
        "event_callback/message/group_leave",
        "event_callback/message/group_topic",
        "event_callback/message/group_purpose",
        "event_callback/message/group_name",
        "event_callback/message/group_archive",
        "event_callback/message/group_unarchive",
    ],
    // A workspace has had more events in an hour than Slack sends.
    lifecycle: &[("app_rate_limited", Lifecycle::Read)],
    ..Inbox::APPLICATION
}];

/// A type of events of the application.
const OF_APPLICATION: Trigger = Trigger { inboxes: &["events"], ..Trigger::CARRIED };

/// Messages of all conversations, or of one.
const CHANNEL: &str = r#"{
    "type": "object",
    "properties": {
        "channel": {"type": "string", "minLength": 1, "description": "id of the conversation; absent: all that the user sees"}
    },
    "additionalProperties": false
}"#;

const MESSAGE: &str = r#"{
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "subtype": {"type": "string"},
        "channel": {"type": "string"},
        "channel_type": {"type": "string"},
        "user": {"type": "string"},
        "text": {"type": "string"},
        "ts": {"type": "string"},
        "thread_ts": {"type": "string"}
    },
    "required": ["type", "channel", "ts"]
}"#;

/// The types of events.
pub(crate) const TRIGGERS: &[Trigger] = &[
    Trigger {
        name: "message",
        title: "Message written",
        description: "A message was written in a conversation that the user sees: a channel, a group or a direct message. \
                      Changed and deleted messages are left out, and so are the notes that someone joined or left.",
        parameters: CHANNEL,
        payload: MESSAGE,
        example: r#"{
            "type": "message",
            "channel": "C024BE91L",
            "channel_type": "channel",
            "user": "U023BECGF",
            "text": "Hello",
            "ts": "1700000000.000100",
            "event_ts": "1700000000.000100"
        }"#,
        kinds: &["event_callback/message"],
        conditions: &[Condition::equals_parameter("/event/channel", "/channel")],
        ..OF_APPLICATION
    },
    Trigger {
        name: "mention",
        title: "User mentioned",
        description: "A message that mentions the connected user was written in a conversation that the user sees.",
        parameters: CHANNEL,
        payload: MESSAGE,
        example: r#"{
            "type": "message",
            "channel": "C024BE91L",
            "channel_type": "channel",
            "user": "U023BECGF",
            "text": "Can you look at this, <@U061F7AUR>?",
            "ts": "1700000000.000200",
            "event_ts": "1700000000.000200"
        }"#,
        kinds: &["event_callback/message"],
        conditions: &[
            Condition::equals_parameter("/event/channel", "/channel"),
            Condition {
                place: Place::Pointer("/event/text"),
                comparison: Comparison::Contains,
                value: ConditionValue::Account("/data/id"),
                pattern: "<@{}>",
            },
        ],
        ..OF_APPLICATION
    },
    Trigger {
        name: "reaction_added",
        title: "Reaction added",
        description: "Someone added an emoji to a message in a conversation that the user sees. `item` names the message. \
                      The account needs the scope `reactions:read`, which the operator adds to the scopes of the connector.",
        parameters: CHANNEL,
        payload: r#"{
            "type": "object",
            "properties": {
                "type": {"type": "string"},
                "user": {"type": "string"},
                "reaction": {"type": "string"},
                "item_user": {"type": "string"},
                "item": {
                    "type": "object",
                    "properties": {"type": {"type": "string"}, "channel": {"type": "string"}, "ts": {"type": "string"}}
                },
                "event_ts": {"type": "string"}
            },
            "required": ["type", "user", "reaction", "item"]
        }"#,
        example: r#"{
            "type": "reaction_added",
            "user": "U023BECGF",
            "reaction": "thumbsup",
            "item_user": "U061F7AUR",
            "item": {"type": "message", "channel": "C024BE91L", "ts": "1700000000.000100"},
            "event_ts": "1700000001.000300"
        }"#,
        kinds: &["event_callback/reaction_added"],
        scopes: &["reactions:read"],
        conditions: &[Condition::equals_parameter("/event/item/channel", "/channel")],
        ..OF_APPLICATION
    },
    Trigger {
        name: "channel_created",
        title: "Channel created",
        description: "A public channel was created in the workspace.",
        payload: r#"{
            "type": "object",
            "properties": {
                "type": {"type": "string"},
                "channel": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string"},
                        "name": {"type": "string"},
                        "created": {"type": "integer"},
                        "creator": {"type": "string"}
                    }
                }
            },
            "required": ["type", "channel"]
        }"#,
        example: r#"{
            "type": "channel_created",
            "channel": {"id": "C024BE91L", "name": "launch", "created": 1700000000, "creator": "U023BECGF"},
            "event_ts": "1700000000.000400"
        }"#,
        kinds: &["event_callback/channel_created"],
        ..OF_APPLICATION
    },
];
