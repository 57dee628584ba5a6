//! Takes connections, over HTTP/1.1 and HTTP/2 without TLS, and hands their requests to the router.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;

use super::router;
use crate::gateway::Gateway;

/// The longest time that the head of a request may take to arrive. A slower caller would hold a connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Pause after a connection could not be taken. The usual reason is that the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Binds the configured address.
///
/// # Errors
/// If another process listens there, or the address is not this machine's. The message says so in one line.
pub async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| {
        let reason = match error.kind() {
            io::ErrorKind::AddrInUse => "another process listens there; choose another `listen` address".to_owned(),
            io::ErrorKind::PermissionDenied => "this user may not listen there; choose a port above 1023".to_owned(),
            _ => error.to_string(),
        };
        io::Error::new(error.kind(), format!("cannot listen on {address}: {reason}"))
    })
}

/// Serves until `stop` is done. Then it takes no more connections, and gives requests under way `drain_s` seconds to end.
pub async fn serve(gateway: Arc<Gateway>, listener: TcpListener, stop: impl Future<Output = ()>) {
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    server.http2().timer(TokioTimer::new()).keep_alive_interval(HEAD_TIMEOUT);
    let server = Arc::new(server);
    let graceful = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
            () = &mut stop => break,
        };
        // Answers are written in one piece, so waiting for more bytes only delays them. If the peer is gone, reading fails later.
        let _ = stream.set_nodelay(true);
        let gateway = Arc::clone(&gateway);
        let server = Arc::clone(&server);
        let watcher = graceful.watcher();
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let gateway = Arc::clone(&gateway);
                async move { Ok::<_, Infallible>(router::answer(&gateway, request).await) }
            });
            let connection = server.serve_connection(TokioIo::new(stream), service).into_owned();
            if let Err(error) = watcher.watch(connection).await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
    drop(listener);
    gateway.draining.start();
    let drain = gateway.config.drain;
    tracing::info!(seconds = drain.as_secs(), "stopping: waiting for requests under way to end");
    if tokio::time::timeout(drain, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not end within `drain_s` and were cut off");
    }
}
