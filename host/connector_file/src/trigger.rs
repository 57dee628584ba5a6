//! Types of events: `[triggers.NAME]`. The notifications of the service carry them, because nothing
//! in a file could read them.

use contract::trigger_types::{Comparison, Condition, ConditionValue, Trigger, TriggerSource};

use crate::field::documentation;
use crate::inbox::place;
use crate::node::{Mistakes, Node, TableEntry};
use crate::places::Places;
use crate::section::Section;

const NO_PARAMETERS: &str = r#"{"type":"object","properties":{},"additionalProperties":false}"#;

/// The time between two reads. It has no effect without one, and the contract asks for it.
const POLL_SECONDS: u32 = 300;

pub(crate) fn trigger(entry: TableEntry<'_>, places: &mut Places, mistakes: &mut Mistakes) -> Option<Trigger> {
    let mut section = Section::new("trigger", entry, places, mistakes)?;
    let trigger = Trigger {
        name: entry.name.to_owned(),
        title: section.text("title").unwrap_or_default(),
        description: section.text("description").map(|text| documentation(&text)).unwrap_or_default(),
        parameters: section.json("parameters", NO_PARAMETERS),
        payload: section.json("payload", r#"{"type":"object"}"#),
        example: section.json("example", "{}"),
        source: TriggerSource::Carried,
        kinds: section.texts("kinds"),
        scopes: section.texts("scopes"),
        inboxes: section.texts("inboxes"),
        key: Vec::new(),
        conditions: section.items("conditions", condition),
        subscribe: None,
        renew: None,
        unsubscribe: None,
        read: None,
        recover: None,
        identify: None,
        requires_setting: None,
        lifetime_seconds: None,
        poll_seconds: POLL_SECONDS,
    };
    section.end();
    Some(trigger)
}

fn condition(node: Node<'_>, mistakes: &mut Mistakes) -> Option<Condition> {
    const FORM: &str =
        "a condition such as `{ place = { pointer = \"/channel\" }, value = { parameter = \"/channel\" } }`";
    const COMPARISONS: [(&str, Comparison); 3] =
        [("equals", Comparison::Equals), ("contains", Comparison::Contains), ("starts_with", Comparison::StartsWith)];
    let mut table = node.table(FORM, mistakes)?;
    let of_value = table.take("place").and_then(|entry| place(entry.node, mistakes));
    let comparison = table.word("comparison", &COMPARISONS, mistakes).unwrap_or(Comparison::Equals);
    let value = table.take("value").and_then(|entry| value(entry.node, mistakes));
    let pattern = table.text("pattern", mistakes).unwrap_or_default();
    table.end("key", mistakes);
    match of_value.zip(value) {
        Some((place, value)) => Some(Condition { place, comparison, value, pattern }),
        None => node.expected(FORM, mistakes),
    }
}

fn value(node: Node<'_>, mistakes: &mut Mistakes) -> Option<ConditionValue> {
    const FORM: &str = "`{ parameter = \"/…\" }`, `{ account = \"/…\" }` or `{ literal = \"…\" }`";
    let (name, value) = node.case(FORM, mistakes)?;
    let text = value.text(FORM, mistakes)?.to_owned();
    match name {
        "parameter" => Some(ConditionValue::Parameter(text)),
        "account" => Some(ConditionValue::Account(text)),
        "literal" => Some(ConditionValue::Literal(text)),
        _ => node.expected(FORM, mistakes),
    }
}
