//! Accepts connections, over HTTP/1.1 and HTTP/2 with or without TLS, and passes their requests to
//! the router.
//!
//! - [`cores`]: the threads that serve
//! - [`connections`]: the open connections. Their number is limited, and connections without
//!   progress are closed.
//! - [`answer_body`]: the body of an answer on its way to the caller
//! - [`http_errors`]: the problem document of a request that is not valid HTTP

mod answer_body;
mod connections;
mod cores;
mod http_errors;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Either, join_all, pending, ready};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use self::answer_body::AnswerBody;
use self::connections::{ActiveRequest, Connection, Connections};
use self::cores::CoreHandle;
pub use self::cores::Cores;
use self::http_errors::Explained;
use body::HeldBody;
use config::Config;
use endpoint::answer::ClosesConnection;
use endpoint::body::RequestBody;
use endpoint::route::{Listener, Peer};
use gateway::{Draining, Gateway, RequestIds};
use tls::{Certificates, Pair, Presented};

/// Delay after a connection could not be accepted. The usual reason is that the process has no file
/// descriptor left.
const ACCEPT_DELAY: Duration = Duration::from_millis(100);

/// Connections that may wait to be accepted. The operating system takes less if it allows less
/// (`net.core.somaxconn`). A caller who finds no place tries again after a second.
const BACKLOG: u32 = 65_535;

/// The share of the file descriptors, as a divisor, that connections of callers do not take.
/// Upstreams, the store, modules and log files need them.
const RESERVED_DESCRIPTORS: u64 = 4;

/// The listening sockets, and the certificates that they present.
pub struct Listeners {
    callers: TcpListener,
    admin: Option<TcpListener>,
    hooks: Option<TcpListener>,
    callers_certificate: Option<Arc<Presented>>,
    admin_certificate: Option<Arc<Presented>>,
}

/// A connection that was accepted.
struct Accepted {
    stream: TcpStream,
    peer: Peer,
    /// The certificate for its handshake. `None` for a connection without TLS.
    pair: Option<Arc<Pair>>,
}

impl Listeners {
    /// Binds the configured addresses.
    ///
    /// # Errors
    /// If another process listens there, or an address is not this machine's. The message says so
    /// in one line.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn bind(config: &Config) -> io::Result<Self> {
        let admin = config.admin_listen.map(|address| bind_address(address, "admin_listen")).transpose()?;
        let hooks = config.hooks.listen.map(|address| bind_address(address, "hooks.listen")).transpose()?;
        let callers = bind_address(config.listen, "listen")?;
        Ok(Self { callers, admin, hooks, callers_certificate: None, admin_certificate: None })
    }

    /// Speaks TLS with these certificates.
    pub fn presenting(self, certificates: &Certificates) -> Self {
        let Certificates { callers, admin } = certificates;
        Self { callers_certificate: callers.clone(), admin_certificate: admin.clone(), ..self }
    }

    /// The address of callers. It differs from the configured one if that had port 0.
    ///
    /// # Errors
    /// If the operating system does not give the address.
    pub fn callers_address(&self) -> io::Result<SocketAddr> {
        self.callers.local_addr()
    }

    /// The address of operators. It differs from the configured one if that had port 0.
    ///
    /// # Errors
    /// If the operating system does not give the address.
    pub fn admin_address(&self) -> io::Result<Option<SocketAddr>> {
        self.admin.as_ref().map(TcpListener::local_addr).transpose()
    }

    /// The address of services. It differs from the configured one if that had port 0.
    ///
    /// # Errors
    /// If the operating system does not give the address.
    pub fn hooks_address(&self) -> io::Result<Option<SocketAddr>> {
        self.hooks.as_ref().map(TcpListener::local_addr).transpose()
    }

    /// The next connection.
    async fn accept(&self) -> io::Result<Accepted> {
        let at = async |listener: &Option<TcpListener>| match listener {
            Some(listener) => listener.accept().await,
            None => std::future::pending().await,
        };
        let (accepted, listener, certificate) = tokio::select! {
            accepted = self.callers.accept() => (accepted, Listener::Callers, &self.callers_certificate),
            accepted = at(&self.admin) => (accepted, Listener::Admin, &self.admin_certificate),
            accepted = at(&self.hooks) => (accepted, Listener::Hooks, &self.callers_certificate),
        };
        let (stream, address) = accepted?;
        let peer = Peer { listener, address: address.ip().to_canonical(), is_of_reserve: false };
        Ok(Accepted { stream, peer, pair: certificate.as_ref().map(|certificate| certificate.pair()) })
    }
}

