//! The data that `connector!` makes from a table: constants, which are read in place. Nothing is
//! built before it is needed.

pub use crate::bindings::gateway::connector::http::Body as HttpBody;
use crate::bindings::gateway::connector::http::Method;
pub use crate::bindings::gateway::connector::manifest::{Answer as AnswerKind, CredentialUse, Effect};
use crate::outcome::Answer;
pub use crate::reader::Member;
use crate::{Fault, Request};
pub use contract_rules::account_address::PartForm;

/// A connector: the service that it wraps, the hosts that it calls, and its operations.
pub struct Connector {
    /// The name in the path.
    pub identifier: &'static str,
    /// Version of the crate that declares it.
    pub version: &'static str,
    /// Name of the service, in a few words.
    pub title: &'static str,
    /// The documentation comment of the table.
    pub description: &'static str,
    /// Publisher and licence.
    pub imprint: Imprint,
    /// How users authenticate at the service.
    pub auth: crate::auth::Auth,
    /// Further ways in which accounts get access tokens.
    pub auth_additions: &'static [crate::auth::AuthAddition],
    /// The services that it may call.
    pub upstreams: &'static [Upstream],
    /// The parts of accounts' addresses, which URLs have in braces.
    pub address: &'static [AddressPart],
    /// Rate limits that operations share.
    pub rate_limits: &'static [RateLimit],
    /// Values that the operator may set.
    pub settings: &'static [Setting],
    /// Headers of every row's request.
    pub headers: &'static [Header],
    /// Its operations.
    pub operations: &'static [Operation],
    /// The texts of the operations, compressed. [`texts::of`](crate::texts::of) reads them.
    pub texts: &'static [u8],
}

impl Connector {
    /// A request of a function with the headers that the table gives to its rows. Headers with
    /// `when` are left out.
    ///
    /// # Errors
    /// [`Fault::Failed`] if a setting in a header has another type than the table declares.
    pub fn request(&self, method: Method, upstream: &str, path: impl Into<String>) -> Result<Request, Fault> {
        let mut request = Request::new(method, upstream, path);
        for header in self.headers.iter().filter(|header| header.when.is_empty()) {
            request.headers.extend(header.pair()?);
        }
        Ok(request)
    }
}

/// Publisher and licence of a connector. The texts come from its Cargo.toml and may be empty.
pub struct Imprint {
    /// SPDX expression.
    pub license: &'static str,
    /// URL of the home page.
    pub homepage: &'static str,
    /// Authors, separated by colons.
    pub authors: &'static str,
    /// SVG image.
    pub icon: Option<&'static str>,
}

/// A service that a connector may call.
pub struct Upstream {
    /// Its name in requests.
    pub name: &'static str,
    /// The gateway appends paths to it. Empty if only the operator knows it.
    pub base_url: &'static str,
    /// `true` if requests carry the user's credential. `None` for the default: `standard` for the
    /// first upstream.
    pub credential: Option<CredentialUse>,
    /// Other hosts that redirects and links may lead to.
    pub link_hosts: &'static [&'static str],
    /// Delay and concurrency of calls.
    pub pacing: Option<Pacing>,
    /// The domain that the hosts of all accounts are below, if the host has a part of the account's
    /// address.
    pub site: Option<&'static str>,
}

/// A part of accounts' addresses.
pub struct AddressPart {
    /// Its name, which URLs have in braces.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The characters of a value.
    pub form: PartForm,
    /// Maximum number of characters of a value.
    pub max_length: u32,
    /// Where the gateway gets the value.
    pub source: PartSource,
}

