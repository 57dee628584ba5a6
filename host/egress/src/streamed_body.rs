//! The body of a request, as hyper sends it, and a body that is sent while its beginning is still
//! on its way from a caller.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use hyper::body::{Body, Frame, SizeHint};
use parking_lot::Mutex;

/// Why a streamed body ends before its end.
pub type BrokenBody = Box<dyn Error + Send + Sync>;

type Pieces = Pin<Box<dyn Stream<Item = Result<Bytes, BrokenBody>> + Send>>;

/// A body that is sent while it is read, and that no one keeps. So it can be sent once. Clones are
/// the same body.
#[derive(Clone)]
pub struct StreamedBody(Arc<Source>);

struct Source {
    pieces: Mutex<Pieces>,
    /// The number of bytes, if it is known.
    length: Option<u64>,
    /// A part of it may have been sent.
    has_begun: AtomicBool,
}

impl StreamedBody {
    /// A body of these pieces. `length` is the number of their bytes, if it is known.
    pub fn new(pieces: impl Stream<Item = Result<Bytes, BrokenBody>> + Send + 'static, length: Option<u64>) -> Self {
        let source = Source { pieces: Mutex::new(Box::pin(pieces)), length, has_begun: AtomicBool::new(false) };
        Self(Arc::new(source))
    }

    /// Returns `true` if a part of it may have been sent, so that it cannot be sent again.
    pub(super) fn has_begun(&self) -> bool {
        self.0.has_begun.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for StreamedBody {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("StreamedBody")
    }
}

/// The body of one attempt.
pub(super) enum OutgoingBody {
    /// It is in memory. Empty once it was sent.
    Whole(Bytes),
    /// It is read while it is sent.
    Streamed(StreamedBody),
}

impl From<Option<Bytes>> for OutgoingBody {
    fn from(bytes: Option<Bytes>) -> Self {
        Self::Whole(bytes.unwrap_or_default())
    }
}

impl OutgoingBody {
    /// The bytes, if they are in memory.
    pub(super) fn in_memory(&self) -> Option<&[u8]> {
        match self {
            Self::Whole(bytes) => Some(bytes),
            Self::Streamed(_) => None,
        }
    }
}

impl Body for OutgoingBody {
    type Data = Bytes;
    type Error = BrokenBody;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenBody>>> {
        match self.get_mut() {
            Self::Whole(body) if body.is_empty() => Poll::Ready(None),
            Self::Whole(body) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(body))))),
            Self::Streamed(StreamedBody(source)) => {
                source.has_begun.store(true, Ordering::Relaxed);
                let polled = source.pieces.lock().as_mut().poll_next(context);
                polled.map(|piece| piece.map(|piece| piece.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_empty(),
            Self::Streamed(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => SizeHint::with_exact(body.len() as u64),
            Self::Streamed(StreamedBody(source)) => source.length.map(SizeHint::with_exact).unwrap_or_default(),
        }
    }
}
