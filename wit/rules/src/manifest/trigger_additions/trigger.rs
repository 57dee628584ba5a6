//! One type of events.

use std::collections::HashSet;

use serde_json::Value;

use super::super::shorten;
use super::super::violations::Violations;
use super::{About, given, leads, maybe_empty, of_account, place, setting, texts};
use crate::limit::{CONDITIONS, EVENT_EXAMPLE_BYTES, INBOXES, POLL_SECONDS, TEXT_BYTES, TITLE_BYTES, TRIGGER_ITEMS};
use crate::text::{line, lines};
use crate::trigger::{Condition, ConditionValue, Inbox, InboxScope, Place, Trigger, TriggerSource};
use crate::{Broken, ensure, pointer, schema, text};

/// Stands for the value in the pattern of a condition.
const VALUE: &str = "{}";

/// The shortest time between two reads, and the shortest life of a subscription.
const SHORTEST_SECONDS: u32 = 60;

pub(super) fn check(about: &About<'_>, inboxes: &[Inbox], trigger: &Trigger, found: &mut Violations) {
    let Trigger {
        name,
        title,
        description,
        parameters,
        payload,
        example,
        source: _,
        kinds,
        scopes,
        inboxes: named,
        key,
        conditions,
        subscribe,
        renew: _,
        unsubscribe: _,
        read: _,
        recover: _,
        identify: _,
        requires_setting,
        lifetime_seconds,
        poll_seconds,
    } = trigger;
    let part = |what: &str| format!("trigger `{}`, {what}", shorten(name));
    let title_size = ensure((1..=TITLE_BYTES).contains(&title.len()), "the title has 1 to 256 bytes");
    found.add(part("title"), title_size.and_then(|()| line(title)));
    let size = ensure(description.len() <= TEXT_BYTES, "the text is larger than 64 KiB");
    found.add(part("description"), size.and_then(|()| lines(description)));
    found.add(part("parameters"), text::schema(parameters));
    let input = match schema::input(parameters) {
        Ok(input) => input,
        Err(broken) => {
            found.add(part("parameters"), Err(broken));
            Value::Bool(true)
        }
    };
    found.add(part("payload"), text::schema(payload).and_then(|()| check_payload(payload)));
    found.add(part("example"), check_example(example));
    texts(&part("kinds"), kinds, found);
    texts(&part("scopes"), scopes, found);
    let has_scopes = about.has_oauth2 || scopes.is_empty();
    found.add(part("scopes"), ensure(has_scopes, "scopes need the auth scheme `oauth2`"));
    let mut seen = HashSet::new();
    found.add(part("inboxes"), ensure(named.len() <= INBOXES, "at most 4"));
    for inbox in named.iter().take(INBOXES) {
        let of_inbox = || part(&format!("inbox `{}`", shorten(inbox)));
        found.add(of_inbox(), ensure(seen.insert(inbox), "it is there twice"));
        match inboxes.iter().find(|known| known.name == *inbox) {
            None => found.add(of_inbox(), Err("there is no inbox of this name".into())),
            Some(inbox) => {
                let is_told = inbox.scope == InboxScope::Application || subscribe.is_some();
                let rule =
                    "the inbox is of a subscription, so an operation `subscribe` tells its address to the service";
                found.add(of_inbox(), ensure(is_told, rule));
            }
        }
    }
    check_source(trigger, &part, found);
    found.add(part("key"), ensure(key.len() <= TRIGGER_ITEMS, "at most 64"));
    let mut seen = HashSet::new();
    for member in key.iter().take(TRIGGER_ITEMS) {
        let of_member = || part(&format!("key `{}`", shorten(member)));
        found.add(of_member(), ensure(seen.insert(member), "it is there twice"));
        found.add(of_member(), named_by(&input, &pointer::of(member)));
    }
    found.add(part("conditions"), ensure(conditions.len() <= CONDITIONS, "at most 16 conditions"));
    for condition in conditions.iter().take(CONDITIONS) {
        found.add(part("condition"), check_condition(about, trigger, &input, condition));
    }
    if let Some(name) = requires_setting {
        found.add(part("requires-setting"), setting(about, name));
        found.add(part("requires-setting"), ensure(subscribe.is_some(), "it is for a trigger with `subscribe`"));
    }
    let long = ensure(lifetime_seconds.is_none_or(|life| life >= SHORTEST_SECONDS), "at least 60 seconds");
    found.add(part("lifetime-seconds"), long);
    let interval = (SHORTEST_SECONDS..=POLL_SECONDS).contains(poll_seconds);
    found.add(part("poll-seconds"), ensure(interval, "the time between two reads is 60 to 86400 seconds"));
}

