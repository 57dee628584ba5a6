//! What a stand-in answers: status, headers, and a body that may also come late, in pieces, or not whole.

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

/// How long the beginning of a body that is cut off has to arrive.
const CUT_AFTER: Duration = Duration::from_millis(50);

/// A body as the server sends it.
pub(crate) type ReplyBody = UnsyncBoxBody<Bytes, io::Error>;

/// Holds answers back until it is opened.
#[derive(Clone)]
pub struct Gate {
    sender: Arc<watch::Sender<bool>>,
}

impl Default for Gate {
    fn default() -> Self {
        Self { sender: Arc::new(watch::Sender::new(false)) }
    }
}

impl Gate {
    /// Lets all through, now and later.
    pub fn open(&self) {
        self.sender.send_replace(true);
    }

    async fn pass(&self) {
        // The sender lives as long as this gate does.
        let _ = self.sender.subscribe().wait_for(|open| *open).await;
    }
}

/// What the service answers.
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
    /// With its length declared.
    Whole(Bytes),
    /// Piece by piece.
    Pieces(Vec<Bytes>),
    /// These bytes, again and again.
    Endless(Bytes),
    /// These bytes of many more, then the connection is cut.
    Cut(Bytes),
    /// The connection is cut before any answer.
    None,
}

impl Reply {
    fn new(status: u16, body: Body) -> Self {
        Self { status, headers: Vec::new(), body, gate: None, delay: Duration::ZERO }
    }

    /// A JSON document, status 200.
    #[expect(clippy::needless_pass_by_value, reason = "so that tests write json!({…}) where it is used")]
    pub fn json(document: Value) -> Self {
        Self::typed("application/json", document.to_string())
    }

    /// Bytes of a media type, status 200.
    pub fn typed(content_type: &str, body: impl Into<Bytes>) -> Self {
        Self::new(200, Body::Whole(body.into())).header("content-type", content_type)
    }

    /// No body and no type.
    pub fn empty(status: u16) -> Self {
        Self::new(status, Body::Whole(Bytes::new()))
    }

    /// A redirect.
    pub fn redirect(location: &str) -> Self {
        Self::empty(302).header("location", location)
    }

    /// A body in pieces, without a declared length, status 200.
    pub fn pieces(content_type: &str, pieces: &[&str]) -> Self {
        let pieces = pieces.iter().map(|piece| Bytes::copy_from_slice(piece.as_bytes())).collect();
        Self::new(200, Body::Pieces(pieces)).header("content-type", content_type)
    }

    /// A body that does not end, status 200.
    pub fn endless(content_type: &str) -> Self {
        Self::new(200, Body::Endless(Bytes::from(vec![b'x'; 64 << 10]))).header("content-type", content_type)
    }

    /// A body that breaks off, status 200.
    pub fn cut_off(content_type: &str, beginning: &str) -> Self {
        let beginning = Bytes::copy_from_slice(beginning.as_bytes());
        Self::new(200, Body::Cut(beginning)).header("content-type", content_type)
    }

    /// No answer at all: the connection is closed.
    pub fn hang_up() -> Self {
        Self::new(200, Body::None)
    }

    /// The same with another status.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// The same with a further header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same, once the gate is open.
    #[must_use]
    pub fn behind(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// The same after a while.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Waits as long as it should, and makes the response; fails where the connection is to be cut instead.
    pub(crate) async fn into_response(self) -> Result<Response<ReplyBody>, io::Error> {
        if let Some(gate) = &self.gate {
            gate.pass().await;
        }
        tokio::time::sleep(self.delay).await;
        let mut response = Response::builder().status(self.status);
        for (name, value) in &self.headers {
            response = response.header(name, value);
        }
        Ok(response.body(body_of(self.body)?).expect("the test scripts a valid response"))
    }
}

fn body_of(body: Body) -> Result<ReplyBody, io::Error> {
    let cut = || io::Error::other("cut as the test wants it");
    let frame = |bytes| Ok::<_, io::Error>(Frame::data(bytes));
    Ok(match body {
        Body::Whole(bytes) => Full::new(bytes).map_err(|never: Infallible| match never {}).boxed_unsync(),
        Body::Pieces(pieces) => {
            StreamBody::new(futures_util::stream::iter(pieces.into_iter().map(frame))).boxed_unsync()
        }
        Body::Endless(bytes) => {
            StreamBody::new(futures_util::stream::repeat_with(move || frame(bytes.clone()))).boxed_unsync()
        }
        // The error comes a little later than the bytes, which would else not leave.
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
