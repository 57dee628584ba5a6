//! Upstreams with TLS: the protocol that is spoken, whose certificates are accepted, and requests
//! that HTTP/2 turns away.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustls::ServerConfig;
use serde_json::json;
use support::{Authority, Gateway, Setup, runtime};
use tempfile::NamedTempFile;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The file of root certificates of a machine that trusts this authority only.
fn roots(authority: &Authority) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    authority.write_roots(file.path());
    file
}

/// Accepts connections, and serves each by a function.
fn serve<F>(config: ServerConfig, connection: impl Fn(TlsStream<TcpStream>) -> F + Send + Sync + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = runtime().block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    runtime().spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A handshake fails if the gateway refuses the certificate.
            if let Ok(stream) = acceptor.accept(stream).await {
                tokio::spawn(connection(stream));
            }
        }
    });
    address
}

/// A server that returns the version of HTTP of the request.
fn that_answers_its_protocol(config: ServerConfig) -> SocketAddr {
    counted(config, Arc::default())
}

/// The same, which counts its connections.
fn counted(config: ServerConfig, connections: Arc<AtomicUsize>) -> SocketAddr {
    use http_body_util::Full;
    use hyper::service::service_fn;
    use hyper_util::rt::{TokioExecutor, TokioIo};
    use hyper_util::server::conn::auto;

    serve(config, move |stream| {
        connections.fetch_add(1, Ordering::Relaxed);
        async {
            let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| async move {
                let answer = json!({"version": format!("{:?}", request.version())}).to_string();
                hyper::Response::builder()
                    .header("content-type", "application/json")
                    .body(Full::<bytes::Bytes>::from(answer))
            });
            // The gateway may close the connection early.
            let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
        }
    })
}

/// A gateway with the hostile guest, whose upstream is at this address.
fn gateway(address: SocketAddr, roots: &NamedTempFile) -> Gateway {
    Setup::new()
        .guest("hostile")
        .upstream("hostile", "api", &format!("https://{address}"))
        .variable("SSL_CERT_FILE", roots.path().to_str().unwrap())
        .start()
}

#[test]
fn an_upstream_with_tls_is_spoken_to_over_http2_if_it_knows_it() {
    let authority = Authority::new();
    let roots = roots(&authority);
    for (protocols, version) in [(&["h2", "http/1.1"][..], "HTTP/2.0"), (&["http/1.1"], "HTTP/1.1"), (&[], "HTTP/1.1")]
    {
        let gateway = gateway(that_answers_its_protocol(authority.server(protocols)), &roots);
        assert_eq!(gateway.call("hostile/forward", json!({"path": "/"})).ok()["version"], version);
    }
}

#[test]
fn calls_share_the_connections_to_an_upstream() {
    let authority = Authority::new();
    let roots = roots(&authority);
    for protocols in [&["h2"][..], &["http/1.1"]] {
        let connections = Arc::new(AtomicUsize::new(0));
        let gateway = gateway(counted(authority.server(protocols), Arc::clone(&connections)), &roots);
        for _ in 0..20 {
            gateway.call("hostile/forward", json!({"path": "/"})).ok();
        }
        // Each core has its own connections.
        let cores = std::thread::available_parallelism().unwrap().get();
        assert!(connections.load(Ordering::Relaxed) <= cores, "{protocols:?}: {connections:?}");
    }
}

#[test]
fn a_certificate_of_an_unknown_authority_is_refused() {
    let address = that_answers_its_protocol(Authority::new().server(&["h2"]));
    let roots = roots(&Authority::new());
    let gateway = gateway(address, &roots);
    let problem = gateway.call("hostile/forward", json!({"path": "/"})).problem(502, "upstream-unreachable");
    assert!(problem["detail"].as_str().unwrap().contains("certificate"), "{problem}");
}

#[test]
fn a_request_that_http2_turned_away_is_sent_again_even_if_it_writes() {
    let authority = Authority::new();
    let requests = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&requests);
    let address = serve(authority.server(&["h2"]), move |stream| {
        let counter = Arc::clone(&counter);
        async move {
            let mut connection = h2::server::handshake(stream).await.unwrap();
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                if counter.fetch_add(1, Ordering::Relaxed) == 0 {
                    respond.send_reset(h2::Reason::REFUSED_STREAM);
                    continue;
                }
                let answer = hyper::Response::builder().header("content-type", "application/json").body(()).unwrap();
                let mut body = respond.send_response(answer, false).unwrap();
                body.send_data("{\"done\":true}".into(), true).unwrap();
            }
        }
    });
    let roots = roots(&authority);
    let gateway = gateway(address, &roots);
    let answer = gateway.call("hostile/forward", json!({"path": "/", "method": "POST"}));
    assert_eq!(answer.ok(), json!({"done": true}));
    assert_eq!(requests.load(Ordering::Relaxed), 2);
}

#[test]
fn an_http2_connection_whose_peer_has_vanished_is_replaced() {
    let authority = Authority::new();
    let connections = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&connections);
    let address = serve(authority.server(&["h2"]), move |stream| {
        let has_vanished = counter.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            let mut connection = h2::server::handshake(stream).await.unwrap();
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                if has_vanished {
                    std::future::pending::<()>().await;
                }
                let answer = hyper::Response::builder().header("content-type", "application/json").body(()).unwrap();
                let mut body = respond.send_response(answer, false).unwrap();
                body.send_data("{\"done\":true}".into(), true).unwrap();
            }
        }
    });
    let roots = roots(&authority);
    let gateway = Setup::new()
        .guest("hostile")
        .upstream("hostile", "api", &format!("https://{address}"))
        .config("limits.timeout_s = 600")
        .variable("SSL_CERT_FILE", roots.path().to_str().unwrap())
        .start();
    assert_eq!(gateway.call("hostile/forward", json!({"path": "/"})).ok(), json!({"done": true}));
    assert_eq!(connections.load(Ordering::Relaxed), 2);
}
