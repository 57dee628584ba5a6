//! Problems of a body or a query that is not valid.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Value, json};

use super::{CONNECTOR_FAILED, INTERNAL, NOT_JSON, Problem, VALIDATION};
use contract::words::{nearest, sentence, shortened};
use contract_rules::pointer;
use schema::{InputError, MORE_VIOLATIONS, Violation};

/// The most violations of a query that a problem names.
const MAX_QUERY_VIOLATIONS: usize = 100;

/// The end of the name of a parameter that may be there several times.
const SEVERAL: char = '*';

/// The violation of a parameter whose further values would not count.
const REPEATED: &str = "Is there more than once; give one value.";

/// The problem of a body that its schema does not accept.
pub fn input_problem(error: InputError) -> Problem {
    match error {
        InputError::NotJson(detail) => NOT_JSON.with_detail(sentence(&detail)),
        InputError::Invalid(violations) => violations_problem(violations),
        InputError::TooCostly(_) => schema_too_costly(),
        InputError::NotCompiled(reason) => schema_not_compiled(&reason),
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

/// The problem of an operation whose schema cannot be compiled.
pub(super) fn schema_not_compiled(reason: &str) -> Problem {
    INTERNAL.with_detail(format!(
        "The schema of this operation {reason}, although it could be compiled when the connector was loaded; please report this."
    ))
}

/// The problem of a request with these violations.
pub fn violations_problem(violations: Vec<Violation>) -> Problem {
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

/// Reads the query of a URL, and names everything that is wrong with it. `known` has the names of
/// the parameters. A name that ends with a dot stands for all names that begin with it. A parameter
/// may be there once, or several times if its name here ends with an asterisk. `set` takes the name
/// and the value of each parameter, or says what the value must be.
///
/// # Errors
/// 422 with each violation.
pub fn read_query(
    query: &str,
    known: &[&str],
    mut set: impl FnMut(&str, &str) -> Result<(), String>,
) -> Result<(), Problem> {
    let mut violations = Vec::new();
    let mut given: HashSet<Cow<'_, str>> = HashSet::new();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        let found = known.iter().find(|known| match known.strip_suffix('.') {
            Some(_) => name.len() > known.len() && name.starts_with(*known),
            None => name == without_mark(known),
        });
        let result = match found {
            None => Err(unknown_parameter(&name, known)),
            Some(known) if !known.ends_with(SEVERAL) && !given.insert(name.clone()) => Err(REPEATED.to_owned()),
            Some(_) => set(&name, &value),
        };
        let Err(detail) = result else { continue };
        if violations.len() == MAX_QUERY_VIOLATIONS {
            violations.push(Violation { pointer: String::new(), detail: MORE_VIOLATIONS.to_owned() });
            break;
        }
        violations.push(Violation { pointer: pointer::of(&shortened(&name)), detail });
    }
    if violations.is_empty() { Ok(()) } else { Err(violations_problem(violations)) }
}

/// The name of a known parameter.
fn without_mark(known: &str) -> &str {
    known.strip_suffix(SEVERAL).unwrap_or(known)
}

/// The sentence about a parameter that a route does not have.
fn unknown_parameter(name: &str, known: &[&str]) -> String {
    let known: Vec<&str> = known.iter().map(|known| without_mark(known)).collect();
    let quoted = |known: &&str| format!("`{known}{}`", if known.ends_with('.') { "NAME" } else { "" });
    let has = match known.as_slice() {
        [] => return "This route has no parameters in its query.".to_owned(),
        [one] => format!("the parameter {}", quoted(one)),
        _ => format!("the parameters {}", known.iter().map(quoted).collect::<Vec<_>>().join(", ")),
    };
    let hint = nearest(name, known.iter().copied()).map(|nearest| format!("Did you mean {}? ", quoted(&nearest)));
    format!("{}This route has {has}.", hint.unwrap_or_default())
}

/// The problem of one member that is not valid in a way that its schema does not express.
pub fn invalid(pointer: &str, detail: String) -> Problem {
    violations_problem(vec![Violation { pointer: pointer.to_owned(), detail }])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(query: &str, known: &[&str]) -> Vec<(String, String)> {
        let Err(problem) =
            read_query(query, known, |_, value| if value == "bad" { Err("Must be good.".to_owned()) } else { Ok(()) })
        else {
            return Vec::new();
        };
        let document = problem.document("");
        assert_eq!(document["status"], 422);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        document["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|error| (text(&error["pointer"]), text(&error["detail"])))
            .collect()
    }

    #[test]
    fn a_query_is_told_everything_that_is_wrong_with_it() {
        let known = ["limit", "cursor", "label."];
        assert_eq!(errors("limit=1&label.team=blue", &known), []);
        let all = "This route has the parameters `limit`, `cursor`, `label.NAME`.";
        assert_eq!(
            errors("limt=1&cursor=bad&label.=x&%7Ea=", &known),
            [
                ("/limt".to_owned(), format!("Did you mean `limit`? {all}")),
                ("/cursor".to_owned(), "Must be good.".to_owned()),
                ("/label.".to_owned(), format!("Did you mean `label.NAME`? {all}")),
                ("/~0a".to_owned(), all.to_owned()),
            ]
        );
        assert_eq!(errors("a=1", &[]), [("/a".to_owned(), "This route has no parameters in its query.".to_owned())]);
    }

    #[test]
    fn a_parameter_is_there_once_unless_it_is_a_list() {
        let known = ["limit", "host*", "label."];
        assert_eq!(errors("host=a&host=b&label.team=blue&label.of=x&limit=1", &known), []);
        assert_eq!(
            errors("limit=1&label.team=a&limit=2&label.team=b", &known),
            ["/limit", "/label.team"].map(|pointer| (pointer.to_owned(), REPEATED.to_owned()))
        );
        assert_eq!(
            errors("hosts=a", &["host*"]),
            [("/hosts".to_owned(), "Did you mean `host`? This route has the parameter `host`.".to_owned())]
        );
        assert_eq!(errors("host*=a", &["host*"]).len(), 1);
    }

    #[test]
    fn a_query_of_any_size_has_an_answer_of_bounded_size() {
        let told = errors(&"nonsense=1&".repeat(5000), &["limit"]);
        assert_eq!(told.len(), MAX_QUERY_VIOLATIONS + 1);
        assert!(errors(&"x".repeat(50_000), &["limit"])[0].0.len() < 1000);
    }
}
