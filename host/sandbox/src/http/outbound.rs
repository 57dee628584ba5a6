//! The requests of one invocation.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::{BoxFuture, ready};
use hyper::StatusCode;
use memory::MemoryBudget;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::guest_errors::{GuestErrors, in_contract};
use super::hook::Hook;
use super::method::{method, method_for_guest};
use crate::bindings::gateway::connector::http as wit;
use crate::bindings::gateway::connector::signed_links::LinkRequest;
use egress::{CallRecord, Credential, Egress, EgressError, Headers, Tracing, Upstream};

/// Sends the requests of one invocation to its upstreams.
#[derive(Clone)]
pub struct Outbound {
    /// `None` while a module describes itself, because it must not send requests then. Clones share
    /// this `Arc`, so that they do not change a reference count that other calls change too.
    route: Option<Arc<Route>>,
    /// Shared by all clones.
    record: Arc<CallRecord>,
    waits_for_rate_limits: bool,
    gives_way: bool,
    trace: Option<Arc<dyn Tracing>>,
    hook: Option<Hook>,
}

struct Route {
    egress: Egress,
    upstreams: Arc<HashMap<String, Upstream>>,
    deadline: Instant,
    credentials: Option<Arc<dyn CredentialSource>>,
    errors: GuestErrors,
}

/// The source of the user's credential for the requests of an invocation.
pub trait CredentialSource: Send + Sync {
    /// The credential that requests carry now.
    fn credential(&self) -> Credential;

    /// A new credential in place of one that an upstream has just refused with 401. `None` if there
    /// is no other one.
    fn refresh<'a>(&'a self, refused: &'a Credential) -> BoxFuture<'a, Option<Credential>>;
}

/// A credential that is never refreshed.
impl CredentialSource for Credential {
    fn credential(&self) -> Credential {
        self.clone()
    }

    fn refresh<'a>(&'a self, _: &'a Credential) -> BoxFuture<'a, Option<Credential>> {
        Box::pin(ready(None))
    }
}

/// A request that a connector composed. Its rules are checked when it is sent.
pub struct Request {
    /// The name of an upstream.
    pub(super) upstream: String,
    pub(super) method: wit::Method,
    pub(super) target: egress::Target,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: egress::Body,
    pub(super) omit_credential: bool,
}

/// A request that a caller composed.
pub struct CallerRequest {
    /// The method.
    pub method: hyper::Method,
    /// Appended to the upstream's base URL. May have a query.
    pub path: String,
    /// The headers, without those that the gateway adds.
    pub headers: Headers,
    /// The body.
    pub body: egress::Body,
}

impl Request {
    /// The request of a row.
    pub(crate) fn of_row(
        method: rows::Method,
        upstream: &str,
        path: String,
        headers: Vec<(String, String)>,
        body: egress::Body,
    ) -> Self {
        Self {
            upstream: upstream.to_owned(),
            method: method_for_guest(method),
            target: egress::Target::Path(path),
            headers,
            body,
            omit_credential: false,
        }
    }

    /// The same request for a part of the resource (RFC 9110, section 14.2), if it is a GET without
    /// a `Range`.
    #[must_use]
    pub fn for_range(mut self, range: &str) -> Self {
        let has_range = self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("range"));
        if matches!(self.method, wit::Method::Get) && !has_range {
            self.headers.push(("range".to_owned(), range.to_owned()));
        }
        self
    }

    /// The memory that the request takes until its response arrives. A form may have three times
    /// its size once it is encoded.
    pub fn size(&self) -> usize {
        let pairs =
            |pairs: &[(String, String)]| pairs.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
        let body = match &self.body {
            egress::Body::Json(bytes) | egress::Body::Typed { bytes, .. } => bytes.len(),
            egress::Body::Form(fields) => 4 * pairs(fields) + size_of_val(fields.as_slice()),
            // A form with files is counted when it is built.
            egress::Body::Empty | egress::Body::Multipart(_) | egress::Body::Streamed { .. } => 0,
        };
        let target = match &self.target {
            egress::Target::Path(path) => path.len(),
            // A link is counted when it is made.
            egress::Target::Link(_) => 0,
        };
        self.upstream.len() + body + target + pairs(&self.headers)
    }
}

