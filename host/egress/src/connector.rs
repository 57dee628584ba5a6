//! Makes connections: resolves the name, checks the addresses, connects, and does the TLS handshake, all within one timeout.

use std::error::Error;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use hyper::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_service::Service;

use super::address::{GuardedResolver, Lookup};

/// The time of a connection without data after which the peer is asked whether it is still there.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// Makes the connections of one client.
///
/// The client clones it twice for each request, also if no connection is made. So a clone is one count of references.
#[derive(Clone)]
pub(super) struct Connector(Arc<Parts>);

#[derive(Clone)]
struct Parts {
    connector: HttpsConnector<HttpConnector<GuardedResolver>>,
    patience: Duration,
}

/// The connection was not made in time.
#[derive(Debug, thiserror::Error)]
#[error("connecting took too long")]
struct TookTooLong;

impl Connector {
    /// A connector whose connections lead to public addresses only, or may lead to private ones too.
    pub(super) fn new(lookup: &Lookup, allow_private: bool, tls: &rustls::ClientConfig, patience: Duration) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(GuardedResolver { lookup: lookup.clone(), allow_private });
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEPALIVE));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls.clone())
            .https_or_http()
            .enable_all_versions()
            .wrap_connector(tcp);
        Self(Arc::new(Parts { connector, patience }))
    }

    /// The same connector, whose clones are counted apart.
    pub(super) fn with_own_count(&self) -> Self {
        Self(Arc::new(Parts::clone(&self.0)))
    }

    /// Returns `true` if the clones of both are counted together.
    #[cfg(test)]
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let Parts { mut connector, patience } = Parts::clone(&self.0);
        let connecting = async move {
            poll_fn(|context| connector.poll_ready(context)).await?;
            connector.call(uri).await
        };
        Box::pin(async move { timeout(patience, connecting).await.map_err(|_| TookTooLong)? })
    }
}