/// Where the gateway gets the value of a part.
pub enum PartSource {
    /// The user gives it.
    User,
    /// It is at this JSON Pointer of the service's answer about the account.
    Account(&'static str),
}

/// A queue in front of an upstream.
#[derive(Clone, Copy)]
pub struct Pacing {
    /// Minimum time between the starts of two calls, in milliseconds.
    pub interval_ms: u32,
    /// Maximum number of concurrent calls.
    pub concurrency: u32,
    /// Maximum time in the queue, in milliseconds.
    pub max_wait_ms: u32,
}

/// A limit on the number of invocations.
pub struct RateLimit {
    /// Its name in rows.
    pub name: &'static str,
    /// Maximum number of invocations in a period.
    pub requests: u32,
    /// Length of the period, in seconds.
    pub period_seconds: u32,
}

/// A value that the operator may set.
pub struct Setting {
    /// Its name in the configuration.
    pub name: &'static str,
    /// JSON Schema of the value.
    pub schema: &'static str,
    /// The value if the operator does not set one, as JSON text.
    pub default: Option<&'static str>,
    /// Its documentation comment.
    pub documentation: &'static str,
}

/// An operation: its code, and separately the data that the gateway reads once.
pub struct Operation {
    /// The name in the path.
    pub path: &'static str,
    /// Runs it on an input that the schema has accepted.
    pub run: fn(&str) -> Answer,
    /// The row, if the operation only forwards its request.
    pub row: Option<&'static Row>,
    /// The operation's part of the manifest.
    pub about: &'static About,
}

/// An operation's part of the manifest, without its texts.
pub struct About {
    /// `true` if callers may shape the answer.
    pub envelope: bool,
    /// The effect on the user's data.
    pub effect: Effect,
    /// The kind of answer.
    pub answer: AnswerKind,
    /// How callers read further pages.
    pub pages: Option<Pages>,
    /// `true` if it may take long.
    pub background: bool,
    /// `true` if it only forwards.
    pub immediate: bool,
    /// Name of the rate limit that applies.
    pub rate_limit: Option<&'static str>,
}

/// How an answer is divided into pages.
#[derive(Clone, Copy)]
pub struct Pages {
    /// JSON Pointer to the array of items in the answer.
    pub items: &'static str,
    /// How the next page is found.
    pub next: NextPage,
    /// JSON Pointer to the member of the input that takes the next page.
    pub input: &'static str,
}

/// How the next page is found.
#[derive(Clone, Copy)]
pub enum NextPage {
    /// The answer has a value at this JSON Pointer.
    Cursor(&'static str),
    /// The answer has a URL with a query parameter.
    Link {
        /// JSON Pointer to the URL.
        pointer: &'static str,
        /// Name of the query parameter.
        parameter: &'static str,
    },
    /// The input is the number of a page; the first page has this number.
    PageNumber(u32),
    /// The input is the number of items to skip.
    Offset,
}

/// An operation that is one request. The request follows from the input and this description.
pub struct Row {
    /// Method of the request.
    pub method: Method,
    /// Name of the upstream.
    pub upstream: &'static str,
    /// The path, without the query.
    pub path: &'static [Piece],
    /// Query that is always sent, encoded; may be empty.
    pub fixed_query: &'static str,
    /// Fields of the input, in the order of the row.
    pub fields: &'static [Field],
    /// Query parameters that are sent unless the caller gives them.
    pub default_query: &'static [DefaultQuery],
    /// Headers that the table sets.
    pub headers: &'static [Header],
    /// The request body.
    pub body: Body,
    /// How the body is written.
    pub encoding: BodyEncoding,
}

/// How the body of a row is written.
#[derive(Clone, Copy)]
pub enum BodyEncoding {
    /// As JSON.
    Json,
    /// As `application/x-www-form-urlencoded`.
    Form,
    /// As `multipart/form-data`, by this function. Only a table with such a row imports the
    /// gateway's interface for it.
    Multipart(fn(&'static Row, &[Member<'_>], &str) -> Result<HttpBody, Fault>),
}

/// A part of a path or of a header's value.
pub enum Piece {
    /// Fixed text.
    Text(&'static str),
    /// The value of the field with this index.
    Field(usize),
    /// A setting: its name, and the function that reads it. Only a table with such a piece imports
    /// the gateway's settings.
    Setting(&'static str, fn() -> Result<Option<String>, Fault>),
}

/// A field of the input: the part of its declaration that the request depends on.
pub struct Field {
    /// Its name in the input.
    pub name: &'static str,
    /// The part of the request that takes its value.
    pub location: Location,
    /// `true` if the request cannot be made without it.
    pub required: bool,
    /// `true` if its numbers are integers, which may come as `1.0` or `1e2`.
    pub integer: bool,
    /// How a list is sent.
    pub lists: Lists,
    /// Maximum size in bytes: of a string's value, or of the JSON text of any other value.
    pub max_bytes: Option<usize>,
    /// JSON text that is sent if the field is absent.
    pub default: Option<&'static str>,
    /// `true` if null is sent. Otherwise null means that the field is absent.
    pub nullable: bool,
}

/// The part of the request that takes a value.
pub enum Location {
    /// A part of the path.
    Path(Encoding),
    /// A query parameter of this name.
    Query(&'static str),
    /// The value is an object whose members are query parameters.
    QueryEntries,
    /// A member of the body at these quoted names, outermost first.
    Body(&'static [&'static str]),
    /// The value is the body.
    WholeBody,
    /// A file, which is a part of this name.
    File(&'static str),
    /// A header of this name.
    Header(&'static str),
    /// The value is an object whose members are headers.
    HeaderEntries,
}

/// How a value is written into a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// All characters except RFC 3986's unreserved ones are percent-encoded, so that the value is
    /// one segment.
    Segment,
    /// Slashes are not encoded, so that the value may have several segments.
    Path,
    /// Single quotes are doubled before the value is percent-encoded, as in an OData string
    /// literal.
    ODataString,
}

/// How a list is sent.
pub enum Lists {
    /// As JSON, in a body.
    AsTheyAre,
    /// As one value with this separator, which is percent-encoded in a query.
    Joined(&'static str),
    /// As one parameter for each item.
    Repeated,
}

/// A query parameter that is sent unless the caller gives it or one of some others.
pub struct DefaultQuery {
    /// `name=value`, encoded.
    pub parameter: &'static str,
    /// The parameters that suppress it, its own name included.
    pub unless: &'static [&'static str],
}

/// A header that the table sets.
pub struct Header {
    /// Name of the header.
    pub name: &'static str,
    /// Its value.
    pub value: &'static [Piece],
    /// The header is sent only if the caller gave one of these query parameters. If the list is
    /// empty, it is always sent.
    pub when: &'static [Trigger],
}

/// A query parameter that a header is sent with.
pub struct Trigger {
    /// Name of the parameter.
    pub parameter: &'static str,
    /// A value for which the header is not sent, for example `false`.
    pub unless: Option<&'static str>,
}

impl Header {
    /// Name and value. `None` if a setting in the value has no value.
    pub(crate) fn pair(&self) -> Result<Option<(String, String)>, Fault> {
        let mut value = String::new();
        for piece in self.value {
            match piece {
                Piece::Text(text) => value.push_str(text),
                Piece::Setting(_, read) => match read()? {
                    Some(text) => value.push_str(&text),
                    None => return Ok(None),
                },
                Piece::Field(_) => {}
            }
        }
        Ok(Some((self.name.to_owned(), value)))
    }
}

/// The request body of a row.
pub enum Body {
    /// The request has no body.
    None,
    /// The value of the field with this index, if the caller gives it.
    Whole(usize),
    /// An object: members that are always sent, as JSON text without braces, then the fields with
    /// these indices.
    Members {
        /// May be empty.
        fixed: &'static str,
        /// Members of one inner object follow one another.
        fields: &'static [usize],
    },
}
