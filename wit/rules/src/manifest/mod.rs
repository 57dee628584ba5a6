//! All rules of a manifest.
//!
//! The types here correspond to the interface `manifest` in `wit/connector.wit`, as borrowed text.
//! The gateway and the SDK have different generated types for the same records, and convert both
//! into these types. They have only the parts that a rule needs.
//!
//! [`check()`] checks names, limits, addresses and references, [`check_auth_additions`] the
//! declarations of `auth-additions`, [`check_page_additions`] the declarations of
//! `page-additions`, and [`check_trigger_additions`] the declarations of `trigger-additions`.
//! [`check_schemas`] parses the schemas and examples; a gateway that checks untrusted connectors
//! calls it in the process that compiles their code.

mod auth;
mod auth_additions;
mod check;
mod page_additions;
#[cfg(test)]
mod tests;
mod texts;
mod trigger_additions;
mod upstream_additions;
mod view;
mod violations;

use std::fmt;

pub use auth_additions::{
    AppInstallation, AuthAdditions, DeviceCode, INSTALLATION_ID, ServiceAccount, check_auth_additions, is_ended_code,
    is_installation_path,
};
pub use check::{check, check_schemas};
pub use page_additions::{LastItem, check_page_additions};
pub use trigger_additions::{About, AboutOperation, check_trigger_additions};
pub use upstream_additions::{Part, PartSource, UpstreamAdditions};

use crate::Broken;

/// A manifest.
#[derive(Clone, Debug)]
pub struct Manifest<'a> {
    /// The name in the path.
    pub identifier: &'a str,
    /// The version.
    pub version: &'a str,
    /// The title.
    pub title: &'a str,
    /// The description.
    pub description: &'a str,
    /// Publisher and licence.
    pub imprint: Imprint<'a>,
    /// How users authenticate.
    pub auth: Auth<'a>,
    /// The services that the connector may call.
    pub upstreams: Vec<Upstream<'a>>,
    /// Rate limits that operations share.
    pub rate_limits: Vec<RateLimit<'a>>,
    /// Values that the operator may set.
    pub settings: Vec<Setting<'a>>,
    /// The operations.
    pub operations: Vec<Operation<'a>>,
    /// The declarations about its upstreams, which are not in the record.
    pub upstream_additions: UpstreamAdditions<'a>,
}

/// Publisher and licence of a connector.
#[derive(Clone, Debug)]
pub struct Imprint<'a> {
    /// SPDX expression, may be empty.
    pub license: &'a str,
    /// URL of the home page.
    pub homepage: Option<&'a str>,
    /// Name of the author.
    pub author: Option<&'a str>,
    /// SVG image.
    pub icon: Option<&'a str>,
}

/// A service.
#[derive(Clone, Debug)]
pub struct Upstream<'a> {
    /// The name.
    pub name: &'a str,
    /// The base URL.
    pub base_url: &'a str,
    /// `true` if requests carry the credential in a form field.
    pub credential_in_form: bool,
    /// Other hosts of redirects and links.
    pub link_hosts: Vec<&'a str>,
    /// Maximum number of concurrent calls, if calls are paced.
    pub concurrency: Option<u32>,
}

/// A limit on the number of invocations.
#[derive(Clone, Debug)]
pub struct RateLimit<'a> {
    /// The name.
    pub name: &'a str,
    /// Invocations in a period.
    pub requests: u32,
    /// Length of the period.
    pub period_seconds: u32,
}

/// A value that the operator may set.
#[derive(Clone, Debug)]
pub struct Setting<'a> {
    /// The name.
    pub name: &'a str,
    /// JSON Schema of the value.
    pub schema: &'a str,
    /// The value if the operator does not set one.
    pub default: Option<&'a str>,
    /// Documentation for operators.
    pub documentation: &'a str,
}

