//! The inputs and results of the functions that a trigger names.

use std::fmt::Write;

use super::Value;
use crate::Fault;
use crate::input::{Fields, Input};
use crate::json::quoted;

/// The input of `internal subscribe fn`, a function `fn(Subscribe) -> Result<Subscription, Fault>`.
///
/// In the bodies of its requests, the gateway puts the address in place of `{{hook.url}}` and
/// `{{hook.lifecycle-url}}`, and the secret in place of `{{hook.secret}}`. The function sees neither.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscribe {
    /// The members of the trigger's parameters that its `key` names.
    pub parameters: Value,
    /// The kinds of notifications that the triggers of the subscription need.
    pub kinds: Vec<String>,
}

/// The input of `internal renew fn`, a function `fn(Renew) -> Result<Subscription, Fault>`. A fault with
/// the status 404 means that the subscription is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renew {
    /// The service's id of the subscription.
    pub upstream_id: String,
    /// The state that the last function returned.
    pub state: Option<Value>,
    /// See [`Subscribe::parameters`].
    pub parameters: Value,
    /// See [`Subscribe::kinds`].
    pub kinds: Vec<String>,
}

/// The input of `internal unsubscribe fn`, a function `fn(Unsubscribe) -> Result<(), Fault>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsubscribe {
    /// The service's id of the subscription.
    pub upstream_id: String,
    /// The state that the last function returned.
    pub state: Option<Value>,
    /// See [`Subscribe::parameters`].
    pub parameters: Value,
}

/// The input of `internal recover fn`, a function `fn(Recover) -> Result<(), Fault>`.
pub type Recover = Unsubscribe;

/// The input of `internal identify fn`, a function `fn(Identify) -> Result<Value, Fault>`. It answers a
/// JSON object: the account as the service shows it for the parameters of a trigger. Without the values
/// that [`Inbox::accounts`](super::Inbox::accounts) points to, the account does not get the
/// notifications of this inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identify {
    /// The members of the trigger's parameters that its `key` names.
    pub parameters: Value,
}

/// The input of `internal read fn`, a function `fn(Read) -> Result<Events, Fault>`.
///
/// ```
/// # use connector_sdk::testing::{Answer, Gateway, invoke};
/// # mod notes {
/// # use connector_sdk::triggers::{Event, Events, Read, Value};
/// # use connector_sdk::{Fault, Request, http};
/// connector_sdk::connector! {
///     connector notes "Notes";
///     auth Auth::None;
///     upstream api "https://api.notes.example";
///
///     triggers &[Trigger {
///         name: "note_created",
///         title: "Note created",
///         example: r#"{"id": 7, "text": "Milk"}"#,
///         read: Some("note_created_read"),
///         ..Trigger::READ
///     }];
///     note_created_read: internal read fn changes;
///
///     /// A note.
///     note: GET api "/notes/{id}" example { id: "7" };
/// }
///
/// fn changes(input: Read) -> Result<Events, Fault> {
///     // Without a cursor, the function answers the one that stands for now.
///     let Some(since) = input.cursor else {
///         let newest = http::send(Request::get("api", "/notes?limit=1"))?.document()?;
///         let id = newest.string("/0/id").unwrap_or_default();
///         return Ok(Events::none(Value::of(&id)?));
///     };
///     let since: String = since.whole()?;
///     let path = format!("/notes?since={since}&limit={}", input.limit);
///     let notes = http::send(Request::get("api", path))?.document()?;
///     let mut last = since;
///     let mut events = Vec::new();
///     for note in notes.items() {
///         last = note.string("/id").unwrap_or_default();
///         events.push(Event { time: note.string("/created"), ..Event::new(last.clone(), Value::from(&note)) });
///     }
///     Ok(Events { events, ..Events::none(Value::of(&last)?) })
/// }
/// # }
/// # let gateway = Gateway::new()
/// #     .answer(Answer::json(200, r#"[{"id": "6"}]"#))
/// #     .answer(Answer::json(200, r#"[{"id": "7", "created": "2026-11-27T12:00:00Z"}]"#));
/// # let read = |input| match invoke(&notes::CONNECTOR, "note_created_read", input) {
/// #     Ok(connector_sdk::Outcome::Reply(answer)) => answer,
/// #     other => panic!("{other:?}"),
/// # };
/// # let first = read(r#"{"parameters": {}, "cursor": null, "hint": null, "limit": 50}"#);
/// # assert_eq!(first, r#"{"events":[],"cursor":"6","more":false,"gap":false}"#);
/// # let event = r#"{"id":"7","kind":"","time":"2026-11-27T12:00:00Z","data":{"id": "7", "created": "2026-11-27T12:00:00Z"}}"#;
/// # let second = read(r#"{"parameters": {}, "cursor": "6", "limit": 50}"#);
/// # assert_eq!(second, format!(r#"{{"events":[{event}],"cursor":"7","more":false,"gap":false}}"#));
/// # assert_eq!(gateway.requests()[1].path, "/notes?since=6&limit=50");
/// # connector_sdk::testing::check(&notes::CONNECTOR);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The members of the trigger's parameters that its `key` names.
    pub parameters: Value,
    /// The cursor that the last read returned, or the one of the subscription. `None` for the first
    /// read, which answers no events and the cursor that stands for now.
    pub cursor: Option<Value>,
    /// `None` in this version of the contract.
    pub hint: Option<Value>,
    /// The largest number of events in the answer.
    pub limit: u32,
}

