//! What `connector!` makes of a table: constant data, read in place. Nothing is built before it is asked for.

use crate::Fault;
use crate::bindings::gateway::connector::http::Method;
pub use crate::bindings::gateway::connector::manifest::Effect;
use crate::outcome::Answer;

/// A connector: what it wraps, what it may reach, and its operations.
pub struct Connector {
    /// As it stands in the path.
    pub identifier: &'static str,
    /// Version of the crate that declares it.
    pub version: &'static str,
    /// What it wraps, in a few words.
    pub title: &'static str,
    /// The documentation comment of the table.
    pub description: &'static str,
    /// How users are authenticated at the service.
    pub auth: crate::auth::Auth,
    /// The services it may call.
    pub upstreams: &'static [Upstream],
    /// Budgets that operations draw on.
    pub rate_limits: &'static [RateLimit],
    /// What it can do.
    pub operations: &'static [Operation],
}

/// A service that a connector may call.
pub struct Upstream {
    /// Its name in requests.
    pub name: &'static str,
    /// Paths are appended to it; empty when only the operator knows it.
    pub base_url: &'static str,
    /// Other hosts that a redirect may lead to.
    pub redirect_hosts: &'static [&'static str],
    /// How calls are spaced.
    pub pacing: Option<Pacing>,
}

/// A queue in front of an upstream.
#[derive(Clone, Copy)]
pub struct Pacing {
    /// Pause between the starts of two calls, in milliseconds.
    pub interval_ms: u32,
    /// Calls under way at once.
    pub concurrency: u32,
    /// Longest wait of a call before it is refused, in milliseconds.
    pub max_wait_ms: u32,
}

/// A budget of invocations.
pub struct RateLimit {
    /// Its name in rows.
    pub name: &'static str,
    /// Invocations in a period.
    pub requests: u32,
    /// Length of the period, in seconds.
    pub period_seconds: u32,
}

/// An operation: the code, and apart from it what is read once.
pub struct Operation {
    /// As it stands in the path.
    pub path: &'static str,
    /// Runs it on an input that the schema has accepted.
    pub run: fn(&str) -> Answer,
    /// The row, when the operation only forwards what it says.
    pub row: Option<&'static Row>,
    /// What the manifest says about it.
    pub about: &'static About,
}

/// What the manifest says about an operation.
pub struct About {
    /// First paragraph of the row's documentation comment.
    pub summary: &'static str,
    /// What follows it.
    pub description: &'static str,
    /// JSON Schema of the input.
    pub input_schema: &'static str,
    /// An input, as JSON text.
    pub example: Option<&'static str>,
    /// Whether the answer can be shaped.
    pub envelope: bool,
    /// What it does to the user's data.
    pub effect: Effect,
    /// Whether it may take long.
    pub background: bool,
    /// Whether it only forwards.
    pub immediate: bool,
    /// The budget it draws on.
    pub rate_limit: Option<&'static str>,
}

/// An operation that is one request, made from the input by this description alone.
pub struct Row {
    /// Method of the request.
    pub method: Method,
    /// Name of the upstream.
    pub upstream: &'static str,
    /// The path, without the query.
    pub path: &'static [Piece],
    /// Query that is always sent, encoded; may be empty.
    pub fixed_query: &'static str,
    /// What callers may give, in the order of the row.
    pub fields: &'static [Field],
    /// Query parameters that are sent unless the caller says otherwise.
    pub default_query: &'static [DefaultQuery],
    /// Headers that the table sets.
    pub headers: &'static [Header],
    /// The request body.
    pub body: Body,
}

/// A part of a path or of a header's value.
pub enum Piece {
    /// As it stands.
    Text(&'static str),
    /// The value of the field with this index.
    Field(usize),
    /// A setting of the operator.
    Setting(fn() -> Result<String, Fault>),
}

/// A field, as far as the request needs to know it.
pub struct Field {
    /// Its name in the input.
    pub name: &'static str,
    /// Where its value goes.
    pub place: Place,
    /// Whether the request cannot be made without it.
    pub required: bool,
    /// Whether its numbers are integers, which may come as `1.0` or `1e2`.
    pub integer: bool,
    /// How lists go upstream.
    pub lists: Lists,
    /// Largest value in bytes; of anything but a string, of its JSON text.
    pub max_bytes: Option<usize>,
    /// JSON text that is sent when the field is absent.
    pub default: Option<&'static str>,
}

/// Where a value goes.
pub enum Place {
    /// Into the path.
    Path(Encoding),
    /// Into the query, under this name.
    Query(&'static str),
    /// An object whose members are query parameters.
    QueryEntries,
    /// Into the body, under these quoted names, outermost first.
    Body(&'static [&'static str]),
    /// The body itself.
    WholeBody,
    /// A header of this name.
    Header(&'static str),
    /// An object whose members are headers.
    HeaderEntries,
}

/// How a value is written into a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Everything but RFC 3986's unreserved characters is percent-encoded: the value stays within its segment.
    Segment,
    /// Slashes are kept: the value is a path of its own.
    Path,
    /// Single quotes are doubled first, as in an OData string literal.
    ODataString,
}

/// How a list goes upstream.
pub enum Lists {
    /// As JSON, in a body.
    AsTheyAre,
    /// As one value; the separator is encoded where that is needed.
    Joined(&'static str),
    /// As one parameter an item.
    Repeated,
}

/// A query parameter that is sent unless the caller gives it, or one that stands for it.
pub struct DefaultQuery {
    /// `name=value`, encoded.
    pub parameter: &'static str,
    /// Names that suppress it, its own among them.
    pub unless: &'static [&'static str],
}

/// A header that the table sets.
pub struct Header {
    /// Name of the header.
    pub name: &'static str,
    /// Its value.
    pub value: &'static [Piece],
    /// Sent only when the query has one of these; always when it is empty.
    pub when: &'static [&'static str],
}

/// The request body of a row.
pub enum Body {
    /// None.
    None,
    /// The value of the field with this index, if it is given.
    Whole(usize),
    /// An object: members that are always sent, as JSON text without braces, then the fields with these indices.
    Members {
        /// May be empty.
        fixed: &'static str,
        /// Members of one inner object follow one another.
        fields: &'static [usize],
    },
}
