//! Problems of a body that is not valid.

use serde_json::{Value, json};

use super::{NOT_JSON, Problem, VALIDATION};
use crate::schema::{InputError, Violation};
use contract::words::sentence;

/// The problem of a body that its schema does not accept.
pub(in crate::api) fn input_problem(error: InputError) -> Problem {
    match error {
        InputError::NotJson(detail) => NOT_JSON.because(sentence(&detail)),
        InputError::Invalid(violations) => violations_problem(violations),
    }
}

/// The problem of a body with these violations.
pub(super) fn violations_problem(violations: Vec<Violation>) -> Problem {
    let count = violations.len();
    let errors: Vec<Value> = violations
        .into_iter()
        .map(|violation| json!({"pointer": violation.pointer, "detail": violation.detail}))
        .collect();
    VALIDATION
        .because(format!("The body has {count} violation{}; `errors` names each.", if count == 1 { "" } else { "s" }))
        .with("errors", errors)
}

/// The problem of one member that is not valid in a way that its schema does not express.
pub(in crate::api) fn invalid(pointer: &str, detail: String) -> Problem {
    violations_problem(vec![Violation { pointer: pointer.to_owned(), detail }])
}
