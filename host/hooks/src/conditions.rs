//! Which notifications and events belong to a trigger.

use contract::Trigger;
use contract::trigger_types::{Comparison, Condition, ConditionValue, Place};
use serde_json::Value;

use crate::document::scalar;
use crate::items::Item;

/// The text in a pattern that stands for the value.
const VALUE: &str = "{}";

/// The source of the values that conditions compare.
#[derive(Clone, Copy)]
pub enum Subject<'a> {
    /// A notification.
    Item(&'a Item),
    /// The data of an event that was read, or a whole notification that was kept, as JSON text. It
    /// has no headers.
    Json(&'a str),
}

/// Returns `true` if a kind is one of these, or is below one of them: `issues` also stands for
/// `issues/opened`. Each kind is one of an empty list.
pub fn kind_is(kinds: &[String], kind: &str) -> bool {
    let is =
        |name: &String| kind.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    kinds.is_empty() || kinds.iter().any(is)
}

/// Returns `true` if all conditions of a type of events hold for a subject with the parameters of a
/// trigger and the answer of the operation that identifies the account. `account` is null if the
/// connector has no accounts.
pub fn conditions_hold(trigger: &Trigger, subject: Subject<'_>, parameters: &Value, account: &Value) -> bool {
    trigger.conditions.iter().all(|condition| holds(condition, subject, parameters, account))
}

/// The value at the place of a condition.
enum Given {
    /// A text, a number or a boolean, as text.
    One(String),
    /// The texts, numbers and booleans of a list.
    List(Vec<String>),
}

fn holds(condition: &Condition, subject: Subject<'_>, parameters: &Value, account: &Value) -> bool {
    let wanted = match &condition.value {
        ConditionValue::Literal(text) => vec![text.clone()],
        ConditionValue::Parameter(pointer) => {
            let wanted = texts(parameters.pointer(pointer));
            // The caller does not ask for it.
            if wanted.is_empty() {
                return true;
            }
            wanted
        }
        // An account without the value gets nothing: it was not proven to see the event.
        ConditionValue::Account(pointer) => texts(account.pointer(pointer)),
    };
    let Some(given) = given(subject, &condition.place) else { return false };
    let pattern = |value: String| match condition.pattern.as_str() {
        "" => value,
        pattern => pattern.replace(VALUE, &value),
    };
    wanted.into_iter().map(pattern).any(|wanted| compare(condition.comparison, &given, &wanted))
}

fn given(subject: Subject<'_>, place: &Place) -> Option<Given> {
    let json = match (subject, place) {
        (Subject::Item(item), Place::Pointer(_)) => item.text(),
        (Subject::Json(json), _) => json,
        (Subject::Item(item), place) => return item.value(place).map(Given::One),
    };
    let Place::Pointer(pointer) = place else { return None };
    let value = json_text::at(json, pointer)?;
    match json_text::elements(value.get()) {
        Ok(elements) => Some(Given::List(elements.into_iter().filter_map(scalar).collect())),
        Err(_) => scalar(value).map(Given::One),
    }
}

/// Compares the value at a place with a wanted one. Of a list, `contains` compares each item.
fn compare(comparison: Comparison, given: &Given, wanted: &str) -> bool {
    match (comparison, given) {
        (Comparison::Equals, Given::One(text)) => text == wanted,
        (Comparison::Contains, Given::One(text)) => text.contains(wanted),
        (Comparison::StartsWith, Given::One(text)) => text.starts_with(wanted),
        (Comparison::Contains, Given::List(items)) => items.iter().any(|item| item == wanted),
        (Comparison::Equals | Comparison::StartsWith, Given::List(_)) => false,
    }
}

/// The texts that one value of the parameters or of an account stands for. Of a list, each item
/// may be the one.
fn texts(value: Option<&Value>) -> Vec<String> {
    let one = |value: &Value| match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    };
    match value {
        Some(Value::Array(items)) => items.iter().filter_map(one).collect(),
        value => value.and_then(one).into_iter().collect(),
    }
}
