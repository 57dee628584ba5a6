//! The functions of the `http` interface.

use bytes::Bytes;
use futures_util::future::join_all;
use hyper::body::Body as _;
use hyper::header::HeaderValue;
use wasmtime::component::Resource;

use super::link::Link;
use super::outbound::Request;
use super::response::{Open, Response, ResponseBody, ResponseSource};
use crate::bindings::gateway::connector::http as wit;
use crate::bindings::gateway::connector::http::{Error, Host, HostLink, HostResponse};
use crate::bindings::gateway::connector::json::Kind;
use crate::document::{Document, read_by};
use crate::guest::Guest;
use crate::host_memory::TooMuchHeld;
use crate::limits::Awaited;
use contract_rules::limit::{OPEN_RESPONSES, PARALLEL_REQUESTS, PEEK_BYTES};
use contract_rules::link;
use egress::EgressError;

/// The memory that an open response counts as: roughly the bytes that the connection reads ahead of
/// the guest.
const BUFFERED_BYTES: usize = 64 << 10;

impl Guest {
    /// Counts a request. Returns `false` if the invocation has sent too many.
    fn admit_request(&mut self) -> bool {
        self.requests = self.requests.saturating_add(1);
        self.requests <= self.limits.requests
    }

    /// Reserves the resources for a response, whose body keeps a connection until the guest has
    /// read or dropped it.
    fn open_response(&mut self) -> wasmtime::Result<Result<Open, Error>> {
        if self.open_responses >= OPEN_RESPONSES {
            return Ok(Err(Error::InvalidRequest(format!(
                "{OPEN_RESPONSES} responses are open; read the body of one, or drop it, before you send the next request"
            ))));
        }
        let Some(connection) = self.module.connections.take(1) else { return Ok(Err(Error::Busy(1))) };
        let mut buffered = self.call.outbound.memory().part();
        if let Err(exhausted) = buffered.grow_to(BUFFERED_BYTES) {
            return Ok(Err(self.call.outbound.to_guest(exhausted.into())));
        }
        let held = self.host_memory.hold_shared(BUFFERED_BYTES)?;
        self.open_responses += 1;
        Ok(Ok(Open { _connection: connection, _buffered: buffered, _held: held }))
    }

    /// Releases the resources of a response that no longer has a connection.
    fn close_response(&mut self, open: Option<Open>) {
        if open.is_some() {
            self.open_responses -= 1;
        }
    }

    /// Puts a response into the table of the guest.
    fn add_response(
        &mut self,
        upstream: String,
        sent: Result<egress::Response, EgressError>,
        open: Open,
    ) -> wasmtime::Result<Result<Resource<Response>, Error>> {
        let response = match sent {
            Ok(response) => response,
            Err(error) => {
                self.close_response(Some(open));
                return Ok(Err(self.call.outbound.to_guest(error)));
            }
        };
        let mut open = Some(open);
        if response.body.is_end_stream() {
            self.close_response(open.take());
        }
        let headers: usize = response.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        let (url, is_own) = (response.url(), response.is_own);
        let _held = self.host_memory.hold(headers + url.as_str().len() + upstream.len())?;
        let source = Some(ResponseSource { upstream, url, is_own, _held });
        Ok(Ok(self.table.push(Response { source, open, ..response.into() })?))
    }

    async fn read_body(&mut self, response: &Resource<Response>) -> wasmtime::Result<Result<Bytes, Error>> {
        let limit = self.limits.response_bytes;
        let _waiting = self.wait_for(Awaited::Upstream);
        let response = self.table.get_mut(response)?;
        let body = response.read_body(limit, &mut self.host_memory).await?;
        let open = response.open.take();
        self.close_response(open);
        Ok(body.map_err(|error| match error {
            EgressError::TooLarge { limit } => Error::TooLarge(format!(
                "the upstream's response is larger than {limit} bytes: request less, or raise `limits.response_mb`"
            )),
            error => self.call.outbound.to_guest(error),
        }))
    }

    /// A body as text. Each byte that is not UTF-8 becomes three.
    fn lossy(&self, body: &Bytes) -> Result<String, TooMuchHeld> {
        match std::str::from_utf8(body) {
            Ok(text) => self.host_memory.admit(text.len()).map(|()| text.to_owned()),
            Err(_) => {
                self.host_memory.admit(body.len().saturating_mul(3))?;
                Ok(String::from_utf8_lossy(body).into_owned())
            }
        }
    }

