//! Requests to upstreams.

use std::sync::Arc;

use hyper::Method;
use secrecy::SecretString;
use tokio::time::Instant;
use url::form_urlencoded;

use super::call_record::CallRecord;
use super::credential::Credential;
use super::error::EgressError;
use super::form_field::FormField;
use super::headers::Headers;
use super::link::Link;
use super::request_body::Body;
use super::tracing::Tracing;
use super::upstream::{CredentialUse, Upstream};

/// One request to an upstream.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method. GET and HEAD are retried. Others are retried only if the upstream certainly did
    /// not act on them.
    pub method: Method,
    /// The address.
    pub target: Target,
    /// The headers. Egress adds further ones.
    pub headers: Headers,
    /// The body. It is held in memory, so that the request can be retried.
    pub body: Body,
    /// The credential of the user. It is masked in the response in any case.
    pub credential: Option<Credential>,
    /// Further secrets in the request, which are masked in the response if it has a credential.
    pub further_secrets: Arc<[SecretString]>,
    /// Leaves the credential out. Otherwise a request to the upstream's own origin carries it as
    /// the upstream says.
    pub omit_credential: bool,
    /// The instant at which everything must have ended, including the reading of the response's
    /// body.
    pub deadline: Instant,
    /// Maximum size of the response's body in bytes, after decompression.
    pub limit: u64,
    /// After a rate limit (429), waits for the requested time and tries again. Otherwise the caller
    /// gets the rate limit.
    pub waits_for_rate_limit: bool,
    /// Gives way to other requests in the queue of a paced upstream: of all requests that do, one at
    /// a time is in the queue.
    pub gives_way: bool,
    /// Sends each attempt on a new connection, which no other request uses. A peer may close a
    /// connection between two requests just when the second one arrives, and no one then knows if
    /// it has processed the second one.
    pub on_new_connection: bool,
    /// Records what happens to the request. `None` if no one reads it later.
    pub record: Option<Arc<CallRecord>>,
    /// Traces the attempts. `None` if the call is not traced.
    pub trace: Option<Arc<dyn Tracing>>,
}

/// The address of a request.
#[derive(Clone, Debug)]
pub enum Target {
    /// Appended to the upstream's base URL. May have a query.
    Path(String),
    /// An address that a response of the same upstream contained.
    Link(Link),
}

impl Request {
    /// A request without headers, body and credential. The other fields can be set afterwards.
    pub fn new(method: Method, target: Target, deadline: Instant, limit: u64) -> Self {
        Self {
            method,
            target,
            headers: Headers::default(),
            body: Body::Empty,
            credential: None,
            further_secrets: Arc::default(),
            omit_credential: false,
            deadline,
            limit,
            waits_for_rate_limit: false,
            gives_way: false,
            on_new_connection: false,
            record: None,
            trace: None,
        }
    }

    /// The credential that the request carries to the upstream's own origin; `None` if it carries
    /// no credential.
    pub fn carried(&self, upstream: &Upstream) -> Option<&Credential> {
        let is_own = match &self.target {
            Target::Path(_) => true,
            Target::Link(link) => link.is_own(upstream),
        };
        let is_carried = is_own && !self.omit_credential && upstream.credential != CredentialUse::None;
        self.credential.as_ref().filter(|_| is_carried)
    }

    /// Checks a request that is about to carry the secret in a form field.
    ///
    /// # Errors
    /// `InvalidRequest` if the body is not a form, or if the body or the query already has a field
    /// of one of the names.
    pub(super) fn check_form_field(&self, field: &FormField) -> Result<(), EgressError> {
        let fields: &[(String, String)] = match &self.body {
            Body::Empty => &[],
            Body::Form(fields) => fields,
            Body::Json(_) | Body::Typed { .. } | Body::Multipart(_) | Body::Streamed { .. } => {
                return Err(EgressError::invalid(format!(
                    "the credential is sent in the form field `{}`, so the body must be a form or empty",
                    field.name
                )));
            }
        };
        let query = match &self.target {
            Target::Path(path) => path.split_once('?').map(|(_, query)| query).unwrap_or_default(),
            Target::Link(_) => "",
        };
        let in_query = form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name);
        let names = fields.iter().map(|(name, _)| name.as_str().into()).chain(in_query);
        for name in names {
            if let Some(reserved) = field.reserved_name(&name) {
                return Err(EgressError::invalid(format!(
                    "the request already has a field `{reserved}`, which is a name for the user's credential: leave the \
                     field out, or send the request without the credential"
                )));
            }
        }
        Ok(())
    }

    /// The credential if the request carries it as it was made, in a header or in the query.
    pub(super) fn carried_as_made(&self, upstream: &Upstream) -> Option<&Credential> {
        self.carried(upstream).filter(|_| upstream.credential == CredentialUse::Standard)
    }
}
