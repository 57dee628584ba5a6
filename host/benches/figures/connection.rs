//! One keep-alive connection, directly on hyper, so that making a call costs as little as possible.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::header::{AUTHORIZATION, HOST};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use support::setup::KEY;
use tokio::net::TcpStream;

use crate::settings::Outcome;

/// The protocol of a connection.
#[derive(Clone, Copy)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

/// An open connection.
pub(crate) struct Connection {
    sender: Sender,
    address: SocketAddr,
}

enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Sender {
    async fn send(&mut self, request: Request<Full<Bytes>>) -> Outcome<Response<Incoming>> {
        Ok(match self {
            Self::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
            Self::Http2(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
        })
    }
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr, protocol: Protocol) -> Outcome<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let stream = TokioIo::new(stream);
        // The errors of a connection come to the caller of `send_request`.
        let sender = match protocol {
            Protocol::Http1 => {
                let (sender, connection) = http1::handshake(stream).await?;
                tokio::spawn(connection);
                Sender::Http1(sender)
            }
            Protocol::Http2 => {
                let (sender, connection) = http2::handshake(TokioExecutor::new(), stream).await?;
                tokio::spawn(connection);
                Sender::Http2(sender)
            }
        };
        Ok(Self { sender, address })
    }

    /// Another stream of the same connection. `None` over HTTP/1, whose connection answers one
    /// request after the other.
    pub(crate) fn another_stream(&self) -> Option<Self> {
        match &self.sender {
            Sender::Http1(_) => None,
            Sender::Http2(sender) => Some(Self { sender: Sender::Http2(sender.clone()), address: self.address }),
        }
    }

    /// Sends a request and reads the answer to its end. Returns the status and the length of the
    /// body.
    pub(crate) async fn measure(&mut self, request: Request<Full<Bytes>>) -> Outcome<(StatusCode, usize)> {
        let mut response = self.sender.send(request).await?;
        let mut length = 0;
        while let Some(frame) = response.body_mut().frame().await {
            length += frame?.data_ref().map_or(0, Bytes::len);
        }
        Ok((response.status(), length))
    }

    /// Sends a request and returns the body of the answer, which must be a success.
    pub(crate) async fn call(&mut self, request: Request<Full<Bytes>>) -> Outcome<Bytes> {
        let (head, body) = self.sender.send(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        if !head.status.is_success() {
            return Err(format!("{} instead of a success: {}", head.status, String::from_utf8_lossy(&body)).into());
        }
        Ok(body)
    }

    pub(crate) async fn get(&mut self, path: &str) -> Outcome<Bytes> {
        self.call(Request::get(path).header(HOST, self.address.to_string()).body(Full::default())?).await
    }

    /// Sends bytes with the gateway's key, and returns the body of the answer, which must be a
    /// success.
    pub(crate) async fn post(&mut self, path: &str, body: Bytes) -> Outcome<Bytes> {
        let request = Request::post(path)
            .header(HOST, self.address.to_string())
            .header(AUTHORIZATION, format!("Bearer {KEY}"))
            .body(Full::new(body))?;
        self.call(request).await
    }
}
