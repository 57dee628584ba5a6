//! The `http` interface: requests go out through egress, and responses stay on the host's side until they are asked for.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use futures_util::future::{BoxFuture, join_all, ready};
use hyper::body::Body as _;
use hyper::{HeaderMap, StatusCode};
use tokio::time::{Instant, timeout_at};
use wasmtime::component::Resource;

use super::bindings::gateway::connector::http::{Body, Credential as Place, Host, HostResponse, Method};
pub use super::bindings::gateway::connector::http::{Error, Request};
use super::host_memory::{Held, HostMemory, TooMuchHeld};
use super::invocation::Guest;
use super::json::Document;
use super::limits::MAX_REQUESTS;
use egress::{Credential, Egress, EgressError, Headers, Upstream, whole_seconds};

/// Requests of one `send-all`.
const MAX_PARALLEL: usize = 64;

/// Bytes that `peek` gives at most.
const MAX_PEEK: u32 = 4096;

/// The way from one invocation to its upstreams.
#[derive(Clone)]
pub struct Outbound {
    /// None where nothing may be called: while a module describes itself.
    way: Option<Way>,
    /// Requests that were sent, over all clones.
    sent: Arc<AtomicU32>,
}

#[derive(Clone)]
struct Way {
    egress: Egress,
    upstreams: Arc<HashMap<String, Upstream>>,
    deadline: Instant,
    credentials: Option<Arc<dyn CredentialSource>>,
}

/// Where the requests of an invocation get the user's credential from.
pub trait CredentialSource: Send + Sync {
    /// What requests carry now.
    fn credential(&self) -> Credential;

    /// Another one than the one that a service has just refused with 401; none where there is none to be had.
    fn refresh<'a>(&'a self, refused: &'a Credential) -> BoxFuture<'a, Option<Credential>>;
}

/// A credential by itself, which nothing renews.
impl CredentialSource for Credential {
    fn credential(&self) -> Credential {
        self.clone()
    }

    fn refresh<'a>(&'a self, _: &'a Credential) -> BoxFuture<'a, Option<Credential>> {
        Box::pin(ready(None))
    }
}

/// A response whose body waits to be asked for.
pub struct Response {
    status: StatusCode,
    headers: HeaderMap,
    body: ResponseBody,
    /// For the headers, while a guest has this.
    _held: Option<Held>,
}

/// The body of a response.
pub enum ResponseBody {
    /// On its way.
    Unread(egress::ResponseBody),
    /// Read as a whole.
    Read(Bytes),
    /// Broken when it was read.
    Failed(EgressError),
}

impl Outbound {
    /// Calls the upstreams of one connector, until `deadline`. Without `credentials` its users need none.
    pub fn new(
        egress: Egress,
        upstreams: Arc<HashMap<String, Upstream>>,
        deadline: Instant,
        credentials: Option<Arc<dyn CredentialSource>>,
    ) -> Self {
        Self { way: Some(Way { egress, upstreams, deadline, credentials }), sent: Arc::default() }
    }

    /// Calls nothing.
    pub fn nowhere() -> Self {
        Self { way: None, sent: Arc::default() }
    }

    /// How many requests were sent.
    pub fn sent(&self) -> u32 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Sends a request that a connector composed. `limit` is the most bytes its answer may have.
    ///
    /// A request whose credential is refused is sent once more if there is a better one, whatever its method: a service that
    /// answers 401 has not acted on it.
    ///
    /// # Errors
    /// See [`EgressError`].
    pub async fn send(&self, request: Request, limit: u64) -> Result<egress::Response, EgressError> {
        let Some(way) = &self.way else {
            return Err(EgressError::Denied { detail: "a module calls nothing while it describes itself".to_owned() });
        };
        let upstream = way.upstreams.get(&request.upstream).ok_or_else(|| EgressError::InvalidRequest {
            detail: format!("the manifest has no upstream `{}`", request.upstream),
        })?;
        let headers = Headers::untrusted(request.headers.iter().map(|(name, value)| (name, value)))?;
        let used = way.credentials.as_ref().map(|source| source.credential());
        let place = request.credential;
        let mut request = egress::Request {
            method: method(request.method),
            path: request.path,
            headers,
            body: match request.body {
                None => egress::Body::Empty,
                Some(Body::Json(text)) => egress::Body::Json(text.into()),
                Some(Body::Form(fields)) => egress::Body::Form(fields),
                Some(Body::Bytes(typed)) => {
                    egress::Body::Typed { content_type: typed.content_type, bytes: typed.bytes.into() }
                }
            },
            credential: placed(used.as_ref(), &place)?,
            deadline: way.deadline,
            limit,
        };
        self.sent.fetch_add(1, Ordering::Relaxed);
        let response = way.egress.send(upstream, &request).await?;
        let (StatusCode::UNAUTHORIZED, Some(_), Some(source), Some(used)) =
            (response.status, &request.credential, &way.credentials, &used)
        else {
            return Ok(response);
        };
        let Ok(Some(better)) = timeout_at(way.deadline, source.refresh(used)).await else {
            return Ok(response);
        };
        // Gives its place in the upstream's queue back before another is asked for.
        drop(response);
        request.credential = placed(Some(&better), &place)?;
        way.egress.send(upstream, &request).await
    }
}