/// Binds the address of a configuration key.
fn bind_address(address: SocketAddr, key: &str) -> io::Result<TcpListener> {
    let listen = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // After a restart, connections of the former process may use the address.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    listen().map_err(|error| {
        let reason = match error.kind() {
            io::ErrorKind::AddrInUse => format!("another process listens there; choose another `{key}` address"),
            io::ErrorKind::PermissionDenied => "this user may not listen there; choose a port above 1023".to_owned(),
            _ => error.to_string(),
        };
        io::Error::new(error.kind(), format!("cannot listen on {address}: {reason}"))
    })
}

/// Raises the limit of file descriptors to the highest value that the process may set. Returns how
/// many of them connections of callers may take.
fn descriptors_for_callers() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let current = if setrlimit(Resource::Nofile, raised).is_ok() { limit.maximum } else { limit.current };
    // `None` is no limit.
    let descriptors = current.unwrap_or(u64::from(u32::MAX));
    usize::try_from(descriptors - descriptors / RESERVED_DESCRIPTORS).unwrap_or(usize::MAX)
}

/// The most connections of callers.
pub fn connection_limit(config: &Config) -> usize {
    let available = descriptors_for_callers();
    config.max_connections.map_or(available, |limit| limit.min(available))
}

/// Serves until `stop` is done. Then it accepts no more connections, and gives requests in progress
/// `drain_s` seconds to end.
pub async fn serve(gateway: &Gateway, cores: &Cores, listeners: Listeners, stop: impl Future<Output = ()>) {
    let caller_timeout = gateway.config.caller_timeout;
    let mut server = auto::Builder::new(TokioExecutor::new());
    // This time begins when an answer has left the buffers of the connection, which `Connections`
    // cannot see.
    server.http1().timer(TokioTimer::new()).header_read_timeout(caller_timeout);
    server.http2().timer(TokioTimer::new()).keep_alive_interval(caller_timeout);
    let server = Arc::new(server);
    let limit = connection_limit(&gateway.config);
    let connections = Arc::new(Connections::new(limit, caller_timeout, gateway.metrics.connections.clone()));
    let sweep = tokio::spawn(Arc::clone(&connections).sweep());
    // A watcher locks its shutdown on every poll of its connection, so each core has its own
    // shutdown.
    let shutdowns: Vec<GracefulShutdown> = (0..cores.count()).map(|_| GracefulShutdown::new()).collect();
    tokio::pin!(stop);
    loop {
        let (Accepted { stream, peer, pair }, connection) = tokio::select! {
            accepted = accept_connection(&listeners, &connections) => accepted,
            () = &mut stop => break,
        };
        // Answers are written in one piece, so waiting for more bytes only delays them. If the peer
        // is gone, this fails, and so does reading later. `TCP_USER_TIMEOUT` is not set: it would
        // also end connections whose callers read slowly but steadily.
        let _ = stream.set_nodelay(true);
        // A socket belongs to the runtime in which it was made.
        let stream = match stream.into_std() {
            Ok(stream) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be served");
                continue;
            }
        };
        let server = Arc::clone(&server);
        let requests = Arc::clone(&gateway.requests);
        let tls = pair.map(|pair| (pair, Arc::clone(&gateway.draining)));
        let closer = connection.closer();
        let task = cores.spawn(|core| {
            let watcher = shutdowns[core.number()].watcher();
            async move {
                let serving = Serving { server, watcher, peer, connection, requests, core };
                match (TcpStream::from_std(stream), tls) {
                    (Ok(stream), None) => serving.serve(stream).await,
                    // In a box, so that TLS does not make the tasks of other connections larger.
                    (Ok(stream), Some((pair, draining))) => {
                        Box::pin(serving.serve_tls(stream, &pair, &draining)).await;
                    }
                    (Err(error), _) => tracing::warn!(%error, "a connection could not be served"),
                }
            }
        });
        closer.set_task(task);
    }
    drop(listeners);
    gateway.draining.start();
    let drain = gateway.config.drain;
    tracing::info!(seconds = drain.as_secs(), "stopping: waiting for requests in progress to end");
    let ended = join_all(shutdowns.into_iter().map(GracefulShutdown::shutdown));
    if tokio::time::timeout(drain, ended).await.is_err() {
        tracing::warn!("some requests did not end within `drain_s` and were cut off");
    }
    sweep.abort();
}

