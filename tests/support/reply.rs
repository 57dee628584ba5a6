//! The answers of a stand-in: status, headers, and a body that may come late, in pieces, or only in
//! part.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::Response;
use hyper::body::Frame;
use serde_json::Value;
use tokio::sync::watch;

/// Time that the first part of a body gets to arrive before the connection is closed.
const CUT_AFTER: Duration = Duration::from_millis(50);

/// The body of an answer, as the HTTP server needs it.
pub(crate) type ReplyBody = UnsyncBoxBody<Bytes, io::Error>;

/// Delays answers until it is opened.
#[derive(Clone, Debug)]
pub struct Gate {
    sender: Arc<watch::Sender<bool>>,
}

impl Default for Gate {
    fn default() -> Self {
        Self { sender: Arc::new(watch::Sender::new(false)) }
    }
}

impl Gate {
    /// Lets all answers through, those that wait and later ones.
    pub fn open(&self) {
        self.sender.send_replace(true);
    }

    async fn pass(&self) {
        // This fails only without a sender, and the gate holds the sender.
        let _ = self.sender.subscribe().wait_for(|open| *open).await;
    }
}

/// An answer of a stand-in.
#[derive(Clone)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Body,
    gate: Option<Gate>,
    delay: Duration,
}

#[derive(Clone)]
enum Body {
    /// All bytes, with a declared length.
    Whole(Bytes),
    /// Several pieces, without a declared length.
    Pieces(Vec<Bytes>),
    /// These bytes repeated without end.
    Endless(Bytes),
    /// These bytes, after which the connection is closed although the body is not complete.
    Cut(Bytes),
    /// No answer: the connection is closed immediately.
    None,
}

impl Reply {
    fn new(status: u16, body: Body) -> Self {
        Self { status, headers: Vec::new(), body, gate: None, delay: Duration::ZERO }
    }

    /// A JSON document with status 200.
    #[expect(clippy::needless_pass_by_value, reason = "so that a test can pass json!({…})")]
    pub fn json(document: Value) -> Self {
        Self::typed("application/json", document.to_string())
    }

    /// Bytes of a media type with status 200.
    pub fn typed(content_type: &str, body: impl Into<Bytes>) -> Self {
        Self::new(200, Body::Whole(body.into())).header("content-type", content_type)
    }

    /// A status without body and content type.
    pub fn empty(status: u16) -> Self {
        Self::new(status, Body::Whole(Bytes::new()))
    }

    /// A redirect (302).
    pub fn redirect(location: &str) -> Self {
        Self::empty(302).header("location", location)
    }

    /// A body in pieces, without a declared length, with status 200.
    pub fn pieces(content_type: &str, pieces: &[&str]) -> Self {
        let pieces = pieces.iter().map(|piece| Bytes::copy_from_slice(piece.as_bytes())).collect();
        Self::new(200, Body::Pieces(pieces)).header("content-type", content_type)
    }

    /// A body that begins like JSON and does not end, with status 200.
    pub fn endless(content_type: &str) -> Self {
        Self::new(200, Body::Endless(Bytes::from(vec![b'['; 64 << 10]))).header("content-type", content_type)
    }

    /// A body that breaks off after `beginning`, with status 200.
    pub fn cut_off(content_type: &str, beginning: &str) -> Self {
        let beginning = Bytes::copy_from_slice(beginning.as_bytes());
        Self::new(200, Body::Cut(beginning)).header("content-type", content_type)
    }

    /// No answer: the connection is closed immediately.
    pub fn hang_up() -> Self {
        Self::new(200, Body::None)
    }

    /// Returns the reply with another status.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Returns the reply with a header added.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns the reply, to be sent once the gate is open.
    #[must_use]
    pub fn behind(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// Returns the reply, to be sent after a delay.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Waits for gate and delay, and builds the response. An error makes the server close the
    /// connection.
    pub(crate) async fn into_response(self) -> Result<Response<ReplyBody>, io::Error> {
        if let Some(gate) = &self.gate {
            gate.pass().await;
        }
        tokio::time::sleep(self.delay).await;
        let mut response = Response::builder().status(self.status);
        for (name, value) in &self.headers {
            response = response.header(name, value);
        }
        Ok(response.body(body_of(self.body)?).expect("the test's reply is valid"))
    }
}

fn body_of(body: Body) -> Result<ReplyBody, io::Error> {
    let cut = || io::Error::other("the test closes the connection");
    let frame = |bytes| Ok::<_, io::Error>(Frame::data(bytes));
    Ok(match body {
        Body::Whole(bytes) => Full::new(bytes).map_err(|never: Infallible| match never {}).boxed_unsync(),
        Body::Pieces(pieces) => {
            StreamBody::new(futures_util::stream::iter(pieces.into_iter().map(frame))).boxed_unsync()
        }
        Body::Endless(bytes) => {
            StreamBody::new(futures_util::stream::repeat_with(move || frame(bytes.clone()))).boxed_unsync()
        }
        // The error comes a little later than the bytes. Otherwise the server would not send them.
        Body::Cut(bytes) => StreamBody::new(futures_util::stream::iter([Ok(bytes), Err(cut())]).then(async |piece| {
            if piece.is_err() {
                tokio::time::sleep(CUT_AFTER).await;
            }
            piece.map(Frame::data)
        }))
        .boxed_unsync(),
        Body::None => return Err(cut()),
    })
}