/// The credential where a connector wants it.
fn placed(credential: Option<&Credential>, place: &Place) -> Result<Option<Credential>, EgressError> {
    match (place, credential) {
        (Place::Omitted, _) | (Place::Standard, None) => Ok(None),
        (Place::Standard, Some(credential)) => Ok(Some(credential.clone())),
        (Place::FormField(name), Some(credential)) => Ok(Some(credential.as_form_field(name))),
        (Place::FormField(_), None) => Err(EgressError::InvalidRequest {
            detail: "the connector's auth scheme gives no credential to put in a form field".to_owned(),
        }),
    }
}

fn method(method: Method) -> hyper::Method {
    match method {
        Method::Get => hyper::Method::GET,
        Method::Head => hyper::Method::HEAD,
        Method::Post => hyper::Method::POST,
        Method::Put => hyper::Method::PUT,
        Method::Patch => hyper::Method::PATCH,
        Method::Delete => hyper::Method::DELETE,
    }
}

/// An error as a connector sees it.
pub fn to_guest(error: EgressError) -> Error {
    match error {
        EgressError::InvalidRequest { detail } => Error::InvalidRequest(detail),
        EgressError::Denied { detail } => Error::Denied(detail),
        EgressError::RateLimited { retry_after } => {
            Error::RateLimited(u32::try_from(whole_seconds(retry_after)).unwrap_or(u32::MAX))
        }
        EgressError::TimedOut => Error::TimedOut,
        EgressError::TooLarge { .. } => Error::TooLarge(error.to_string()),
        EgressError::Unreachable { .. } => Error::Unreachable(error.to_string()),
        EgressError::BadAnswer { .. } => Error::BadAnswer(error.to_string()),
        EgressError::BadRedirect { .. } => Error::Denied(error.to_string()),
        EgressError::NotConfigured { .. } => Error::Failed(error.to_string()),
    }
}

impl From<egress::Response> for Response {
    fn from(response: egress::Response) -> Self {
        let body = ResponseBody::Unread(response.body);
        Self { status: response.status, headers: response.headers, body, _held: None }
    }
}

impl Response {
    /// The length that the upstream gave, or that the body was found to have.
    pub fn content_length(&self) -> Option<u64> {
        match &self.body {
            ResponseBody::Read(body) => Some(body.len() as u64),
            ResponseBody::Unread(body) => body.size_hint().exact(),
            ResponseBody::Failed(_) => None,
        }
    }

    /// The body, and whatever was read of it.
    pub fn into_body(self) -> ResponseBody {
        self.body
    }

    /// Reads the body as a whole, once.
    async fn read(&mut self, limit: u64, memory: &mut HostMemory) -> Result<Result<Bytes, EgressError>, TooMuchHeld> {
        let unread = ResponseBody::Failed(EgressError::TimedOut);
        let result = match std::mem::replace(&mut self.body, unread) {
            ResponseBody::Unread(body) => collect(body, limit, memory).await?,
            ResponseBody::Read(body) => Ok(body),
            ResponseBody::Failed(error) => Err(error),
        };
        self.body = match &result {
            Ok(body) => ResponseBody::Read(body.clone()),
            Err(error) => ResponseBody::Failed(error.clone()),
        };
        Ok(result)
    }
}

/// Never reads more than there is room for.
async fn collect(
    body: egress::ResponseBody,
    limit: u64,
    memory: &mut HostMemory,
) -> Result<Result<Bytes, EgressError>, TooMuchHeld> {
    let room = memory.left() as u64;
    match body.collect(limit.min(room)).await {
        Ok(body) => Ok(Ok(memory.hold(body.len())?.tie(body))),
        Err(EgressError::TooLarge { .. }) if room < limit => Err(TooMuchHeld),
        Err(error) => Ok(Err(error)),
    }
}

/// What a request takes until its answer is there. A form may have three times its size once it is encoded.
fn size(request: &Request) -> usize {
    let pairs = |pairs: &[(String, String)]| pairs.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
    let body = match &request.body {
        None => 0,
        Some(Body::Json(text)) => text.len(),
        Some(Body::Form(fields)) => 4 * pairs(fields),
        Some(Body::Bytes(typed)) => typed.bytes.len(),
    };
    body + request.path.len() + pairs(&request.headers)
}

impl Guest {
    /// Counts requests; `false` when there have been too many.
    fn admit_request(&mut self) -> bool {
        self.requests = self.requests.saturating_add(1);
        self.requests <= MAX_REQUESTS
    }

