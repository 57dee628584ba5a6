//! A balancer in front of gateways: each request goes to the next one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{AUTHORIZATION, CONNECTION, HOST, HeaderValue, TRANSFER_ENCODING};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use crate::client::http;
use crate::{Gateway, runtime, wait_for};

type ResponseBody = UnsyncBoxBody<Bytes, reqwest::Error>;

/// A running balancer. It ends when this is dropped.
pub struct Balancer {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: AbortHandle,
}

struct Shared {
    targets: Mutex<Targets>,
    http: reqwest::Client,
}

/// The gateways, and the number of requests so far.
#[derive(Default)]
struct Targets {
    addresses: Vec<String>,
    key: Option<HeaderValue>,
    requests: usize,
    /// The number of requests that wait for the head of an answer, by gateway.
    waiting: HashMap<String, usize>,
}

/// A request that waits for the head of an answer of a gateway.
struct Waiting<'a> {
    shared: &'a Shared,
    target: String,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Entry::Occupied(mut waiting) = self.shared.targets.lock().waiting.entry(self.target.clone()) {
            *waiting.get_mut() -= 1;
            if *waiting.get() == 0 {
                waiting.remove();
            }
        }
    }
}

impl Balancer {
    /// Starts a balancer without gateways. It answers 503.
    ///
    /// # Panics
    /// When no port is free.
    pub fn start() -> Self {
        let listener = runtime().block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let http = http(|builder| builder.redirect(reqwest::redirect::Policy::none()));
        let shared = Arc::new(Shared { targets: Mutex::default(), http });
        let task = runtime().spawn(serve(listener, Arc::clone(&shared))).abort_handle();
        Self { address, shared, task }
    }

    /// Forwards requests to these gateways in turn. Returns when no request waits for an answer of
    /// another gateway, so that the test may stop it.
    pub fn forward_to(&self, gateways: &[&Gateway]) {
        let addresses: Vec<String> = gateways.iter().map(|gateway| gateway.address()).collect();
        self.shared.targets.lock().addresses.clone_from(&addresses);
        wait_for("the requests to other gateways to be answered", || {
            self.shared.targets.lock().waiting.keys().all(|address| addresses.contains(address)).then_some(())
        });
    }

    /// Adds an API key to each request that has none.
    ///
    /// # Panics
    /// When the key cannot be in a header.
    pub fn add_key(&self, key: &str) {
        self.shared.targets.lock().key = Some(HeaderValue::try_from(format!("Bearer {key}")).unwrap());
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The base URL: `http://127.0.0.1:…`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The number of requests so far.
    pub fn requests(&self) -> usize {
        self.shared.targets.lock().requests
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(serve_connection(stream, Arc::clone(&shared)));
    }
}

async fn serve_connection(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move {
            Ok::<_, Infallible>(forward(&shared, request).await.unwrap_or_else(|_| empty(StatusCode::BAD_GATEWAY)))
        }
    });
    // A caller may close its connection early, which is no error here.
    let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
}

async fn forward(shared: &Shared, request: Request<Incoming>) -> Result<Response<ResponseBody>, reqwest::Error> {
    let (head, body) = request.into_parts();
    let (waiting, key) = {
        let mut targets = shared.targets.lock();
        let turn = targets.requests;
        targets.requests += 1;
        let count = targets.addresses.len().max(1);
        let Some(target) = targets.addresses.get(turn % count).cloned() else {
            return Ok(empty(StatusCode::SERVICE_UNAVAILABLE));
        };
        *targets.waiting.entry(target.clone()).or_default() += 1;
        (Waiting { shared, target }, targets.key.clone())
    };
    let mut headers = head.headers;
    // The next connection has its own.
    for name in [HOST, CONNECTION, TRANSFER_ENCODING] {
        headers.remove(name);
    }
    if let Some(key) = key.filter(|_| !headers.contains_key(AUTHORIZATION)) {
        headers.insert(AUTHORIZATION, key);
    }
    let Ok(body) = body.collect().await else { return Ok(empty(StatusCode::BAD_REQUEST)) };
    let sent = shared
        .http
        .request(head.method, format!("{}{}", waiting.target, head.uri))
        .headers(headers)
        .body(body.to_bytes());
    let answer = sent.send().await?;
    drop(waiting);
    let (status, mut headers) = (answer.status(), answer.headers().clone());
    for name in [CONNECTION, TRANSFER_ENCODING] {
        headers.remove(name);
    }
    let mut response = Response::new(StreamBody::new(answer.bytes_stream().map_ok(Frame::data)).boxed_unsync());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Ok(response)
}

fn empty(status: StatusCode) -> Response<ResponseBody> {
    let mut response = Response::new(Full::default().map_err(|never| match never {}).boxed_unsync());
    *response.status_mut() = status;
    response
}
