//! One connection to an upstream.

use std::error::Error;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::Either;
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1, http2};
use hyper::header::{HOST, HeaderValue};
use hyper::http::uri::{Parts, PathAndQuery};
use hyper::rt::{Read, Write};
use hyper::{Response, Uri};
use hyper_rustls::MaybeHttpsStream;
use hyper_util::client::legacy::connect::Connection as _;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::net::TcpStream;

use super::super::connector::Connector;
use super::super::streamed_body::OutgoingBody;
use super::Outgoing;
use super::watched::{Guard, Watched};

/// An HTTP/2 peer that is silent for this time while requests wait is asked if it is there, and has
/// twice the time to answer, because this process may stand still, too. All requests to an origin
/// share the connection, so they would time out one after the other until the operating system
/// gives up, a quarter of an hour later.
const PING: Duration = Duration::from_secs(10);

/// A connection that can take a request.
pub(super) enum Connection {
    /// Takes one request at a time.
    Http1 {
        sender: http1::SendRequest<OutgoingBody>,
        /// The header `Host` of its requests.
        host: HeaderValue,
        /// Knows if a request found the connection closed.
        guard: Guard,
    },
    /// Takes many requests at a time, each by a clone.
    Http2 {
        sender: http2::SendRequest<OutgoingBody>,
        /// The address of its requests, with an empty path.
        origin: Uri,
    },
}

impl Connection {
    /// Makes a connection to the host of an address.
    pub(super) async fn make(connector: Connector, address: Uri) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let host = HeaderValue::from_str(address.authority().map_or("", |authority| authority.as_str()))?;
        // The path is left out, because it may contain a secret.
        let mut origin = address.into_parts();
        origin.path_and_query = Some(PathAndQuery::from_static("/"));
        let origin = Uri::from_parts(origin)?;
        let stream = connector.connect(origin.clone()).await?;
        let knows_http2 = stream.connected().is_negotiated_h2();
        match stream {
            // Each kind of stream has its own call. A common type would give every task room for
            // the larger stream.
            MaybeHttpsStream::Http(stream) => Self::http1(stream, |stream| stream.inner(), host).await,
            MaybeHttpsStream::Https(stream) if knows_http2 => {
                let mut builder = http2::Builder::new(TokioExecutor::new());
                builder.timer(TokioTimer::new()).keep_alive_interval(PING).keep_alive_timeout(2 * PING);
                let (sender, driver) = builder.handshake(stream).await?;
                tokio::spawn(driver.map(drop));
                Ok(Self::Http2 { sender, origin })
            }
            MaybeHttpsStream::Https(stream) => {
                Self::http1(stream, |stream| stream.inner().get_ref().0.inner().inner(), host).await
            }
        }
    }

    async fn http1<S: Read + Write + Unpin + Send + 'static>(
        stream: S,
        tcp: fn(&S) -> &TcpStream,
        host: HeaderValue,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let (stream, guard) = Watched::new(stream, tcp);
        let (sender, driver) = http1::handshake(stream).await?;
        tokio::spawn(driver.map(drop));
        Ok(Self::Http1 { sender, host, guard })
    }

    /// The same connection, for another request at the same time. `None` if it takes only one.
    pub(super) fn shared(&self) -> Option<Self> {
        match self {
            Self::Http1 { .. } => None,
            Self::Http2 { sender, origin } => Some(Self::Http2 { sender: sender.clone(), origin: origin.clone() }),
        }
    }

    /// Sends the next request only if the peer has not closed the connection. An HTTP/2 peer itself
    /// says which requests it has not processed.
    pub(super) fn guard_next(&self) {
        if let Self::Http1 { guard, .. } = self {
            guard.arm();
        }
    }

    /// Returns `true` if nothing of the guarded request was sent, because the peer had closed the
    /// connection.
    pub(super) fn has_refused(&self) -> bool {
        matches!(self, Self::Http1 { guard, .. } if guard.has_refused())
    }

    pub(super) fn is_closed(&self) -> bool {
        match self {
            Self::Http1 { sender, .. } => sender.is_closed(),
            Self::Http2 { sender, .. } => sender.is_closed(),
        }
    }

    /// Sends a request.
    ///
    /// # Errors
    /// If there is no response. The error contains the request if it was not sent.
    // Not an async function: its future would have room for the request twice.
    pub(super) fn exchange(
        &mut self,
        mut request: Outgoing,
    ) -> impl Future<Output = Result<Response<Incoming>, TrySendError<Outgoing>>> + use<> {
        match self {
            Self::Http1 { sender, host, .. } => {
                request.headers_mut().insert(HOST, host.clone());
                Either::Left(sender.try_send_request(request))
            }
            Self::Http2 { sender, origin } => {
                let path = request.uri().path_and_query().cloned();
                let mut parts: Parts = origin.clone().into_parts();
                parts.path_and_query = path.or(parts.path_and_query);
                // All parts are present, so this does not fail.
                *request.uri_mut() = Uri::from_parts(parts).unwrap_or_default();
                request.headers_mut().remove(HOST);
                Either::Right(sender.try_send_request(request))
            }
        }
    }
}
