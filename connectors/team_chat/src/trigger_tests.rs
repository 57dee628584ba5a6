//! The types of events of a workspace. They have no code, so the tests compare them with
//! notifications as Slack sends them.

use connector_sdk::triggers::{ConditionValue, Place, Trigger};
use serde_json::{Value, json};

use crate::CONNECTOR;

/// A notification about an event.
fn notification(event: Value) -> Value {
    json!({
        "type": "event_callback", "team_id": "T1", "api_app_id": "A1", "event": event, "event_id": "Ev1",
        "event_time": 1_700_000_000, "event_context": "4-abc",
        "authorizations": [{"enterprise_id": null, "team_id": "T1", "user_id": "U1", "is_bot": false}]
    })
}

fn trigger(name: &str) -> &'static Trigger {
    CONNECTOR.triggers.iter().find(|trigger| trigger.name == name).expect("a trigger")
}

fn at(notification: &Value, place: &Place) -> Value {
    let Place::Pointer(pointer) = place else { panic!("{place:?}") };
    notification.pointer(pointer).cloned().unwrap_or_default()
}

fn kind(notification: &Value) -> String {
    let parts = CONNECTOR.inboxes[0].kind.iter().map(|place| at(notification, place));
    parts.filter_map(|part| part.as_str().map(str::to_owned)).collect::<Vec<_>>().join("/")
}

#[test]
fn the_example_of_each_type_is_data_of_its_kind() {
    for trigger in CONNECTOR.triggers {
        let example: Value = serde_json::from_str(trigger.example).expect("JSON");
        let notification = notification(example);
        assert_eq!(trigger.kinds, [kind(&notification)], "{}", trigger.name);
        for condition in trigger.conditions {
            assert!(at(&notification, &condition.place).is_string(), "{} {condition:?}", trigger.name);
        }
    }
}

#[test]
fn a_mention_names_the_connected_user() {
    let condition = trigger("mention").conditions.last().expect("a condition");
    assert!(matches!(condition.value, ConditionValue::Account("/data/id")));
    let example: Value = serde_json::from_str(trigger("mention").example).expect("JSON");
    assert!(example["text"].as_str().expect("a text").contains(&condition.pattern.replace("{}", "U061F7AUR")));
}

#[test]
fn a_notification_names_the_workspace_and_the_user() {
    let notification = notification(json!({"type": "message"}));
    let inbox = &CONNECTOR.inboxes[0];
    let named: Vec<Value> = inbox.accounts.iter().map(|key| at(&notification, &key.place)).collect();
    assert_eq!(named, ["T1", "U1", "T1"]);
    let visibility = inbox.visibility.expect("other users see it too");
    assert_eq!(notification.pointer(visibility.context), Some(&json!("4-abc")));
    assert!(notification.pointer(visibility.accounts).is_some_and(Value::is_array));
}

#[test]
fn a_notification_of_lost_events_names_the_workspace_alone() {
    let notification = json!({
        "token": "x", "type": "app_rate_limited", "team_id": "T1", "minute_rate_limited": 1_518_467_820, "api_app_id": "A1"
    });
    let inbox = &CONNECTOR.inboxes[0];
    assert_eq!(inbox.lifecycle[0].0, kind(&notification));
    let named: Vec<Value> = inbox.accounts.iter().map(|key| at(&notification, &key.place)).collect();
    assert_eq!(named, [json!(null), json!(null), json!("T1")]);
    assert_eq!(inbox.accounts[2].account, inbox.accounts[0].account);
    assert!(inbox.id.iter().any(|place| at(&notification, place).is_number()));
}

#[test]
fn changes_of_messages_carry_no_event() {
    let ignored = CONNECTOR.inboxes[0].ignored;
    let of = |subtype: &str| kind(&notification(json!({"type": "message", "subtype": subtype})));
    for subtype in ["message_changed", "message_deleted", "channel_join", "group_leave", "channel_posting_permissions"]
    {
        assert!(ignored.contains(&of(subtype).as_str()), "{subtype}");
    }
    for subtype in ["bot_message", "file_share", "thread_broadcast", "me_message"] {
        assert!(!ignored.contains(&of(subtype).as_str()), "{subtype}");
    }
}
