//! Problems of a body or a query that is not valid.

use serde_json::{Value, json};

use super::{CONNECTOR_FAILED, NOT_JSON, Problem, VALIDATION};
use crate::schema::{InputError, MORE_VIOLATIONS, Violation};
use contract::words::sentence;
use contract_rules::pointer;

/// The problem of a body that its schema does not accept.
pub fn input_problem(error: InputError) -> Problem {
    match error {
        InputError::NotJson(detail) => NOT_JSON.with_detail(sentence(&detail)),
        InputError::Invalid(violations) => violations_problem(violations),
        InputError::TooCostly(_) => schema_too_costly(),
    }
}

/// The problem of a body that takes its schema too many steps.
pub(super) fn schema_too_costly() -> Problem {
    CONNECTOR_FAILED
        .with_detail(
            "The connector's schema for this operation takes too long to validate this body; send a smaller body.",
        )
        .with("limit", "schema")
}

/// The problem of a request with these violations.
pub(super) fn violations_problem(violations: Vec<Violation>) -> Problem {
    let (count, has_more) = match violations.split_last() {
        Some((last, listed)) if last.detail == MORE_VIOLATIONS => (listed.len(), true),
        _ => (violations.len(), false),
    };
    let errors: Vec<Value> = violations
        .into_iter()
        .map(|violation| json!({"pointer": violation.pointer, "detail": violation.detail}))
        .collect();
    VALIDATION
        .with_detail(match (count, has_more) {
            (count, true) => format!("The request has more violations than the {count} that `errors` names."),
            (1, false) => "The request has 1 violation; `errors` names it.".to_owned(),
            (count, false) => format!("The request has {count} violations; `errors` names each."),
        })
        .with("errors", errors)
}

/// Reads the query of a URL, and names everything that is wrong with it. `set` takes the name and
/// the value of each parameter, or says what the value must be.
///
/// # Errors
/// 422 with each violation.
pub fn read_query(query: &str, mut set: impl FnMut(&str, &str) -> Result<(), String>) -> Result<(), Problem> {
    let parameters = url::form_urlencoded::parse(query.as_bytes());
    let violations: Vec<Violation> = parameters
        .filter_map(|(name, value)| {
            let detail = set(&name, &value).err()?;
            Some(Violation { pointer: pointer::of(&name), detail })
        })
        .collect();
    if violations.is_empty() { Ok(()) } else { Err(violations_problem(violations)) }
}

/// The problem of one member that is not valid in a way that its schema does not express.
pub fn invalid(pointer: &str, detail: String) -> Problem {
    violations_problem(vec![Violation { pointer: pointer.to_owned(), detail }])
}