impl Outbound {
    /// Sends requests to the upstreams of one connector until `deadline`. `credentials` is `None`
    /// if the users of the connector need no account. What happens to the requests is noted in
    /// `record`.
    pub fn new(
        egress: Egress,
        upstreams: Arc<HashMap<String, Upstream>>,
        deadline: Instant,
        credentials: Option<Arc<dyn CredentialSource>>,
        record: CallRecord,
    ) -> Self {
        let route = Arc::new(Route { egress, upstreams, deadline, credentials, errors: GuestErrors::default() });
        Self::with(Some(route), Arc::new(record))
    }

    /// Puts the address and the secret of an inbox in place of their placeholders.
    #[must_use]
    pub fn with_hook(mut self, hook: Hook) -> Self {
        self.hook = Some(hook);
        self
    }

    /// Requests wait for rate limits of upstreams. For operations whose callers do not wait for the
    /// answer.
    #[must_use]
    pub fn waiting_for_rate_limits(mut self) -> Self {
        self.waits_for_rate_limits = true;
        self
    }

    /// Requests give way to the requests of callers. For operations that no caller waits for.
    #[must_use]
    pub fn giving_way(mut self) -> Self {
        self.gives_way = true;
        self
    }

    /// Adds all further requests to a trace.
    pub fn trace(&mut self, trace: Option<Arc<dyn Tracing>>) {
        self.trace = trace;
    }

    /// Refuses every request.
    pub fn deny_all() -> Self {
        Self::with(None, Arc::default())
    }

    fn with(route: Option<Arc<Route>>, record: Arc<CallRecord>) -> Self {
        Self { route, record, waits_for_rate_limits: false, gives_way: false, trace: None, hook: None }
    }

    /// The memory that all calls may take together.
    pub(crate) fn memory(&self) -> MemoryBudget {
        self.route.as_ref().map_or_else(MemoryBudget::unlimited, |route| route.egress.memory().clone())
    }

    /// The record of what happened to the requests so far.
    pub fn record(&self) -> &Arc<CallRecord> {
        &self.record
    }

    /// An error of a request for the guest, in the terms of the contract.
    pub(super) fn to_guest(&self, error: EgressError) -> wit::Error {
        match &self.route {
            Some(route) => route.errors.give(error),
            None => in_contract(&error.with_short_detail()),
        }
    }

    /// The cause of an error that a connector passes on as `fault.http`. `None` if the guest did not
    /// get it from a request, or if the contract's error says as much.
    pub fn cause(&self, passed_on: &wit::Error) -> Option<EgressError> {
        self.route.as_ref()?.errors.cause(passed_on)
    }

    /// Sends a request of a connector. `limit` is the maximum size of the response's body in bytes.
    ///
    /// If the upstream refuses the credential with 401 and the source has a new one, the request is
    /// sent a second time. This is safe for every method, because an upstream that responds with
    /// 401 has not acted on the request.
    ///
    /// # Errors
    /// See [`EgressError`].
    pub async fn send(&self, request: Request, limit: u64) -> Result<egress::Response, EgressError> {
        let (route, upstream) = self.upstream(&request.upstream)?;
        let mut request = self.request(route, request, limit)?;
        // As the last step, and only in requests that the user has allowed.
        if let Some(hook) = &self.hook
            && request.carried(upstream).is_some()
        {
            request.body = hook.fill(request.body);
            request.further_secrets = Arc::clone(hook.masked());
        }
        self.send_refreshing(route, upstream, request).await
    }

    /// Sends a request that a caller composed, and not a connector. The rest is as in
    /// [`Outbound::send`], but a body that was streamed is not sent a second time.
    ///
    /// # Errors
    /// See [`EgressError`].
    pub async fn send_of_caller(
        &self,
        upstream: &str,
        request: CallerRequest,
        limit: u64,
    ) -> Result<egress::Response, EgressError> {
        let CallerRequest { method, path, headers, body } = request;
        let (route, upstream) = self.upstream(upstream)?;
        let request = egress::Request { headers, body, ..self.blank(route, method, egress::Target::Path(path), limit) };
        self.send_refreshing(route, upstream, request).await
    }

