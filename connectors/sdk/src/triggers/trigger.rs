//! The types of events.

use super::Place;
use crate::auth::additions::are_equal;
use crate::bindings::gateway::connector::trigger_types as wit;

/// How a condition compares: both are equal, the place contains the value, or it starts with the value.
pub use wit::Comparison;
/// The source of the data of an event.
pub use wit::TriggerSource;

/// A type of events. Most differ in a few fields from [`Trigger::CARRIED`] or [`Trigger::READ`].
#[derive(Clone, Copy, Debug)]
pub struct Trigger {
    /// The name in `{connector}.{name}`: 1 to 64 characters of `a-z`, `0-9` and `_`.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Documentation for callers, in CommonMark.
    pub description: &'static str,
    /// JSON Schema of the parameters, an object, as JSON text. It says `"additionalProperties": false`.
    pub parameters: &'static str,
    /// JSON Schema of the data of an event, as JSON text.
    pub payload: &'static str,
    /// The data of an event, as JSON text. At most 16 KiB.
    pub example: &'static str,
    /// The source of the data.
    pub source: TriggerSource,
    /// The kinds of notifications that are events of this type. `issues` also stands for
    /// `issues/opened`. Empty if the source is `Read` and every notification leads to a read.
    pub kinds: &'static [&'static str],
    /// Scopes that the grant must have in addition.
    pub scopes: &'static [&'static str],
    /// The inboxes that the service may notify, in the order of preference. Without one, the gateway
    /// reads at intervals.
    pub inboxes: &'static [&'static str],
    /// The top-level members of the parameters that one subscription covers. A source `Read` sees
    /// only these.
    pub key: &'static [&'static str],
    /// Notifications and events that do not fit the parameters or the account are not events of a
    /// trigger. At most 16.
    pub conditions: &'static [Condition],
    /// The row `internal subscribe fn`.
    pub subscribe: Option<&'static str>,
    /// The row `internal renew fn`. Without it, another subscription replaces one that ends.
    pub renew: Option<&'static str>,
    /// The row `internal unsubscribe fn`.
    pub unsubscribe: Option<&'static str>,
    /// The row `internal read fn`.
    pub read: Option<&'static str>,
    /// The row `internal recover fn`, which lets the service send again what it could not deliver.
    pub recover: Option<&'static str>,
    /// The row `internal identify fn`, which says what the account sees of the parameters. The inbox of
    /// an application is used only for accounts for which it answers what `accounts` of the inbox
    /// needs.
    pub identify: Option<&'static str>,
    /// A setting without which there is no `subscribe`.
    pub requires_setting: Option<&'static str>,
    /// The life of a subscription for which the service tells none. `None` if it does not end.
    pub lifetime_seconds: Option<u32>,
    /// Time between two reads without notifications: 60 to 86,400.
    pub poll_seconds: u32,
}

impl Trigger {
    /// Events whose data a notification has, for everyone and without parameters.
    pub const CARRIED: Self = Self {
        name: "",
        title: "",
        description: "",
        parameters: r#"{"type":"object","properties":{},"additionalProperties":false}"#,
        payload: r#"{"type":"object"}"#,
        example: "{}",
        source: TriggerSource::Carried,
        kinds: &[],
        scopes: &[],
        inboxes: &[],
        key: &[],
        conditions: &[],
        subscribe: None,
        renew: None,
        unsubscribe: None,
        read: None,
        recover: None,
        identify: None,
        requires_setting: None,
        lifetime_seconds: None,
        poll_seconds: 300,
    };

    /// Events that the function of `read` reads, every five minutes without notifications.
    pub const READ: Self = Self { source: TriggerSource::Read, ..Self::CARRIED };
}

/// Returns `true` if one of the triggers names an operation. `connector!` refuses other rows with
/// `internal` at compile time, because callers could invoke them.
#[doc(hidden)]
#[must_use]
pub const fn is_named(triggers: &[Trigger], operation: &str) -> bool {
    let mut index = 0;
    while index < triggers.len() {
        let Trigger { subscribe, renew, unsubscribe, read, recover, identify, .. } = triggers[index];
        let named = [subscribe, renew, unsubscribe, read, recover, identify];
        let mut role = 0;
        while role < named.len() {
            if let Some(name) = named[role]
                && are_equal(name.as_bytes(), operation.as_bytes())
            {
                return true;
            }
            role += 1;
        }
        index += 1;
    }
    false
}

/// A condition of a trigger.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    /// A value of the notification, or of an event that was read (`Pointer`, into its data).
    pub place: Place,
    /// How it is compared.
    pub comparison: Comparison,
    /// The value to compare with.
    pub value: ConditionValue,
    /// A text in which `{}` stands for the value, for example `<@{}>`. Empty for the value itself.
    pub pattern: &'static str,
}

impl Condition {
    /// The value at a place is the value of a parameter, if the trigger has it. Both are JSON
    /// Pointers.
    #[must_use]
    pub const fn equals_parameter(place: &'static str, parameter: &'static str) -> Self {
        Self {
            place: Place::Pointer(place),
            comparison: Comparison::Equals,
            value: ConditionValue::Parameter(parameter),
            pattern: "",
        }
    }
}

/// The value that a condition compares with.
#[derive(Clone, Copy, Debug)]
pub enum ConditionValue {
    /// JSON Pointer into the parameters. Without a value there, the condition holds.
    Parameter(&'static str),
    /// JSON Pointer into the answer of `identify`, or else of the operation that identifies accounts.
    Account(&'static str),
    /// This text.
    Literal(&'static str),
}
