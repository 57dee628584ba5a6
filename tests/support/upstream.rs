//! A stand-in for a service: an HTTP server on loopback that answers as the test says, and records
//! the requests.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use crate::encoding::pairs;
use crate::reply::{Reply, ReplyBody};
use crate::{runtime, wait_for};

type Handler = Arc<dyn Fn(&Seen) -> Reply + Send + Sync>;

/// A recorded request.
#[derive(Clone, Debug)]
pub struct Seen {
    /// GET, POST, …
    pub method: String,
    /// The path, still encoded.
    pub path: String,
    /// The query, still encoded and without the question mark; empty if the URL has no query.
    pub query: String,
    /// All headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

impl Seen {
    /// The value of a header; empty if the header is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The decoded value of a query parameter; `None` if the parameter is absent.
    pub fn parameter(&self, name: &str) -> Option<String> {
        self.parameters().into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The decoded names and values of the query.
    pub fn parameters(&self) -> Vec<(String, String)> {
        pairs(self.query.as_bytes())
    }

    /// The decoded names and values of the body, which is a form.
    pub fn form(&self) -> Vec<(String, String)> {
        pairs(&self.body)
    }
}

/// A free port of loopback for a program that binds it later. It is below those that the system
/// gives to programs that ask for any, so that no other test takes it in the meantime.
///
/// # Panics
/// When no port is free.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    const PORTS: std::ops::Range<u32> = 10_000..32_000;
    let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    // Tests of another process begin elsewhere.
    let first = std::process::id().wrapping_mul(97);
    let ports = PORTS.map(|_| {
        let number = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % (PORTS.end - PORTS.start);
        u16::try_from(PORTS.start + number).expect("ports have 16 bits")
    });
    ports.into_iter().find(is_free).expect("a port is free")
}

/// A running stand-in. It ends when this is dropped.
pub struct Upstream {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: AbortHandle,
}

#[derive(Default)]
struct Shared {
    routes: Mutex<HashMap<String, Handler>>,
    seen: Mutex<Vec<Seen>>,
}

impl Upstream {
    /// Starts a stand-in that answers every request with 404.
    ///
    /// # Panics
    /// When no port is free.
    pub fn start() -> Self {
        let listener = runtime().block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let task = runtime().spawn(serve(listener, Arc::clone(&shared))).abort_handle();
        Self { address, shared, task }
    }

    /// Answers requests for a path by a function. The path `*` stands for every other path. A
    /// later call for the same path replaces the answer.
    ///
    /// # Panics
    /// When a handler panicked before.
    pub fn on(&self, path: &str, handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> &Self {
        self.shared.routes.lock().insert(path.to_owned(), Arc::new(handler));
        self
    }

    /// Answers all requests for a path with the same reply.
    pub fn reply(&self, path: &str, reply: Reply) -> &Self {
        self.on(path, move |_| reply.clone())
    }

    /// The base URL: `http://127.0.0.1:…`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// All requests so far.
    ///
    /// # Panics
    /// When a handler panicked before.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().clone()
    }

    /// Number of requests so far. A test that waits for many asks for it again and again.
    pub fn count(&self) -> usize {
        self.shared.seen.lock().len()
    }

    /// Removes the recorded requests and returns them.
    ///
    /// # Panics
    /// When a handler panicked before.
    pub fn take_seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.shared.seen.lock())
    }

    /// Waits until this many requests have come in all.
    ///
    /// # Panics
    /// When they do not come within four minutes.
    #[track_caller]
    pub fn wait_for_requests(&self, count: usize) {
        wait_for("requests to the stand-in", || (self.count() >= count).then_some(()));
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(Arc::clone(&shared), request));
            // A caller may close its connection early, which is no error here.
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
        let routes = shared.routes.lock();
        routes.get(&seen.path).or_else(|| routes.get("*")).cloned()
    };
    let reply = handler.map_or_else(|| Reply::empty(404), |handler| handler(&seen));
    shared.seen.lock().push(seen);
    reply.into_response().await
}