    async fn send_refreshing(
        &self,
        route: &Route,
        upstream: &Upstream,
        mut request: egress::Request,
    ) -> Result<egress::Response, EgressError> {
        self.record.request_begins();
        let response = route.egress.send(upstream, &request).await?;
        let (StatusCode::UNAUTHORIZED, true, Some(source), Some(used)) =
            (response.status, response.carried_credential, &route.credentials, &request.credential)
        else {
            return Ok(response);
        };
        let Ok(Some(better)) = timeout_at(route.deadline, source.refresh(used)).await else {
            return Ok(response);
        };
        if !request.body.is_repeatable() {
            // With the 401, the user would be asked to connect an account that works.
            return Err(EgressError::TokenRefreshed);
        }
        // Frees the pacing permit before the second request needs one.
        drop(response);
        request.credential = Some(better);
        route.egress.send(upstream, &request).await
    }

    /// A request as `egress` takes it.
    fn request(&self, route: &Route, request: Request, limit: u64) -> Result<egress::Request, EgressError> {
        Ok(egress::Request {
            headers: Headers::untrusted(request.headers.iter().map(|(name, value)| (name, value)))?,
            body: request.body,
            omit_credential: request.omit_credential,
            ..self.blank(route, method(request.method), request.target, limit)
        })
    }

    /// A request without headers and without a body.
    fn blank(&self, route: &Route, method: hyper::Method, target: egress::Target, limit: u64) -> egress::Request {
        egress::Request {
            credential: route.credentials.as_ref().map(|source| source.credential()),
            waits_for_rate_limit: self.waits_for_rate_limits,
            gives_way: self.gives_way,
            record: Some(Arc::clone(&self.record)),
            trace: self.trace.clone(),
            ..egress::Request::new(method, target, route.deadline, limit)
        }
    }

    /// The link to an address in a response that `upstream` sent from `response_url`.
    ///
    /// # Errors
    /// See [`Upstream::link`].
    pub(super) fn link(&self, upstream: &str, response_url: &Url, address: &str) -> Result<egress::Link, EgressError> {
        let (route, upstream) = self.upstream(upstream)?;
        let credential = route.credentials.as_ref().map(|source| source.credential());
        upstream.link(response_url, address, credential.as_ref())
    }

    /// A link with a signature in its query, for the user's credential.
    ///
    /// # Errors
    /// If the request breaks a rule, or if the credential makes no signed links.
    pub(crate) fn signed_link(&self, request: LinkRequest) -> Result<String, wit::Error> {
        let LinkRequest { method: verb, upstream, path, seconds } = request;
        let made = || {
            let (route, upstream) = self.upstream(&upstream)?;
            let credential = route.credentials.as_ref().map(|source| source.credential());
            upstream.signed_link(credential.as_ref(), &method(verb), &path, seconds)
        };
        made().map(String::from).map_err(|error| self.to_guest(error))
    }

    fn upstream(&self, name: &str) -> Result<(&Route, &Upstream), EgressError> {
        let Some(route) = &self.route else {
            return Err(EgressError::Denied {
                detail: "a module must not send requests while it describes itself".to_owned(),
            });
        };
        let upstream = route
            .upstreams
            .get(name)
            .ok_or_else(|| EgressError::InvalidRequest { detail: format!("the manifest has no upstream `{name}`") })?;
        Ok((route, upstream))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_change_no_count_that_other_calls_change() {
        let upstreams = Arc::default();
        let egress = Egress::new(&egress::Settings::default()).unwrap();
        let outbound = Outbound::new(egress, Arc::clone(&upstreams), Instant::now(), None, CallRecord::default());
        let traced = outbound.clone();
        assert_eq!(Arc::strong_count(&upstreams), 2);
        drop((outbound, traced));
        assert_eq!(Arc::strong_count(&upstreams), 1);
    }
}
