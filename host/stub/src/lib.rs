//! An HTTP server on loopback for unit tests. It sends prepared responses and records the requests.
//!
//! - [`Stub`]: a server that gets its responses from a closure
//! - [`raw`]: a server that runs a script for each connection, for responses that break HTTP
//! - [`answer`], [`ok`]: responses for the closure

#![expect(clippy::unwrap_used, reason = "a test that cannot start its server fails")]

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::header::HeaderMap;
use hyper::service::service_fn;
use hyper::{Method, StatusCode};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};

/// A response with a body in memory.
pub type Answer = hyper::Response<Full<Bytes>>;

/// A request that the server has received.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Method of the request.
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// Headers of the request.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

impl Seen {
    /// The value of a header. Panics if the value is not ASCII.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// A server that gets its responses from a closure and records the requests.
pub struct Stub {
    /// Loopback address and port of the server.
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Stub {
    /// Starts a server. The closure gets the request and the number of earlier requests.
    pub async fn start(answer: impl Fn(&Seen, usize) -> Answer + Send + Sync + 'static) -> Self {
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (answer, log) = (Arc::new(answer), Arc::clone(&seen));
        let address = raw(move |_, stream| {
            let (answer, log) = (Arc::clone(&answer), Arc::clone(&log));
            async move {
                let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| {
                    let (answer, log) = (Arc::clone(&answer), Arc::clone(&log));
                    async move {
                        let (head, body) = request.into_parts();
                        let body = body.collect().await.unwrap().to_bytes();
                        let seen =
                            Seen { method: head.method, path: head.uri.to_string(), headers: head.headers, body };
                        let before = {
                            let mut log = log.lock();
                            log.push(seen.clone());
                            log.len() - 1
                        };
                        Ok::<_, Infallible>(answer(&seen, before))
                    }
                });
                let _ =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            }
        })
        .await;
        Self { address, seen }
    }

    /// The requests so far, in the order of their arrival.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }

    /// URL of the server, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// Starts a server that runs a script for each connection. The script gets the number of earlier
/// connections.
pub async fn raw<F: Future<Output = ()> + Send + 'static>(
    script: impl Fn(usize, TcpStream) -> F + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        for count in 0.. {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(script(count, stream));
        }
    });
    address
}

/// A response with a status, headers and a body.
pub fn answer(status: u16, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Answer {
    let mut answer = hyper::Response::new(Full::new(body.into()));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap();
    for (name, value) in headers {
        answer.headers_mut().append(hyper::header::HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
    }
    answer
}

/// A response with the status 200.
pub fn ok(body: &'static str) -> Answer {
    answer(200, &[], body)
}