/// A subscription at the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// The service's id of it.
    pub upstream_id: String,
    /// The time at which it ends, in RFC 3339. `None` if the service tells none.
    pub expires_at: Option<String>,
    /// The cursor at which the first read continues. `None` if the first read asks for it.
    pub cursor: Option<Value>,
    /// The state that the other functions need, at most 8 KiB. The gateway keeps it encrypted.
    pub state: Option<Value>,
}

impl Subscription {
    /// A subscription without an end, a cursor and a state.
    #[must_use]
    pub fn new(upstream_id: impl Into<String>) -> Self {
        Self { upstream_id: upstream_id.into(), expires_at: None, cursor: None, state: None }
    }
}

/// Events that were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Events {
    /// The events, the oldest first.
    pub events: Vec<Event>,
    /// The cursor after the last of them, at most 8 KiB.
    pub cursor: Value,
    /// `true` if there are more after the cursor.
    pub more: bool,
    /// `true` if events since the given cursor cannot be read any more.
    pub gap: bool,
}

impl Events {
    /// No events up to this cursor.
    #[must_use]
    pub fn none(cursor: Value) -> Self {
        Self { events: Vec::new(), cursor, more: false, gap: false }
    }

    /// The events since the given cursor cannot be read any more. Reading continues at this cursor.
    #[must_use]
    pub fn gap(cursor: Value) -> Self {
        Self { gap: true, ..Self::none(cursor) }
    }
}

/// An event that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The service's id of what happened. It is the same in each read.
    pub id: String,
    /// The kind, as an inbox tells it. Empty if the trigger names no kinds.
    pub kind: String,
    /// The time at which it happened, in RFC 3339. `None` for the time at which it was read.
    pub time: Option<String>,
    /// The data of the event.
    pub data: Value,
}

impl Event {
    /// An event without a kind and a time.
    #[must_use]
    pub fn new(id: impl Into<String>, data: Value) -> Self {
        Self { id: id.into(), kind: String::new(), time: None, data }
    }
}

impl Input for Subscribe {
    fn read(fields: &Fields<'_>) -> Result<Self, Fault> {
        Ok(Self { parameters: fields.required("parameters")?, kinds: fields.required("kinds")? })
    }
}

impl Input for Renew {
    fn read(fields: &Fields<'_>) -> Result<Self, Fault> {
        let Unsubscribe { upstream_id, state, parameters } = Unsubscribe::read(fields)?;
        Ok(Self { upstream_id, state, parameters, kinds: fields.required("kinds")? })
    }
}