    fn keep(
        &mut self,
        sent: Result<egress::Response, EgressError>,
    ) -> wasmtime::Result<Result<Resource<Response>, Error>> {
        let response = match sent {
            Ok(response) => response,
            Err(error) => return Ok(Err(to_guest(error))),
        };
        let headers = response.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        let held = Some(self.host_memory.hold(headers)?);
        Ok(Ok(self.table.push(Response { _held: held, ..response.into() })?))
    }

    async fn read(&mut self, response: &Resource<Response>) -> wasmtime::Result<Result<Bytes, Error>> {
        let limit = self.limits.response_bytes;
        let body = self.table.get_mut(response)?.read(limit, &mut self.host_memory).await?;
        Ok(body.map_err(to_guest))
    }

    /// A body as text. Each byte that is none becomes three.
    fn lossy(&self, body: &Bytes) -> Result<String, TooMuchHeld> {
        match std::str::from_utf8(body) {
            Ok(text) => self.host_memory.admit(text.len()).map(|()| text.to_owned()),
            Err(_) => {
                self.host_memory.admit(body.len().saturating_mul(3))?;
                Ok(String::from_utf8_lossy(body).into_owned())
            }
        }
    }
}

impl Host for Guest {
    async fn send(&mut self, request: Request) -> wasmtime::Result<Result<Resource<Response>, Error>> {
        if !self.admit_request() {
            return Ok(Err(Error::TooManyRequests));
        }
        let _held = self.host_memory.hold(size(&request))?;
        let sent = self.call.outbound.send(request, self.limits.download_bytes).await;
        self.keep(sent)
    }

    async fn send_all(&mut self, requests: Vec<Request>) -> wasmtime::Result<Vec<Result<Resource<Response>, Error>>> {
        if requests.len() > MAX_PARALLEL {
            let detail = format!("at most {MAX_PARALLEL} requests in one send-all");
            return Ok(requests.iter().map(|_| Err(Error::InvalidRequest(detail.clone()))).collect());
        }
        let _held = self.host_memory.hold(requests.iter().map(size).sum())?;
        let admitted: Vec<bool> = requests.iter().map(|_| self.admit_request()).collect();
        let outbound = &self.call.outbound;
        let limit = self.limits.download_bytes;
        let sent = join_all(requests.into_iter().zip(admitted).map(|(request, admitted)| async move {
            if admitted { Some(outbound.send(request, limit).await) } else { None }
        }))
        .await;
        sent.into_iter()
            .map(|sent| match sent {
                Some(sent) => self.keep(sent),
                None => Ok(Err(Error::TooManyRequests)),
            })
            .collect()
    }
}

impl HostResponse for Guest {
    fn status(&mut self, response: Resource<Response>) -> wasmtime::Result<u16> {
        Ok(self.table.get(&response)?.status.as_u16())
    }

    fn header(&mut self, response: Resource<Response>, name: String) -> wasmtime::Result<Vec<String>> {
        let headers = &self.table.get(&response)?.headers;
        let values = headers.get_all(name).iter();
        Ok(values.filter_map(|value| value.to_str().ok()).map(str::to_owned).collect())
    }

    async fn peek(&mut self, response: Resource<Response>, length: u32) -> wasmtime::Result<Result<Vec<u8>, Error>> {
        let length = length.min(MAX_PEEK) as usize;
        Ok(match &mut self.table.get_mut(&response)?.body {
            ResponseBody::Unread(body) => body.peek(length).await.map(<[u8]>::to_vec).map_err(to_guest),
            ResponseBody::Read(body) => Ok(body.get(..length).unwrap_or(body).to_vec()),
            ResponseBody::Failed(error) => Err(to_guest(error.clone())),
        })
    }

    async fn bytes(&mut self, response: Resource<Response>) -> wasmtime::Result<Result<Vec<u8>, Error>> {
        let body = match self.read(&response).await? {
            Ok(body) => body,
            Err(error) => return Ok(Err(error)),
        };
        self.compute(|guest| {
            guest.host_memory.admit(body.len())?;
            Ok(Ok(body.to_vec()))
        })
    }

    async fn text(&mut self, response: Resource<Response>) -> wasmtime::Result<Result<String, Error>> {
        let body = match self.read(&response).await? {
            Ok(body) => body,
            Err(error) => return Ok(Err(error)),
        };
        self.compute(|guest| Ok(Ok(guest.lossy(&body)?)))
    }

    async fn document(&mut self, response: Resource<Response>) -> wasmtime::Result<Result<Resource<Document>, Error>> {
        let body = match self.read(&response).await? {
            Ok(body) if body.trim_ascii().is_empty() => Bytes::from_static(b"{}"),
            Ok(body) => body,
            Err(error) => return Ok(Err(error)),
        };
        self.compute(|guest| {
            Ok(match Document::parse(body) {
                Ok(document) => Ok(guest.table.push(document)?),
                Err(error) => Err(Error::BadAnswer(format!("the upstream's answer is not JSON: {error}"))),
            })
        })
    }

    fn drop(&mut self, response: Resource<Response>) -> wasmtime::Result<()> {
        self.table.delete(response)?;
        Ok(())
    }
}
