//! A request of the connector that was refused because of a value of the caller.
//!
//! The connector puts values of the caller into paths. If one of them makes the path wrong, the
//! caller can send another one, and the connector has nothing to mend. It does not matter whether
//! the operation is thin or composed, and with which SDK the connector was made.

use contract_rules::path::{has_control_character, has_dot_segment};
use egress::EgressError;
use serde_json::Value;
use tokio::time::Instant;

use super::{Error, run_computation};
use schema::Violation;

/// The violations for a value that a path cannot have.
const CONTROL_CHARACTER: &str = "Give a value without control characters, in any encoding: it is a part of a path.";
const DOT_SEGMENT: &str =
    "Give a value that does not contain `.` or `..` as a segment, in any encoding: it is a part of a path.";

/// A larger input is not searched.
const MAX_INPUT: usize = 1 << 20;

/// The violation of the caller, if the error is a refused path and a value of the input makes it
/// wrong. Else the error.
pub(super) async fn caller_for(error: Error, input: &str, deadline: Instant) -> Error {
    if !matches!(error, Error::Egress(EgressError::BadPath { .. })) || input.len() > MAX_INPUT {
        return error;
    }
    let violation = run_computation(input.len(), deadline, || {
        let input: Value = serde_json::from_str(input).ok()?;
        violation_in(&input, &mut String::new())
    });
    match violation.await {
        Ok(Some(violation)) => Error::Invalid(vec![violation]),
        _ => error,
    }
}

/// The first text in a value that no path can have. `pointer` leads to the value (RFC 6901).
fn violation_in(value: &Value, pointer: &mut String) -> Option<Violation> {
    let length = pointer.len();
    let found = match value {
        Value::String(text) => {
            let detail = if has_control_character(text) {
                CONTROL_CHARACTER
            } else if has_dot_segment(text) {
                DOT_SEGMENT
            } else {
                return None;
            };
            return Some(Violation { pointer: pointer.clone(), detail: detail.to_owned() });
        }
        Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
            pointer.truncate(length);
            pointer.push_str(&format!("/{index}"));
            violation_in(item, pointer)
        }),
        Value::Object(members) => members.iter().find_map(|(name, member)| {
            pointer.truncate(length);
            pointer.push_str(&format!("/{}", name.replace('~', "~0").replace('/', "~1")));
            violation_in(member, pointer)
        }),
        _ => None,
    };
    pointer.truncate(length);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused() -> Error {
        Error::Egress(EgressError::BadPath { detail: "a path has no such character".to_owned() })
    }

    async fn blamed(error: Error, input: &Value) -> Option<String> {
        let deadline = Instant::now() + std::time::Duration::from_secs(60);
        match caller_for(error, &input.to_string(), deadline).await {
            Error::Invalid(violations) => Some(violations[0].pointer.clone()),
            _ => None,
        }
    }

    #[tokio::test]
    async fn the_value_that_makes_a_path_wrong_is_named() {
        for (input, pointer) in [
            (json!({"a": "x", "b": "y\u{0}"}), "/b"),
            (json!({"a/b~": ["x", {"c": "%250a"}]}), "/a~1b~0/1/c"),
            (json!({"a": {"b": "../x"}, "c": 1}), "/a/b"),
        ] {
            assert_eq!(blamed(refused(), &input).await.as_deref(), Some(pointer), "{input}");
        }
    }

    #[tokio::test]
    async fn without_such_a_value_the_connector_made_the_mistake() {
        assert_eq!(blamed(refused(), &json!({"a": "a.b", "c": [true, null]})).await, None);
        assert_eq!(blamed(Error::Egress(EgressError::TimedOut), &json!({"a": "\u{1}"})).await, None);
    }
}
