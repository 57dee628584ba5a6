//! The check of what came of an operation's calls: the upstream's requests against the specification, and the gateway's
//! answers.

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

/// One difference between a request and the specification.
pub(crate) struct Violation {
    /// `connector/operation`.
    pub(crate) operation: String,
    /// The part of the request, for example `/query/maxResults`; `answer` for the gateway's answer, `field …` for the
    /// caller's value.
    pub(crate) place: String,
    pub(crate) detail: String,
    /// The first request with this violation.
    pub(crate) example: String,
}

/// Checks all requests that an operation led to.
pub(crate) fn check(connector: &str, operation: &Operation, sent: &[Sent]) -> Checked {
    let calls: Vec<Compiled<'_>> = operation.calls.iter().map(Compiled::new).collect();
    let mut violations = Violations { operation: format!("{connector}/{}", operation.path), found: BTreeMap::new() };
    let mut is_sent = vec![false; calls.len()];
    for call in sent {
        if let Some(refusal) = refusal(call) {
            violations.note("answer".to_owned(), refusal, || call.input.to_string());
        }
        if text(&operation.entry, "kind") == "thin" && call.answer.status != 200 {
            let answer = format!("{}: {}", call.answer.status, call.answer.text());
            violations.note("answer".to_owned(), answer.chars().take(300).collect(), || call.input.to_string());
        }
        for request in &call.requests {
            let matching: Vec<(usize, Vec<(String, String)>)> =
                calls.iter().enumerate().filter_map(|(index, one)| Some((index, one.violations(request)?))).collect();
            matching.iter().for_each(|(index, _)| is_sent[*index] = true);
            match matching.into_iter().map(|(_, found)| found).min_by_key(Vec::len) {
                None => {
                    violations.note("url".to_owned(), "the catalogue names no such call".to_owned(), || shown(request))
                }
                Some(found) => {
                    found.into_iter().for_each(|(place, detail)| violations.note(place, detail, || shown(request)))
                }
            }
        }
        if let ("thin", [call_of_row], [request]) =
            (text(&operation.entry, "kind"), &operation.calls[..], &call.requests[..])
        {
            for (place, detail) in differences(&operation.entry, call_of_row, &call.input, request) {
                violations.note(place, detail, || shown(request));
            }
        }
    }
    let mut reasons: Vec<String> = Vec::new();
    for (call, is_sent) in operation.calls.iter().zip(&is_sent) {
        match &call.methods {
            Err(why) => reasons.push(why.clone()),
            Ok(_) if !is_sent => reasons.push(format!("it never sent {}", call.shown)),
            Ok(_) => {}
        }
    }
    let extent = match (operation.calls.len(), reasons.len()) {
        (0, _) => Extent::Nothing,
        (_, 0) => Extent::Whole,
        (calls, reasons) if calls == reasons => Extent::Nothing,
        _ => Extent::InPart,
    };
    if operation.calls.is_empty() {
        reasons.push("by the catalogue it sends no request".to_owned());
    }
    reasons.dedup();
    Checked { extent, reasons, violations: violations.found.into_values().collect() }
}

/// The violations of an operation, each once.
struct Violations {
    operation: String,
    found: BTreeMap<(String, String), Violation>,
}

impl Violations {
    fn note(&mut self, place: String, detail: String, example: impl FnOnce() -> String) {
        // The values differ from request to request, the end of the sentence does not.
        let kind = detail.rsplit_once('"').map_or(detail.as_str(), |(_, kind)| kind).to_owned();
        let operation = self.operation.clone();
        self.found.entry((place.clone(), kind)).or_insert_with(|| Violation {
            operation,
            place,
            detail,
            example: example(),
        });
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

    /// The violations of a request that is this call; `None` if the request is another one. If several methods describe
    /// the call, the request must keep one.
    fn violations(&self, request: &Seen) -> Option<Vec<(String, String)>> {
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
pub(crate) fn violations(document: &Value, validator: &Validator) -> Vec<(String, String)> {
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
