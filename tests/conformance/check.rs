//! The check of what came of an operation's calls: the upstream's requests against the specification, and the gateway's
//! answers.

use std::collections::BTreeMap;

use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;
use support::Seen;

use crate::lanes::Sent;
use crate::operations::{Call, Operation};
use crate::specifications::Method;
use crate::upstream::{shown, url};

/// The result for one operation.
pub(crate) struct Checked {
    /// Why the operation could not be checked, or not all of its requests; `None` if every request was checked.
    pub(crate) unchecked: Option<String>,
    pub(crate) violations: Vec<Violation>,
}

/// One difference between a request and the specification.
pub(crate) struct Violation {
    /// `connector/operation`.
    pub(crate) operation: String,
    /// The part of the request, for example `/query/maxResults`; `answer` for the gateway's answer.
    pub(crate) place: String,
    pub(crate) detail: String,
    /// The first request with this violation.
    pub(crate) example: String,
}

/// Checks all calls of an operation.
pub(crate) fn check(connector: &str, operation: &Operation, sent: &[Sent]) -> Checked {
    let name = format!("{connector}/{}", operation.path);
    let validators: Vec<Vec<(&Method, Validator)>> = operation.calls.iter().map(compiled).collect();
    let mut violations: BTreeMap<(String, String), Violation> = BTreeMap::new();
    let mut unchecked = None;
    let mut note = |place: String, detail: String, example: String| {
        // The values differ from request to request, the end of the sentence does not.
        let kind = detail.rsplit_once('"').map_or(detail.clone(), |(_, kind)| kind.to_owned());
        let violation = Violation { operation: name.clone(), place: place.clone(), detail, example };
        violations.entry((place, kind)).or_insert(violation);
    };
    for call in sent {
        if let Some(refusal) = refusal(call) {
            note("answer".to_owned(), refusal, call.input.to_string());
        }
        for request in &call.requests {
            match against(request, &operation.calls, &validators) {
                Found::Unknown => note("url".to_owned(), "the catalogue names no such call".to_owned(), shown(request)),
                Found::Undescribed(why) => unchecked = Some(why),
                Found::Violations(found) => {
                    for (place, detail) in found {
                        note(place, detail, shown(request));
                    }
                }
            }
        }
    }
    if sent.iter().all(|call| call.requests.is_empty()) {
        unchecked = Some(match operation.calls.is_empty() {
            true => "by the catalogue it sends no request".to_owned(),
            false => "it sent no request".to_owned(),
        });
    }
    Checked { unchecked, violations: violations.into_values().collect() }
}

/// The methods of a call with their compiled schemas.
fn compiled(call: &Call) -> Vec<(&Method, Validator)> {
    let methods = call.methods.iter().flatten();
    methods
        .map(|method| {
            let options = jsonschema::options().should_validate_formats(true);
            (method, options.build(&method.request).unwrap_or_else(|error| panic!("{:?}: {error}", method.names)))
        })
        .collect()
}

/// What a request is.
enum Found {
    /// None of the operation's calls.
    Unknown,
    /// A call without a specification, and why it has none.
    Undescribed(String),
    /// A call of a method, with its violations.
    Violations(Vec<(String, String)>),
}

/// Looks for the call that a request is, and checks the request. If several methods describe it, it must keep one.
fn against(request: &Seen, calls: &[Call], validators: &[Vec<(&Method, Validator)>]) -> Found {
    let url = url(request);
    let results = validators.iter().flatten().filter_map(|(method, validator)| {
        let document = method.read(url, request)?;
        Some(violations(&document, validator))
    });
    if let Some(fewest) = results.min_by_key(Vec::len) {
        return Found::Violations(fewest);
    }
    let call = calls.iter().find(|call| call.verb == request.method && call.url.values(url).is_some());
    match call.map(|call| &call.methods) {
        Some(Err(why)) => Found::Undescribed(why.clone()),
        _ => Found::Unknown,
    }
}

/// The violations of a schema, each as the place in the request and a sentence.
fn violations(document: &Value, validator: &Validator) -> Vec<(String, String)> {
    let errors = validator.iter_errors(document);
    errors
        .flat_map(|error| {
            let place = error.instance_path().to_string();
            let steps = place.split('/').map(|step| if step.parse::<usize>().is_ok() { "*" } else { step });
            let place = steps.collect::<Vec<_>>().join("/");
            match error.kind() {
                ValidationErrorKind::AdditionalProperties { unexpected } => {
                    unexpected.iter().map(|name| (format!("{place}/{name}"), "it is not known".to_owned())).collect()
                }
                _ => vec![(place, error.to_string().chars().take(300).collect())],
            }
        })
        .collect()
}

/// Why the gateway refused a valid input, or failed to serve it. Failures that an answer of the upstream explains are not
/// meant.
fn refusal(sent: &Sent) -> Option<String> {
    let answer = &sent.answer;
    if answer.status < 400 {
        return None;
    }
    let problem: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let kind = problem["type"].as_str().and_then(|kind| kind.rsplit(':').next()).unwrap_or_default();
    let is_own = matches!(kind, "validation" | "connector-failed" | "rate-limited" | "egress-denied")
        || matches!(answer.status, 400 | 401 | 405 | 413 | 415 | 424)
        || (answer.status == 404 && sent.requests.is_empty());
    is_own.then(|| format!("{} {kind}: {} {}", answer.status, problem["detail"], problem["errors"]))
}
