//! The check of what came of an operation's calls: the upstream's requests against the
//! specification, and the gateway's answers.

use std::collections::BTreeMap;

use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;
use support::Seen;
use support::catalogue::text;

use crate::arrival::differences;
use crate::lanes::Sent;
use crate::operations::{Call, Operation};
use crate::specifications::Method;
use crate::upstream::{shown, url};

/// The result for one operation.
pub(crate) struct Checked {
    pub(crate) extent: Extent,
    /// Why the operation was not checked, or not all of it.
    pub(crate) reasons: Vec<String>,
    pub(crate) violations: Vec<Violation>,
}

/// How much of an operation was checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Every call that the catalogue names.
    Whole,
    /// Some of the calls.
    InPart,
    /// No call.
    Nothing,
}

/// Violations of a request, each as the place in the request and a sentence.
type Places = Vec<(String, String)>;

/// One difference between a request and the specification.
pub(crate) struct Violation {
    /// `connector/operation`.
    pub(crate) operation: String,
    /// The part of the request, for example `/query/maxResults`; `answer` for the gateway's answer,
    /// `field …` for the caller's value.
    pub(crate) place: String,
    pub(crate) detail: String,
    /// The first request with this violation.
    pub(crate) example: String,
}

/// Checks all requests that an operation led to, and the gateway's answers.
pub(crate) fn check(connector: &str, operation: &Operation, sent: &[Sent]) -> Checked {
    let calls: Vec<Compiled<'_>> = operation.calls.iter().map(Compiled::new).collect();
    let mut violations = Violations { operation: format!("{connector}/{}", operation.path), found: BTreeMap::new() };
    let mut is_sent = vec![false; calls.len()];
    for one in sent {
        if let Some(refusal) = refusal(one) {
            violations.note("answer", refusal, || one.input.to_string());
        }
        for request in &one.requests {
            let matching: Vec<(usize, Places)> =
                calls.iter().enumerate().filter_map(|(index, call)| Some((index, call.violations(request)?))).collect();
            matching.iter().for_each(|(index, _)| is_sent[*index] = true);
            let fewest = matching.into_iter().map(|(_, found)| found).min_by_key(Vec::len);
            let unknown = || vec![("url".to_owned(), "the catalogue names no such call".to_owned())];
            for (place, detail) in fewest.unwrap_or_else(unknown) {
                violations.note(&place, detail, || shown(request));
            }
            for name in missing_constants(&operation.calls, request) {
                violations.note("constants", format!("the catalogue has another `{name}`"), || shown(request));
            }
        }
        if text(&operation.entry, "kind") == "thin" {
            check_thin(operation, one, &mut violations);
        }
    }
    let (extent, reasons) = extent(&operation.calls, &is_sent);
    Checked { extent, reasons, violations: violations.found.into_values().collect() }
}

/// Checks what holds for a thin operation only: it is one request with the caller's values, and the
/// answer of the upstream is the answer to the caller.
fn check_thin(operation: &Operation, sent: &Sent, violations: &mut Violations) {
    let input = || sent.input.to_string();
    if sent.answer.status != 200 {
        let answer = format!("{}: {}", sent.answer.status, sent.answer.text());
        violations.note("answer", answer.chars().take(300).collect(), input);
    }
    match (&operation.calls[..], &sent.requests[..]) {
        ([call], [request]) => {
            for (place, detail) in differences(&operation.entry, call, &sent.input, request) {
                violations.note(&place, detail, || shown(request));
            }
        }
        (_, requests) => violations.note("request", format!("it sent {} requests, and not one", requests.len()), input),
    }
}

/// The constant parameters that a request lacks. If several calls have its address, it must have
/// the parameters of one of them.
fn missing_constants(calls: &[Call], request: &Seen) -> Vec<String> {
    let url = url(request);
    let same = calls.iter().filter(|call| call.verb == request.method && call.url.values(url).is_some());
    let missing = same.map(|call| {
        let wrong = call.constants.iter().filter(|(name, value)| request.parameter(name).as_ref() != Some(value));
        wrong.map(|(name, _)| name.clone()).collect::<Vec<_>>()
    });
    missing.min_by_key(Vec::len).unwrap_or_default()
}

/// How much of an operation was checked, and why not all of it.
fn extent(calls: &[Call], is_sent: &[bool]) -> (Extent, Vec<String>) {
    if calls.is_empty() {
        return (Extent::Nothing, vec!["by the catalogue it sends no request".to_owned()]);
    }
    let reason = |(call, is_sent): (&Call, &bool)| match &call.methods {
        Err(why) => Some(why.clone()),
        Ok(_) if !is_sent => Some(format!("it never sent {}", call.shown)),
        Ok(_) => None,
    };
    let mut reasons: Vec<String> = calls.iter().zip(is_sent).filter_map(reason).collect();
    let extent = match reasons.len() {
        0 => Extent::Whole,
        all if all == calls.len() => Extent::Nothing,
        _ => Extent::InPart,
    };
    reasons.dedup();
    (extent, reasons)
}

/// The violations of an operation, each once.
struct Violations {
    operation: String,
    found: BTreeMap<(String, String), Violation>,
}

impl Violations {
    fn note(&mut self, place: &str, detail: String, example: impl FnOnce() -> String) {
        // The values differ from request to request, the end of the sentence does not.
        let kind = detail.rsplit_once('"').map_or(detail.as_str(), |(_, kind)| kind).to_owned();
        let operation = self.operation.clone();
        let place = place.to_owned();
        let violation = |place| Violation { operation, place, detail, example: example() };
        self.found.entry((place.clone(), kind)).or_insert_with(|| violation(place));
    }
}

/// A call with the compiled schemas of its methods.
struct Compiled<'a> {
    call: &'a Call,
    methods: Vec<(&'a Method, Validator)>,
}

impl<'a> Compiled<'a> {
    fn new(call: &'a Call) -> Self {
        let methods = call.methods.iter().flatten();
        let compiled = methods.map(|method| (method, validator(method)));
        Self { call, methods: compiled.collect() }
    }

    /// The violations of a request that is this call; `None` if the request is another one. If
    /// several methods describe the call, the request must keep one.
    fn violations(&self, request: &Seen) -> Option<Places> {
        let url = url(request);
        if self.call.methods.is_err() {
            let is_this = self.call.verb == request.method && self.call.url.values(url).is_some();
            return is_this.then(Vec::new);
        }
        let read = self
            .methods
            .iter()
            .filter_map(|(method, validator)| Some(violations(&method.read(url, request)?, validator)));
        read.min_by_key(Vec::len)
    }
}

/// The compiled schema of a method's requests.
pub(crate) fn validator(method: &Method) -> Validator {
    let options = jsonschema::options().should_validate_formats(true);
    options.build(&method.request).unwrap_or_else(|error| panic!("{:?}: {error}", method.names))
}

/// The violations of a schema, each as the place in the request and a sentence.
pub(crate) fn violations(document: &Value, validator: &Validator) -> Places {
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

/// Why the gateway refused a valid input, or failed to serve it. Failures that an answer of the
/// upstream explains are not meant.
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
