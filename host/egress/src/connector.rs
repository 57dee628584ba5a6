//! Makes connections: resolves the name, checks the addresses, connects, and does the TLS
//! handshake, all within one timeout.

use std::error::Error;
use std::future::poll_fn;
use std::time::Duration;

use hyper::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_service::Service;

use super::address::{GuardedResolver, Lookup};

/// Time without data after which the operating system probes the peer.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// Makes the connections of one pool.
#[derive(Clone)]
pub(super) struct Connector {
    connector: HttpsConnector<HttpConnector<GuardedResolver>>,
    connect_timeout: Duration,
}

/// The connection was not made in time.
#[derive(Debug, thiserror::Error)]
#[error("connecting took too long")]
struct TookTooLong;

impl Connector {
    /// A connector whose connections lead to public addresses only, or may lead to private ones
    /// too.
    pub(super) fn new(
        lookup: &Lookup,
        allow_private: bool,
        tls: &rustls::ClientConfig,
        connect_timeout: Duration,
    ) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(GuardedResolver { lookup: lookup.clone(), allow_private });
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEPALIVE));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls.clone())
            .https_or_http()
            .enable_all_versions()
            .wrap_connector(tcp);
        Self { connector, connect_timeout }
    }

    /// Makes a connection to the host of an address.
    pub(super) async fn connect(
        mut self,
        address: Uri,
    ) -> Result<MaybeHttpsStream<TokioIo<TcpStream>>, Box<dyn Error + Send + Sync>> {
        let connecting = async {
            poll_fn(|context| self.connector.poll_ready(context)).await?;
            self.connector.call(address).await
        };
        timeout(self.connect_timeout, connecting).await.map_err(|_| TookTooLong)?
    }
}
