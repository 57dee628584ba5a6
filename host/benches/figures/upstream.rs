//! The role `upstream`: a service on loopback that answers at once, or when it is told to.
//!
//! - `/items/{anything}`: an item, see [`item`]
//! - `/items/slow`: the same, once `/release` is asked for
//! - `/waiting`: how many wait for that, as text

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::{Outcome, role};

/// Where [`item`] lies.
pub(crate) const ITEM: &str = "/items/17?view=full";

/// Where it lies for those who wait.
pub(crate) const SLOW_ITEM: &str = "/items/slow?view=full";

/// A JSON object of 2 kB, as services answer for one thing.
pub(crate) fn item() -> Bytes {
    let members: Vec<String> = (0..20)
        .map(|index| {
            format!(
                r#""field_{index}":{{"id":"{:016x}","label":"A label of some length","amount":{}.50,"enabled":true}}"#,
                0x9E37_79B9_7F4A_7C15_u64.rotate_left(index),
                index * 997
            )
        })
        .collect();
    format!(r#"{{"kind":"item",{}}}"#, members.join(",")).into()
}

/// Serves until this process is ended.
pub(crate) fn run() -> Outcome<()> {
    // One thread: it has little to do, and leaves the processors to what is measured.
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let listener = role::listen().await?;
        let service = Service { item: item(), released: watch::Sender::new(0) };
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            tokio::spawn(service.clone().serve(stream));
        }
    })
}

#[derive(Clone)]
struct Service {
    item: Bytes,
    /// How often it was released.
    released: watch::Sender<u64>,
}

impl Service {
    async fn serve(self, stream: TcpStream) {
        let answer = service_fn(|request| self.answer(request));
        // A client that breaks the connection off sees to that itself.
        let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let body = match request.uri().path() {
            "/items/slow" => {
                // The sender lives as long as the process.
                let _ = self.released.subscribe().changed().await;
                self.item.clone()
            }
            "/waiting" => self.released.receiver_count().to_string().into(),
            "/release" => {
                self.released.send_modify(|times| *times += 1);
                Bytes::new()
            }
            _ => self.item.clone(),
        };
        let mut response = Response::new(Full::new(body));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(response)
    }
}
