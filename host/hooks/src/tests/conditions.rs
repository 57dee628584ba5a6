//! Which notifications and events belong to a trigger.

use super::*;
use crate::{Subject, conditions_hold, kind_is};
use contract::Trigger;
use contract::trigger_types::{Comparison, Condition, ConditionValue, TriggerSource};
use serde_json::{Value, json};

fn trigger(conditions: Vec<Condition>) -> Trigger {
    Trigger {
        name: "message".to_owned(),
        title: String::new(),
        description: String::new(),
        parameters: "{}".to_owned(),
        payload: "{}".to_owned(),
        example: "{}".to_owned(),
        source: TriggerSource::Carried,
        kinds: Vec::new(),
        scopes: Vec::new(),
        inboxes: Vec::new(),
        key: Vec::new(),
        conditions,
        subscribe: None,
        renew: None,
        unsubscribe: None,
        read: None,
        recover: None,
        identify: None,
        requires_setting: None,
        lifetime_seconds: None,
        poll_seconds: 300,
    }
}

fn condition(place: Place, comparison: Comparison, value: ConditionValue, pattern: &str) -> Condition {
    Condition { place, comparison, value, pattern: pattern.to_owned() }
}

fn parameter(pointer: &str) -> ConditionValue {
    ConditionValue::Parameter(pointer.to_owned())
}

/// Asks about the data of an event.
fn holds(condition: &Condition, data: &Value, parameters: &Value, account: &Value) -> bool {
    conditions_hold(&trigger(vec![condition.clone()]), Subject::Json(&data.to_string()), parameters, account)
}

#[test]
fn a_kind_stands_for_those_below_it() {
    let is =
        |kinds: &[&str], kind: &str| kind_is(&kinds.iter().map(|kind| (*kind).to_owned()).collect::<Vec<_>>(), kind);
    assert!(is(&["issues"], "issues") && is(&["push", "issues"], "issues/opened") && is(&[], "anything"));
    assert!(is(&["issues/opened"], "issues/opened"));
    assert!(!is(&["issues"], "issues_other") && !is(&["issues/opened"], "issues") && !is(&["issues"], ""));
}

#[test]
fn a_condition_holds_for_the_value_of_a_parameter_or_without_one() {
    let equals = condition(pointer("/channel"), Comparison::Equals, parameter("/channel"), "");
    let data = json!({ "channel": "C1", "number": 7 });
    for (parameters, expected) in [
        (json!({ "channel": "C1" }), true),
        (json!({ "channel": "C" }), false),
        (json!({ "channel": ["C2", "C1"] }), true),
        (json!({ "channel": ["C2"] }), false),
        (json!({ "channel": [] }), true),
        (json!({ "channel": null }), true),
        (json!({}), true),
    ] {
        assert_eq!(holds(&equals, &data, &parameters, &Value::Null), expected, "{parameters}");
    }
    assert!(!holds(&equals, &json!({}), &json!({ "channel": "C1" }), &Value::Null));
    assert!(!holds(&equals, &json!({ "channel": { "id": "C1" } }), &json!({ "channel": "C1" }), &Value::Null));
    let number = condition(pointer("/number"), Comparison::Equals, parameter("/n"), "");
    assert!(holds(&number, &data, &json!({ "n": 7 }), &Value::Null));
    assert!(holds(&number, &data, &json!({ "n": "7" }), &Value::Null));
}

#[test]
fn a_condition_on_an_account_fails_without_its_value() {
    let mention =
        condition(pointer("/text"), Comparison::Contains, ConditionValue::Account("/user_id".to_owned()), "<@{}>");
    let data = json!({ "text": "hello <@U1>!" });
    assert!(holds(&mention, &data, &json!({}), &json!({ "user_id": "U1" })));
    for account in [json!({ "user_id": "U2" }), json!({ "user_id": "" }), json!({}), Value::Null] {
        assert!(!holds(&mention, &data, &json!({}), &account), "{account}");
    }
}

#[test]
fn each_comparison_is_of_texts_and_contains_is_also_of_lists() {
    let literal =
        |comparison, text: &str| condition(pointer("/value"), comparison, ConditionValue::Literal(text.to_owned()), "");
    let holds =
        |condition: Condition, value: Value| holds(&condition, &json!({ "value": value }), &json!({}), &Value::Null);
    assert!(holds(literal(Comparison::StartsWith, "refs/"), json!("refs/heads/main")));
    assert!(!holds(literal(Comparison::StartsWith, "heads"), json!("refs/heads/main")));
    assert!(holds(literal(Comparison::Contains, "heads"), json!("refs/heads/main")));
    assert!(holds(literal(Comparison::Contains, "INBOX"), json!(["UNREAD", "INBOX"])));
    assert!(!holds(literal(Comparison::Contains, "INBO"), json!(["UNREAD", "INBOX"])));
    assert!(!holds(literal(Comparison::Equals, "INBOX"), json!(["INBOX"])));
    assert!(holds(literal(Comparison::Equals, "true"), json!(true)));
    assert!(!holds(literal(Comparison::Equals, ""), json!("")));
}

#[test]
fn a_notification_has_headers_and_all_conditions_must_hold() {
    let inbox = inbox(Check::Hmac(signed_body()));
    let request = signed(r#"{"id": 1, "repository": "r"}"#).header("x-event", "push").query("a=b");
    let read = crate::items(&inbox, &request.notification(), &verified(&inbox, &request));
    let literal =
        |place: Place, text: &str| condition(place, Comparison::Equals, ConditionValue::Literal(text.to_owned()), "");
    let hold = |conditions: Vec<Condition>| {
        let trigger = trigger(conditions);
        conditions_hold(&trigger, Subject::Item(&read.items[0]), &json!({}), &Value::Null)
    };
    let (event, query) = (literal(header("x-event"), "push"), literal(Place::Query("a".to_owned()), "b"));
    let (right, wrong) = (literal(pointer("/repository"), "r"), literal(pointer("/repository"), "s"));
    assert!(hold(vec![event.clone(), query, right]));
    assert!(!hold(vec![event.clone(), wrong]));
    assert!(hold(Vec::new()));
    let trigger = trigger(vec![event]);
    assert!(!conditions_hold(&trigger, Subject::Json(read.items[0].text()), &json!({}), &Value::Null));
}
