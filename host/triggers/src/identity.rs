//! The account of a subscription, as the service itself names it. Notifications at an inbox of an
//! application are routed by it, and conditions compare with it. A type of events may name an
//! operation that answers the account for the parameters of a trigger.

use serde_json::{Value, json};

use super::Triggers;
use super::call::{Failed, RunOf};
use super::types::TypeOf;
use contract::trigger_types::{ConditionValue, Inbox, InboxScope, Trigger};
use hooks::account_keys;
use store::Route;

/// Returns `true` if a subscription to an inbox needs the account. Types that share the inbox share
/// the subscription.
pub(super) fn needs_account(kind: &TypeOf, inbox: Option<&Inbox>) -> bool {
    let compares = |declared: &Trigger| {
        declared.conditions.iter().any(|condition| matches!(condition.value, ConditionValue::Account(_)))
    };
    match inbox {
        None => compares(kind.declared()),
        Some(inbox) if inbox.scope == InboxScope::Application => true,
        Some(inbox) => {
            let shares = |declared: &&Trigger| declared.inboxes.contains(&inbox.name);
            kind.connector.additions().triggers.iter().filter(shares).any(compares)
        }
    }
}

/// The route of an account to an inbox of an application. `None` for another inbox, or if the
/// account lacks a value.
pub(super) fn route_of(inbox: &Inbox, account: &Value) -> Option<Route> {
    let values: Option<Vec<String>> =
        account_keys(inbox).into_iter().map(|(pointer, _)| value(account, pointer)).collect();
    values.filter(|values| !values.is_empty()).map(|values| Route::of(&values))
}

/// Returns `true` if an account has all the values that a notification names. One that names none
/// is for no account.
pub(super) fn is_named(inbox: &Inbox, named: &[Option<String>], account: &Value) -> bool {
    let has = |(pointer, named): (&str, &Option<String>)| match (named, value(account, pointer)) {
        (None, _) => true,
        (Some(named), Some(value)) => named.to_lowercase() == value.to_lowercase(),
        (Some(_), None) => false,
    };
    let keys = account_keys(inbox);
    named.len() == keys.len()
        && named.iter().any(Option::is_some)
        && keys.iter().map(|(pointer, _)| *pointer).zip(named).all(has)
}

/// A value of an account, as text.
fn value(account: &Value, pointer: &str) -> Option<String> {
    match account.pointer(pointer)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

impl Triggers {
    /// The account for these parameters, as the operation of the type answers, or else as the
    /// operation that identifies accounts or checks keys. Null if the connector has none.
    ///
    /// # Errors
    /// See [`Failed`].
    pub(super) async fn identify(
        &self,
        run: &RunOf<'_>,
        operation: Option<&str>,
        parameters: &Value,
    ) -> Result<Value, Failed> {
        if let Some(operation) = operation {
            return self.call(run, operation, &json!({ "parameters": parameters }), None).await;
        }
        match run.connector.manifest().auth.account_operation() {
            Some(operation) => self.call(run, operation, &json!({}), None).await,
            None => Ok(Value::Null),
        }
    }
}
