//! One keep-alive connection of HTTP/1.1, directly on hyper, so that making a call costs as little as possible.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, HOST};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use support::setup::KEY;
use tokio::net::TcpStream;

use crate::settings::Outcome;

/// An open connection.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    address: SocketAddr,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Outcome<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // The errors of the connection come to the caller of `send_request`.
        tokio::spawn(connection);
        Ok(Self { sender, address })
    }

    /// Sends a request and reads the answer to its end. Returns the status and the length of the body.
    pub(crate) async fn measure(&mut self, request: Request<Full<Bytes>>) -> Outcome<(StatusCode, usize)> {
        self.sender.ready().await?;
        let mut response = self.sender.send_request(request).await?;
        let mut length = 0;
        while let Some(frame) = response.body_mut().frame().await {
            length += frame?.data_ref().map_or(0, Bytes::len);
        }
        Ok((response.status(), length))
    }

    /// Sends a request and returns the body of the answer, which must be a success.
    pub(crate) async fn call(&mut self, request: Request<Full<Bytes>>) -> Outcome<Bytes> {
        self.sender.ready().await?;
        let (head, body) = self.sender.send_request(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        if !head.status.is_success() {
            return Err(format!("{} instead of a success: {}", head.status, String::from_utf8_lossy(&body)).into());
        }
        Ok(body)
    }

    pub(crate) async fn get(&mut self, path: &str) -> Outcome<Bytes> {
        self.call(Request::get(path).header(HOST, self.address.to_string()).body(Full::default())?).await
    }

    /// Sends bytes with the gateway's key, and returns the body of the answer, which must be a success.
    pub(crate) async fn post(&mut self, path: &str, body: Bytes) -> Outcome<Bytes> {
        let request = Request::post(path)
            .header(HOST, self.address.to_string())
            .header(AUTHORIZATION, format!("Bearer {KEY}"))
            .body(Full::new(body))?;
        self.call(request).await
    }
}
