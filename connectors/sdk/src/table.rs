//! The data that `connector!` makes from a table: constants, which are read in place. Nothing is
//! built before it is needed.

use crate::bindings::gateway::connector::http::Method;
pub use crate::bindings::gateway::connector::manifest::{Answer as AnswerKind, CredentialUse, Effect, Pacing};
use crate::config::OfGateway;
use crate::outcome::Answer;
use crate::{Fault, Request};
pub use contract_rules::account_address::PartForm;
pub use rows::{
    BodyEncoding, DefaultQuery, Encoding, Field, Header, Lists, Location, Method as RowMethod, Payload, Piece, Row,
    Trigger,
};

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
    /// How the service notifies the gateway.
    pub inboxes: &'static [crate::triggers::Inbox],
    /// The types of events.
    pub triggers: &'static [crate::triggers::Trigger],
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
            request.headers.extend(header.pair(&OfGateway)?);
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
    /// The source of the value.
    pub source: PartSource,
}

/// The source of the value of a part.
pub enum PartSource {
    /// The user gives it.
    User,
    /// It is at this JSON Pointer of the service's answer about the account.
    Account(&'static str),
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
    /// The row, if the operation is one request, of which the gateway makes it.
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
    /// The last item of the page has a value at a JSON Pointer. Since contract 1.2.
    LastItem {
        /// JSON Pointer that leads from the item. Empty if the items are the values.
        pointer: &'static str,
        /// JSON Pointer to a boolean of the answer, which is false or absent on the last page. `None`
        /// if a page without items follows the last page.
        more: Option<&'static str>,
    },
}