    /// Puts the link to an address in a response into the table of the guest.
    fn add_link(
        &mut self,
        response: &Resource<Response>,
        address: &str,
    ) -> wasmtime::Result<Result<Option<Resource<Link>>, Error>> {
        let Some(source) = &self.table.get(response)?.source else {
            wasmtime::bail!("the response has no source");
        };
        match self.call.outbound.link(&source.upstream, &source.url, address) {
            Ok(link) => {
                let link = if source.is_own { link } else { link.of_another_place() };
                // A relative address gets the beginning of the response's address.
                let held = self.host_memory.hold(source.url.as_str().len() + address.len())?;
                Ok(Ok(Some(self.table.push(Link::new(link, held))?)))
            }
            Err(error) => Ok(Err(self.call.outbound.to_guest(error))),
        }
    }
}

impl Request {
    /// Converts a request of the guest. Removes the link that it owns from the table of the guest.
    ///
    /// # Errors
    /// If the link is not in the table.
    pub(crate) fn from_guest(request: wit::Request, guest: &mut Guest) -> wasmtime::Result<Self> {
        Ok(Self {
            target: match request.target {
                wit::Target::Path(path) => egress::Target::Path(path),
                wit::Target::Link(link) => egress::Target::Link(guest.table.delete::<Link>(link)?.into_address()),
            },
            upstream: request.upstream,
            method: request.method,
            headers: request.headers,
            body: body(request.body, guest),
            omit_credential: request.omit_credential,
        })
    }
}

/// The body of a request of the guest.
fn body(body: Option<wit::Body>, guest: &Guest) -> egress::Body {
    match body {
        None => egress::Body::Empty,
        Some(wit::Body::Json(text)) => egress::Body::Json(text.into()),
        Some(wit::Body::Form(fields)) => egress::Body::Form(fields),
        Some(wit::Body::Bytes(typed)) => match guest.built_multipart(&typed) {
            Some(multipart) => egress::Body::Multipart(multipart),
            None => egress::Body::Typed { content_type: typed.content_type, bytes: typed.bytes.into() },
        },
    }
}

impl Host for Guest {
    async fn send(&mut self, request: wit::Request) -> wasmtime::Result<Result<Resource<Response>, Error>> {
        let request = Request::from_guest(request, self)?;
        if !self.admit_request() {
            return Ok(Err(Error::TooManyRequests));
        }
        let open = match self.open_response()? {
            Ok(open) => open,
            Err(error) => return Ok(Err(error)),
        };
        let _held = self.host_memory.hold(request.size())?;
        let upstream = request.upstream.clone();
        let _waiting = self.wait_for(Awaited::Upstream);
        let sent = self.call.outbound.send(request, self.limits.largest_response()).await;
        self.add_response(upstream, sent, open)
    }

    async fn send_all(
        &mut self,
        requests: Vec<wit::Request>,
    ) -> wasmtime::Result<Vec<Result<Resource<Response>, Error>>> {
        let requests = requests
            .into_iter()
            .map(|request| Request::from_guest(request, self))
            .collect::<wasmtime::Result<Vec<Request>>>()?;
        if requests.len() > PARALLEL_REQUESTS {
            let detail = format!("at most {PARALLEL_REQUESTS} requests in one send-all");
            return Ok(requests.iter().map(|_| Err(Error::InvalidRequest(detail.clone()))).collect());
        }
        let _held = self.host_memory.hold(requests.iter().map(Request::size).sum())?;
        let mut admitted = Vec::with_capacity(requests.len());
        for request in requests {
            let open = if self.admit_request() { self.open_response()? } else { Err(Error::TooManyRequests) };
            admitted.push(open.map(|open| (request, open)));
        }
        let _waiting = self.wait_for(Awaited::Upstream);
        let outbound = &self.call.outbound;
        let limit = self.limits.largest_response();
        let sent = join_all(admitted.into_iter().map(|admitted| async move {
            let (request, open) = admitted?;
            let upstream = request.upstream.clone();
            Ok((upstream, outbound.send(request, limit).await, open))
        }))
        .await;
        sent.into_iter()
            .map(|sent| match sent {
                Ok((upstream, sent, open)) => self.add_response(upstream, sent, open),
                Err(error) => Ok(Err(error)),
            })
            .collect()
    }
}