/// An operation.
#[derive(Clone, Debug)]
pub struct Operation<'a> {
    /// The name in the path.
    pub path: &'a str,
    /// Documentation in one line.
    pub summary: &'a str,
    /// Further documentation.
    pub description: &'a str,
    /// JSON Schema of the input.
    pub input_schema: &'a str,
    /// An input.
    pub example: Option<&'a str>,
    /// `true` if callers may shape the answer.
    pub envelope: bool,
    /// `true` if the answer is JSON, and neither a file nor anything else.
    pub answers_json: bool,
    /// JSON Schema of the answer.
    pub answer_schema: Option<&'a str>,
    /// An answer.
    pub answer_example: Option<&'a str>,
    /// How callers read further pages.
    pub pagination: Option<Pagination<'a>>,
    /// `true` if the operation runs in the background unless the caller waits.
    pub background: bool,
    /// Name of the rate limit that applies.
    pub rate_limit: Option<&'a str>,
}

/// How an answer is divided into pages.
#[derive(Clone, Debug)]
pub struct Pagination<'a> {
    /// Pointer to the items.
    pub items: &'a str,
    /// Pointer to the cursor or link in the answer. `None` for page numbers and offsets.
    pub next: Option<&'a str>,
    /// Name of the query parameter, if `next` leads to a link.
    pub parameter: Option<&'a str>,
    /// Pointer to the member of the input.
    pub input: &'a str,
}

/// How users authenticate.
#[derive(Clone, Debug)]
pub enum Auth<'a> {
    /// Users need no account.
    None,
    /// OAuth 2.0.
    Oauth2(Oauth2<'a>),
    /// A key.
    ApiKey(ApiKey<'a>),
}

impl<'a> Auth<'a> {
    /// The operation that identifies an account, or tests its key. The gateway invokes it with the
    /// body `{}`.
    fn account_operation(&self) -> Option<&'a str> {
        match self {
            Self::None => None,
            Self::Oauth2(scheme) => scheme.identity.as_ref().map(|identity| identity.operation),
            Self::ApiKey(key) => key.check,
        }
    }
}

/// An OAuth 2.0 client.
#[derive(Clone, Debug)]
pub struct Oauth2<'a> {
    /// Name of the provider.
    pub provider: &'a str,
    /// URL of the authorization endpoint, may be empty.
    pub authorization_url: &'a str,
    /// URL of the token endpoint, may be empty.
    pub token_url: &'a str,
    /// URL for refreshing tokens.
    pub refresh_url: Option<&'a str>,
    /// URL of the revocation.
    pub revocation_url: Option<&'a str>,
    /// The scopes.
    pub scopes: Vec<&'a str>,
    /// Separator between scopes.
    pub scope_separator: &'a str,
    /// Name of the scope parameter.
    pub scope_parameter: &'a str,
    /// Further parameters of the authorization request.
    pub authorization_parameters: Vec<(&'a str, &'a str)>,
    /// Further parameters of token requests.
    pub token_parameters: Vec<(&'a str, &'a str)>,
    /// Pointer to the object in the token response.
    pub token_pointer: &'a str,
    /// Form field for the access token.
    pub form_field: Option<&'a str>,
    /// How the identity of an account is found.
    pub identity: Option<Identity<'a>>,
}

/// How the identity of an account is found.
#[derive(Clone, Debug)]
pub struct Identity<'a> {
    /// The operation.
    pub operation: &'a str,
    /// Pointers into its answer: id, email and name, as far as they are given.
    pub pointers: Vec<&'a str>,
}

/// A key of a user.
#[derive(Clone, Debug)]
pub struct ApiKey<'a> {
    /// Name of the header that carries the key, if a header does.
    pub header: Option<&'a str>,
    /// Text before the key in the header.
    pub prefix: Option<&'a str>,
    /// Name of the query parameter that carries the key, if one does.
    pub query: Option<&'a str>,
    /// Form field for the key.
    pub form_field: Option<&'a str>,
    /// The operation that tests the key.
    pub check: Option<&'a str>,
}

/// A rule that a manifest breaks, with the part that breaks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The part of the manifest, for example ``upstream `api` ``.
    pub part: String,
    /// The rule.
    pub broken: Broken,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.part, self.broken)
    }
}

/// A name from a manifest at a length that fits a log line.
fn shorten(name: &str) -> String {
    name.chars().take(80).collect::<String>().escape_debug().to_string()
}
