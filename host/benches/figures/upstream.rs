//! The role `upstream`: a service on loopback that answers immediately, or when it is released.
//!
//! - `/items/{anything}`: an item, see [`item`]
//! - `/items/events`: a list of 100 kB
//! - `/items/slow`: the item, after the next request for `/release`
//! - `/nothing`: an empty body
//! - `/waiting`: the number of requests that wait for a release, as text

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use support::Authority;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::documents;
use crate::role::{self, Peer};
use crate::settings::Outcome;

/// Name of the role.
pub(crate) const NAME: &str = "upstream";

/// The path of [`item`].
pub(crate) const ITEM: &str = "/items/17?view=full";

/// The path of [`item`] for calls that wait for a release.
pub(crate) const SLOW_ITEM: &str = "/items/slow?view=full";

/// The number of events in the list.
const EVENTS: usize = 200;

/// A JSON object of 2 kB, which is a usual size for one object of a service.
pub(crate) fn item() -> Bytes {
    let members: Vec<String> = (0..20)
        .map(|index| {
            format!(
                r#""field_{index}":{{"id":"{:016x}","label":"A label of some length","amount":{}.50,"enabled":true}}"#,
                0x9E37_79B9_7F4A_7C15_u64.rotate_left(index),
                index * 997
            )
        })
        .collect();
    format!(r#"{{"kind":"item",{}}}"#, members.join(",")).into()
}

/// Starts a process in this role.
pub(crate) fn start() -> Outcome<Peer> {
    role::start(&[NAME])
}

/// The name of HTTP/2 in TLS, as [`start_with_tls`] takes it.
pub(crate) const HTTP2: &str = "h2";

/// The name of HTTP/1.1 in TLS.
pub(crate) const HTTP1: &str = "http/1.1";

/// Starts a process in this role that speaks TLS and this protocol. It writes the root certificate
/// that clients must trust to `roots`.
pub(crate) fn start_with_tls(roots: &Path, protocol: &str) -> Outcome<Peer> {
    role::start(&[NAME, roots.to_str().ok_or("the path is not UTF-8")?, protocol])
}

/// Serves until this process is ended. With a file for the root certificate and a protocol, the
/// service speaks TLS.
pub(crate) fn run(tls: Option<(&str, &str)>) -> Outcome<()> {
    let tls = tls.map(|(roots, protocol)| {
        let authority = Authority::new();
        authority.write_roots(Path::new(roots));
        TlsAcceptor::from(Arc::new(authority.server(&[protocol])))
    });
    // One thread is enough, and leaves the other processors to the measured process.
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let listener = role::listen().await?;
        let service =
            Service { item: item(), events: documents::events(EVENTS).into(), released: watch::Sender::new(0) };
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let (service, tls) = (service.clone(), tls.clone());
            tokio::spawn(async move {
                match tls {
                    None => service.serve(stream).await,
                    // The client closes the connection if it does not trust the certificate.
                    Some(tls) => match tls.accept(stream).await {
                        Ok(stream) => service.serve(stream).await,
                        Err(error) => eprintln!("upstream: {error}"),
                    },
                }
            });
        }
    })
}

#[derive(Clone)]
struct Service {
    item: Bytes,
    events: Bytes,
    /// Number of releases.
    released: watch::Sender<u64>,
}

impl Service {
    async fn serve(self, stream: impl AsyncRead + AsyncWrite + Unpin + 'static) {
        let service = Arc::new(self);
        let answer = service_fn(move |request| {
            let service = Arc::clone(&service);
            async move { service.answer(request).await }
        });
        // A client may close its connection at any time, which is no error here.
        let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), answer).await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let body = match request.uri().path() {
            "/items/slow" => {
                // This fails only without a sender, and the service holds the sender.
                let _ = self.released.subscribe().changed().await;
                self.item.clone()
            }
            "/items/events" => self.events.clone(),
            "/nothing" => Bytes::new(),
            "/waiting" => self.released.receiver_count().to_string().into(),
            "/release" => {
                self.released.send_modify(|times| *times += 1);
                Bytes::new()
            }
            _ => self.item.clone(),
        };
        let mut response = Response::new(Full::new(body));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(response)
    }
}