impl HostLink for Guest {
    fn drop(&mut self, link: Resource<Link>) -> wasmtime::Result<()> {
        self.table.delete(link)?;
        Ok(())
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

    fn header_link(
        &mut self,
        response: Resource<Response>,
        name: String,
    ) -> wasmtime::Result<Result<Option<Resource<Link>>, Error>> {
        let headers = &self.table.get(&response)?.headers;
        let values: Result<Vec<&str>, _> = headers.get_all(&name).iter().map(HeaderValue::to_str).collect();
        let Ok(values) = values else { return Ok(Err(Error::BadAnswer("the header is not text".to_owned()))) };
        // The header `Link` has several addresses, each with its relation.
        let address = if name.eq_ignore_ascii_case("link") { link::next_of(values) } else { values.into_iter().next() };
        match address.map(str::to_owned) {
            Some(address) => self.add_link(&response, &address),
            None => Ok(Ok(None)),
        }
    }

    async fn body_link(
        &mut self,
        response: Resource<Response>,
        pointer: String,
    ) -> wasmtime::Result<Result<Option<Resource<Link>>, Error>> {
        let body = match self.read_body(&response).await? {
            Ok(body) => body,
            Err(error) => return Ok(Err(error)),
        };
        let find = |guest: &mut Guest| {
            let document = match Document::parse(body.clone()) {
                Ok(document) => document,
                Err(error) => return Ok(Err(not_json(&error))),
            };
            let end = guest.call.cpu.end();
            let found = document.pointer(&pointer, &mut guest.host_memory, end)?;
            let Some(found) = found.filter(|found| found.kind() != Kind::Null) else { return Ok(Ok(None)) };
            match found.as_string(&guest.host_memory)? {
                Some(address) => guest.add_link(&response, &address),
                None => Ok(Err(Error::BadAnswer("the value at this JSON Pointer is not text".to_owned()))),
            }
        };
        self.compute(read_by(&pointer, body.len()), find).await
    }

    async fn peek(&mut self, response: Resource<Response>, length: u32) -> wasmtime::Result<Result<Vec<u8>, Error>> {
        let length = PEEK_BYTES.min(length as usize);
        let _waiting = self.wait_for(Awaited::Upstream);
        let first = match &mut self.table.get_mut(&response)?.body {
            ResponseBody::Unread(body) => body.peek(length).await.map(<[u8]>::to_vec),
            ResponseBody::Read(body) => Ok(body.get(..length).unwrap_or(body).to_vec()),
            ResponseBody::Failed(error) => Err(error.clone()),
        };
        Ok(first.map_err(|error| self.call.outbound.to_guest(error)))
    }

    async fn bytes(&mut self, response: Resource<Response>) -> wasmtime::Result<Result<Vec<u8>, Error>> {
        let body = match self.read_body(&response).await? {
            Ok(body) => body,
            Err(error) => return Ok(Err(error)),
        };
        let copy = |guest: &mut Guest| {
            guest.host_memory.admit(body.len())?;
            Ok(Ok(body.to_vec()))
        };
        self.compute(body.len(), copy).await
    }

    async fn text(&mut self, response: Resource<Response>) -> wasmtime::Result<Result<String, Error>> {
        let body = match self.read_body(&response).await? {
            Ok(body) => body,
            Err(error) => return Ok(Err(error)),
        };
        self.compute(body.len(), |guest| Ok(Ok(guest.lossy(&body)?))).await
    }

    async fn document(&mut self, response: Resource<Response>) -> wasmtime::Result<Result<Resource<Document>, Error>> {
        let body = match self.read_body(&response).await? {
            Ok(body) if body.trim_ascii().is_empty() => Bytes::from_static(b"{}"),
            Ok(body) => body,
            Err(error) => return Ok(Err(error)),
        };
        let bytes = body.len();
        let parse = |guest: &mut Guest| {
            Ok(match Document::parse(body) {
                Ok(document) => Ok(guest.table.push(document)?),
                Err(error) => Err(not_json(&error)),
            })
        };
        self.compute(bytes, parse).await
    }

    fn drop(&mut self, response: Resource<Response>) -> wasmtime::Result<()> {
        let response = self.table.delete(response)?;
        self.close_response(response.open);
        Ok(())
    }
}

fn not_json(error: &serde_json::Error) -> Error {
    Error::BadAnswer(format!("the upstream's response is not JSON: {error}"))
}
