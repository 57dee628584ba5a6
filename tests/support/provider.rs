//! A stand-in for a service: an HTTP server on loopback that answers as it is told, and remembers what it was asked.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use crate::reply::{Reply, ReplyBody};
use crate::{runtime, wait_for};

type Handler = Arc<dyn Fn(&Seen) -> Reply + Send + Sync>;

/// What the service was asked.
#[derive(Clone, Debug)]
pub struct Seen {
    /// GET, POST, …
    pub method: String,
    /// The path, as it was sent.
    pub path: String,
    /// The query, as it was sent, without the question mark; empty where there is none.
    pub query: String,
    /// All headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

impl Seen {
    /// A header; empty when it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// A parameter of the query, decoded.
    pub fn parameter(&self, name: &str) -> Option<String> {
        self.parameters().into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The parameters of the query, decoded.
    pub fn parameters(&self) -> Vec<(String, String)> {
        pairs(&self.query)
    }

    /// The fields of a form, decoded.
    ///
    /// # Panics
    /// When the body is none.
    pub fn form(&self) -> Vec<(String, String)> {
        pairs(std::str::from_utf8(&self.body).expect("a form is text"))
    }
}

/// The pairs of a query or a form, decoded.
pub(crate) fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let decoded = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    decoded.map(|(key, value)| (decode(key), decode(value))).collect()
}

/// Text for a query or a form: percent-encoded but for what never needs it.
pub fn encode(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

pub(crate) fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match (byte, after) {
            (b'+', _) => bytes.push(b' '),
            (b'%', [high, low, after @ ..]) => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).unwrap_or("zz");
                bytes.push(u8::from_str_radix(digits, 16).expect("the query is percent-encoded"));
                rest = after;
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).expect("the query is UTF-8")
}

/// A port of loopback that nobody listens on at this moment.
///
/// # Panics
/// When there is none.
pub fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).unwrap().port()
}

/// The running stand-in. It ends when it is dropped.
pub struct Provider {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: AbortHandle,
}

#[derive(Default)]
struct Shared {
    routes: Mutex<HashMap<String, Handler>>,
    seen: Mutex<Vec<Seen>>,
}

impl Provider {
    /// Starts one that answers 404 to everything.
    ///
    /// # Panics
    /// When loopback has no port left.
    pub fn start() -> Self {
        let listener = runtime().block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let task = runtime().spawn(serve(listener, Arc::clone(&shared))).abort_handle();
        Self { address, shared, task }
    }

    /// Answers requests for a path; the path `*` takes those that no other does. A later answer replaces an earlier one.
    ///
    /// # Panics
    /// When a handler has.
    pub fn on(&self, path: &str, handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> &Self {
        self.shared.routes.lock().unwrap().insert(path.to_owned(), Arc::new(handler));
        self
    }

    /// Answers requests for a path, always alike.
    pub fn reply(&self, path: &str, reply: Reply) -> &Self {
        self.on(path, move |_| reply.clone())
    }

    /// Where it is: `http://127.0.0.1:…`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// What it was asked so far.
    ///
    /// # Panics
    /// When a handler has.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// Forgets what it was asked, and gives it back.
    ///
    /// # Panics
    /// When a handler has.
    pub fn take_seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.shared.seen.lock().unwrap())
    }

    /// Waits until it has been asked this often in all.
    ///
    /// # Panics
    /// When it is not.
    #[track_caller]
    pub fn wait_for_requests(&self, count: usize) {
        wait_for("the stand-in to be asked", || (self.seen().len() >= count).then_some(()));
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(Arc::clone(&shared), request));
            // A caller that goes away early is none of the stand-in's business.
            let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response<ReplyBody>, io::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let seen = Seen {
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: head.headers,
        body,
    };
    let handler = {
        let routes = shared.routes.lock().unwrap();
        routes.get(&seen.path).or_else(|| routes.get("*")).cloned()
    };
    let reply = handler.map_or_else(|| Reply::empty(404), |handler| handler(&seen));
    shared.seen.lock().unwrap().push(seen);
    reply.into_response().await
}
