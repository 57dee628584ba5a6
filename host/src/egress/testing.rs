//! Stand-in upstreams on loopback, for the tests of this crate.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::header::HeaderMap;
use hyper::service::service_fn;
use hyper::{Method, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use super::{Body, Credential, Egress, EgressError, Headers, Lookup, Request, Settings, Upstream, UpstreamSettings};

pub(crate) type Answer = hyper::Response<Full<Bytes>>;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// An upstream that answers by a closure, and remembers what it was asked.
pub(crate) struct Stub {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Stub {
    /// The closure is given the request and how many came before it.
    pub(crate) async fn start(answer: impl Fn(&Seen, usize) -> Answer + Send + Sync + 'static) -> Self {
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
                        let before = log.lock().unwrap().len();
                        log.lock().unwrap().push(seen.clone());
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

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn upstream(&self) -> Upstream {
        upstream(&self.url(), &[])
    }
}

/// A server at the level of connections, which are counted.
pub(crate) async fn raw<F: Future<Output = ()> + Send + 'static>(
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

pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Answer {
    let mut answer = hyper::Response::new(Full::new(body.into()));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap();
    for (name, value) in headers {
        answer.headers_mut().append(hyper::header::HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
    }
    answer
}

pub(crate) fn ok(body: &'static str) -> Answer {
    answer(200, &[], body)
}

/// Knows the names that are given, and no other.
pub(crate) fn names(known: &[(&str, &[&str])]) -> Lookup {
    let addresses = |texts: &[&str]| texts.iter().map(|text| SocketAddr::new(text.parse().unwrap(), 0)).collect();
    let known: HashMap<String, Vec<_>> =
        known.iter().map(|(name, texts)| ((*name).to_owned(), addresses(texts))).collect();
    Arc::new(move |host| {
        let found = known.get(&host).cloned().ok_or_else(|| std::io::Error::other(format!("no such host: {host}")));
        Box::pin(async move { found })
    })
}

pub(crate) fn egress_with(lookup: Lookup) -> Egress {
    Egress::new(&Settings { lookup, ..Settings::default() }).unwrap()
}

pub(crate) fn egress() -> Egress {
    egress_with(names(&[("home.test", &["127.0.0.1"]), ("other.test", &["127.0.0.1"])]))
}

/// On a private network, with its own host and the ones given granted, and redirects to the latter allowed.
pub(crate) fn upstream(base_url: &str, redirect_hosts: &[String]) -> Upstream {
    let own = base_url.trim_start_matches("http://").split('/').next().unwrap().to_owned();
    Upstream::new(UpstreamSettings {
        name: "api".to_owned(),
        base_url: base_url.to_owned(),
        granted_hosts: [&[own], redirect_hosts].concat(),
        redirect_hosts: redirect_hosts.to_vec(),
        pacing: None,
        allow_private_network: true,
    })
    .unwrap()
}

pub(crate) fn request(method: Method, path: &str) -> Request {
    Request {
        method,
        path: path.to_owned(),
        headers: Headers::default(),
        body: Body::Empty,
        credential: None,
        deadline: Instant::now() + Duration::from_secs(20),
        limit: 1 << 20,
    }
}

pub(crate) fn get(path: &str) -> Request {
    request(Method::GET, path)
}

pub(crate) const TOKEN: &str = "tok-3f/9+A~secret";

pub(crate) fn with_token(request: Request) -> Request {
    Request { credential: Some(Credential::bearer(TOKEN.into()).unwrap()), ..request }
}

/// Sends, and reads the body.
pub(crate) async fn fetch(
    egress: &Egress,
    upstream: &Upstream,
    request: &Request,
) -> Result<(u16, String), EgressError> {
    let response = egress.send(upstream, request).await?;
    let body = response.body.collect(u64::MAX).await?;
    Ok((response.status.as_u16(), String::from_utf8(body.to_vec()).unwrap()))
}