/// The parts that serve one connection.
struct Serving {
    server: Arc<auto::Builder<TokioExecutor>>,
    watcher: Watcher,
    peer: Peer,
    connection: Connection,
    requests: Arc<RequestIds>,
    core: Arc<CoreHandle>,
}

impl Serving {
    /// Serves a connection with TLS until it ends. [`Connections`] bounds the time of the handshake,
    /// as the time until the first request: it aborts this task.
    async fn serve_tls(self, stream: TcpStream, pair: &Pair, draining: &Draining) {
        tokio::select! {
            stream = shake_hands(pair, stream) => match stream {
                Ok(stream) => self.serve(stream).await,
                Err(error) => tracing::debug!(%error, address = %self.peer.address, "a TLS handshake failed"),
            },
            // The gateway does not wait for connections without a request when it stops.
            () = draining.started() => {}
        }
    }

    /// Serves a connection until it ends.
    async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(self, stream: S) {
        let Self { server, watcher, peer, connection, requests, core } = self;
        let stream = Explained::new(TokioIo::new(stream), connection.activity(), requests);
        let service = service_fn(|request: Request<Incoming>| {
            // The task that polls this ends with the connection.
            let Some(active) = connection.begin_request() else { return Either::Left(pending()) };
            let version = request.version();
            Either::Right(Arc::clone(&core).answer_request(peer, request).then(move |answered| match answered {
                Ok((response, body)) if !body.is_read() || closes_connection(&response) => {
                    Either::Left(Box::pin(deliver_after_rest(body, active, version, response).map(Ok)))
                }
                answered => Either::Right(ready(answered.map(|(response, _)| active.deliver(response)))),
            }))
        });
        let serving = watcher.watch(server.serve_connection(stream, service));
        if let Err(error) = serving.await {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

/// The handshake of a connection. While a slow signature is made, another thread serves the other
/// connections of the core.
async fn shake_hands(pair: &Pair, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
    compute::drive(pair.handshake_bytes(), TlsAcceptor::from(pair.config()).accept(stream)).await
}

/// Delivers a response once the rest of the request's body was read and dropped, or closes the
/// connection if the response says so. Until then, the
/// connection counts as idle and may be closed to make room: the caller may be unauthenticated and
/// send slowly.
async fn deliver_after_rest(
    body: RequestBody,
    active: ActiveRequest,
    version: Version,
    mut response: Response<HeldBody>,
) -> Response<AnswerBody> {
    if closes_connection(&response) {
        active.close_connection();
        return pending().await;
    }
    let Some((active, is_read)) = active.idle_during(body.drop_rest()).await else { return pending().await };
    if !is_read && version <= Version::HTTP_11 {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    active.deliver(response)
}

/// Returns `true` if the connection is closed in place of this answer.
fn closes_connection(response: &Response<HeldBody>) -> bool {
    response.extensions().get::<ClosesConnection>().is_some()
}

/// Accepts the next connection. At the limit of connections, it first makes room for it.
async fn accept_connection(listeners: &Listeners, connections: &Arc<Connections>) -> (Accepted, Connection) {
    loop {
        match listeners.accept().await {
            Ok(mut accepted) => {
                // The limit holds for callers only, so that the operator can always connect.
                let connection = match accepted.peer.listener {
                    Listener::Admin => connections.open_beyond_limit(),
                    Listener::Callers => connections.open().await,
                    // Services connect again. Waiting for a place would keep callers waiting too.
                    Listener::Hooks => match connections.open_for_services() {
                        Some(connection) => connection,
                        None => continue,
                    },
                };
                accepted.peer.is_of_reserve = connection.is_of_reserve();
                return (accepted, connection);
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_DELAY).await;
            }
        }
    }
}
