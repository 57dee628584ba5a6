//! The role `proxy`: the smallest proxy in Rust. It reads the body, makes the same call as the
//! gateway, and streams the answer back. It has no sandbox, no keys and no validation. Server,
//! client and their settings are the gateway's.

use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;

use crate::role;
use crate::role::Peer;
use crate::settings::Outcome;

/// Name of the role.
pub(crate) const NAME: &str = "proxy";

/// Starts a process in this role in front of an upstream.
pub(crate) fn start(upstream: SocketAddr) -> Outcome<Peer> {
    role::start(&[NAME, &upstream.to_string()])
}

/// Serves until this process is ended. `POST /path` becomes `GET /path` of the upstream.
pub(crate) fn run(upstream: SocketAddr) -> Outcome<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let listener = role::listen().await?;
        // The client needs a TLS provider, although no call is encrypted.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .pool_max_idle_per_host(usize::MAX)
            .build()?;
        let base: Arc<str> = format!("http://{upstream}").into();
        let server = Arc::new(auto::Builder::new(TokioExecutor::new()));
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let (client, base, server) = (client.clone(), Arc::clone(&base), Arc::clone(&server));
            tokio::spawn(async move {
                let service = service_fn(move |request| forward(client.clone(), Arc::clone(&base), request));
                // A caller may close its connection at any time, which is no error here.
                let _ = server.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    })
}

async fn forward(
    client: reqwest::Client,
    base: Arc<str>,
    request: Request<Incoming>,
) -> Outcome<Response<reqwest::Body>> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let url = format!("{base}{path}");
    request.into_body().collect().await?;
    Ok(client.get(url).send().await?.into())
}
