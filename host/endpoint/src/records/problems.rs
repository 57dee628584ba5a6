//! The members of problem documents, for their schemas. `problem` makes the documents.

#![expect(dead_code, reason = "only the schemas of these types are used")]

use schemars::JsonSchema;
use serde_json::{Map, Value};

use problem::KINDS;

/// A problem document (RFC 9457).
#[derive(JsonSchema)]
pub struct Problem {
    r#type: ProblemType,
    title: String,
    status: u16,
    /// What happened, and what to do.
    detail: String,
    /// The request's id.
    instance: String,
    owner: ProblemOwner,
    /// `true` if the same call may succeed later, and if repeating it is safe: it reads, or it
    /// surely changed nothing.
    retryable: bool,
    #[schemars(with = "ProblemOutcome", skip_serializing_if = "Option::is_none")]
    outcome: Option<ProblemOutcome>,
    #[schemars(with = "UpstreamAnswer", skip_serializing_if = "Option::is_none")]
    upstream: Option<UpstreamAnswer>,
    /// The connector that failed.
    #[schemars(with = "String", skip_serializing_if = "Option::is_none")]
    connector: Option<String>,
    /// The limit that the connector broke.
    #[schemars(with = "String", skip_serializing_if = "Option::is_none")]
    limit: Option<String>,
    /// The scope that the token lacks.
    #[schemars(with = "String", skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
}

/// The kind of problem. It never changes its meaning.
#[derive(JsonSchema)]
#[schemars(extend("format" = "uri", "examples" = KINDS.iter().map(|kind| kind.urn()).collect::<Vec<_>>()))]
struct ProblemType(String);

/// Who can fix it.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub enum ProblemOwner {
    Caller,
    User,
    Operator,
    Connector,
    Provider,
}

/// `unknown`: the call may have changed data, so look before you repeat it. `succeeded`: it has
/// succeeded, and its answer was not kept.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
enum ProblemOutcome {
    Unknown,
    Succeeded,
}

/// The service's own answer, unchanged.
#[derive(JsonSchema)]
struct UpstreamAnswer {
    status: u16,
    /// JSON as it is, else text.
    body: Value,
    /// `true` if the body is longer than it is shown.
    #[schemars(with = "bool", skip_serializing_if = "Option::is_none")]
    truncated: Option<bool>,
}

/// A body or a parameter is not valid.
// Tools do not agree on how a schema extends another, so each one has all members.
#[derive(JsonSchema)]
pub struct ValidationProblem {
    #[schemars(flatten)]
    problem: Problem,
    /// All violations.
    #[schemars(with = "Vec<Violation>", skip_serializing_if = "Option::is_none")]
    errors: Option<Vec<Violation>>,
}

#[derive(JsonSchema)]
struct Violation {
    /// JSON Pointer (RFC 6901) into the body; or the name of a header or of a parameter of the
    /// query, after `/`.
    pointer: String,
    detail: String,
}

/// A conflict with the state of the gateway or of the service.
#[derive(JsonSchema)]
pub struct ConflictProblem {
    #[schemars(flatten)]
    problem: Problem,
    /// What to choose from, as the connector describes it.
    #[schemars(with = "Vec<Value>", skip_serializing_if = "Option::is_none")]
    candidates: Option<Vec<Value>>,
    #[schemars(with = "Action", skip_serializing_if = "Option::is_none")]
    action: Option<Action>,
    /// The scopes that the user has to permit.
    #[schemars(with = "Vec<String>", skip_serializing_if = "Option::is_none")]
    missing: Option<Vec<String>>,
    /// The account that has to be connected again.
    #[schemars(with = "String", skip_serializing_if = "Option::is_none")]
    user_identifier: Option<String>,
}

/// The connector changed since the operator looked at it.
#[derive(JsonSchema)]
pub struct ChangedProblem {
    #[schemars(flatten)]
    problem: Problem,
    /// The present generation of the connector.
    generation: i64,
}

/// The user must act.
#[derive(JsonSchema)]
pub struct AccountProblem {
    #[schemars(flatten)]
    problem: Problem,
    #[schemars(with = "Action", skip_serializing_if = "Option::is_none")]
    action: Option<Action>,
    /// The accounts that are connected.
    #[schemars(with = "Vec<String>", skip_serializing_if = "Option::is_none")]
    candidates: Option<Vec<String>>,
    /// The account that has to be connected again.
    #[schemars(with = "String", skip_serializing_if = "Option::is_none")]
    user_identifier: Option<String>,
}

/// The call that helps.
#[derive(JsonSchema)]
struct Action {
    method: String,
    path: String,
    /// The members of the body that name the integration.
    #[schemars(with = "Map<String, Value>", skip_serializing_if = "Option::is_none")]
    body: Option<Map<String, Value>>,
}