/// The parts that belong to the source.
fn check_source(trigger: &Trigger, part: &impl Fn(&str) -> String, found: &mut Violations) {
    let has_inbox = !trigger.inboxes.is_empty();
    match trigger.source {
        TriggerSource::Carried => {
            found.add(part("inboxes"), ensure(has_inbox, "a trigger with the source `carried` has an inbox"));
            let has_kinds = ensure(!trigger.kinds.is_empty(), "a trigger with the source `carried` has kinds");
            found.add(part("kinds"), has_kinds);
        }
        TriggerSource::Read => {
            let reads =
                ensure(trigger.read.is_some(), "a trigger with the source `read` names an operation that reads");
            found.add(part("read"), reads);
        }
    }
    let subscribes = trigger.subscribe.is_some();
    found.add(part("subscribe"), ensure(has_inbox || !subscribes, "a trigger with `subscribe` has an inbox"));
    for (what, operation) in
        [("renew", &trigger.renew), ("unsubscribe", &trigger.unsubscribe), ("recover", &trigger.recover)]
    {
        let fits = ensure(subscribes || operation.is_none(), "it is for a trigger with `subscribe`");
        found.add(part(what), fits);
    }
    // Without an inbox, only conditions could need it, and these have the parameters.
    found.add(part("identify"), ensure(has_inbox || trigger.identify.is_none(), "it is for a trigger with an inbox"));
}

fn check_payload(payload: &str) -> Result<(), Broken> {
    schema::size(payload)?;
    let schema: Value =
        serde_json::from_str(payload).map_err(|error| Broken::from(format!("the schema is not JSON: {error}")))?;
    ensure(schema.is_object(), "the schema is a JSON object")
}

fn check_example(example: &str) -> Result<(), Broken> {
    ensure(example.len() <= EVENT_EXAMPLE_BYTES, "the example of an event has at most 16 KiB")?;
    lines(example)?;
    let parsed = serde_json::from_str::<Value>(example);
    parsed.map(drop).map_err(|error| format!("the example is not JSON: {error}").into())
}

fn named_by(parameters: &Value, to: &str) -> Result<(), Broken> {
    leads(to)?;
    ensure(!to.is_empty(), "the pointer leads to a member of the parameters")?;
    ensure(schema::names(parameters, to), "the schema of the parameters has no such member")
}

fn check_condition(
    about: &About<'_>,
    trigger: &Trigger,
    parameters: &Value,
    condition: &Condition,
) -> Result<(), Broken> {
    let Condition { place: of_value, comparison: _, value, pattern } = condition;
    ensure(*of_value != Place::BodyHash, "the hash of the body is for ids only")?;
    place(of_value)?;
    let is_told = !trigger.inboxes.is_empty() || matches!(of_value, Place::Pointer(_));
    ensure(is_told, "without an inbox, a condition is about the data of an event, at a JSON Pointer")?;
    match value {
        ConditionValue::Parameter(to) => named_by(parameters, to)?,
        ConditionValue::Account(to) => of_account(about, to)?,
        ConditionValue::Literal(text) => given(text)?,
    }
    maybe_empty(pattern)?;
    ensure(pattern.is_empty() || pattern.matches(VALUE).count() == 1, "a pattern is empty, or has `{}` once")
}