impl Input for Unsubscribe {
    fn read(fields: &Fields<'_>) -> Result<Self, Fault> {
        Ok(Self {
            upstream_id: fields.required("upstream_id")?,
            state: fields.optional("state")?,
            parameters: fields.required("parameters")?,
        })
    }
}

impl Input for Identify {
    fn read(fields: &Fields<'_>) -> Result<Self, Fault> {
        Ok(Self { parameters: fields.required("parameters")? })
    }
}

impl Input for Read {
    fn read(fields: &Fields<'_>) -> Result<Self, Fault> {
        let limit: i64 = fields.required("limit")?;
        Ok(Self {
            parameters: fields.required("parameters")?,
            cursor: fields.optional("cursor")?,
            hint: fields.optional("hint")?,
            limit: u32::try_from(limit).unwrap_or(u32::MAX),
        })
    }
}

/// A result of a function that a trigger names.
pub trait Answered {
    /// The JSON text of the contract.
    fn json(self) -> String;
}

impl Answered for () {
    fn json(self) -> String {
        "{}".to_owned()
    }
}

impl Answered for Value {
    fn json(self) -> String {
        self.0
    }
}

impl Answered for Subscription {
    fn json(self) -> String {
        let Self { upstream_id, expires_at, cursor, state } = self;
        let mut json = format!(r#"{{"upstream_id":{}"#, quoted(&upstream_id));
        let texts =
            [("expires_at", expires_at.as_deref().map(quoted)), ("cursor", text(cursor)), ("state", text(state))];
        for (name, text) in texts {
            if let Some(text) = text {
                let _ = write!(json, r#","{name}":{text}"#);
            }
        }
        json.push('}');
        json
    }
}

impl Answered for Events {
    fn json(self) -> String {
        let Self { events, cursor, more, gap } = self;
        let events: Vec<String> = events.into_iter().map(event).collect();
        format!(r#"{{"events":[{}],"cursor":{},"more":{more},"gap":{gap}}}"#, events.join(","), cursor.0)
    }
}

fn event(event: Event) -> String {
    let Event { id, kind, time, data } = event;
    let time = time.as_deref().map_or_else(|| "null".to_owned(), quoted);
    format!(r#"{{"id":{},"kind":{},"time":{time},"data":{}}}"#, quoted(&id), quoted(&kind), data.0)
}

fn text(value: Option<Value>) -> Option<String> {
    value.map(|value| value.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscription_has_only_the_members_that_are_known() {
        assert_eq!(Subscription::new("7").json(), r#"{"upstream_id":"7"}"#);
        let known = Subscription {
            expires_at: Some("2026-12-04T00:00:00Z".to_owned()),
            cursor: Some(Value("{\"at\":1}".to_owned())),
            state: Some(Value("null".to_owned())),
            ..Subscription::new("a\"b")
        };
        let text = r#"{"upstream_id":"a\"b","expires_at":"2026-12-04T00:00:00Z","cursor":{"at":1},"state":null}"#;
        assert_eq!(known.json(), text);
    }

    #[test]
    fn events_have_the_members_of_the_contract() {
        let first = Event { kind: "opened".to_owned(), ..Event::new("1", Value("{}".to_owned())) };
        let events = Events { events: vec![first], more: true, ..Events::none(Value("2".to_owned())) };
        assert_eq!(
            events.json(),
            r#"{"events":[{"id":"1","kind":"opened","time":null,"data":{}}],"cursor":2,"more":true,"gap":false}"#
        );
        assert_eq!(Events::gap(Value("3".to_owned())).json(), r#"{"events":[],"cursor":3,"more":false,"gap":true}"#);
    }

    #[test]
    fn a_renewal_has_the_state_and_the_kinds() {
        let input = r#"{"upstream_id":"7","state":{"a":1},"parameters":{"repo":"x"},"kinds":["issues"]}"#;
        let renew = Fields::parse(input).and_then(|fields| Renew::read(&fields)).expect("an input");
        assert_eq!(renew.state, Some(Value(r#"{"a":1}"#.to_owned())));
        assert_eq!((renew.upstream_id.as_str(), renew.kinds), ("7", vec!["issues".to_owned()]));
    }
}
