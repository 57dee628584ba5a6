//! The body of a response, decompressed while it is read from the connection.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use async_compression::tokio::bufread::GzipDecoder;
use bytes::Bytes;
use futures_util::{Stream, TryStreamExt};
use http_body_util::BodyDataStream;
use hyper::body::{Body, Incoming, SizeHint};
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap};
use tokio_util::io::{ReaderStream, StreamReader};

/// The size of the pieces of a body that was compressed.
const PIECE_BYTES: usize = 16 << 10;

/// The reason why a body cannot be read.
type Broken = Box<dyn Error + Send + Sync>;

/// The body of a response, read on demand.
pub(super) enum DecodedBody {
    /// A body that was not compressed.
    Plain(Incoming),
    Gzip(Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send + Sync>>),
    /// An empty body, or a body that is not read further.
    Empty,
}

impl DecodedBody {
    /// The body of a response with these headers. The headers lose those that describe a compressed
    /// body.
    pub(super) fn new(body: Incoming, headers: &mut HeaderMap) -> Self {
        let is_gzip =
            headers.get(CONTENT_ENCODING).is_some_and(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"gzip"));
        if !is_gzip || is_empty(&body) {
            return Self::Plain(body);
        }
        headers.remove(CONTENT_ENCODING);
        headers.remove(CONTENT_LENGTH);
        let compressed = StreamReader::new(BodyDataStream::new(body).map_err(io::Error::other));
        let mut decoder = GzipDecoder::new(compressed);
        decoder.multiple_members(true);
        Self::Gzip(Box::pin(ReaderStream::with_capacity(decoder, PIECE_BYTES)))
    }

    /// The next piece; `None` at the end. Trailers are skipped.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        match self {
            Self::Plain(body) => loop {
                match ready!(Pin::new(&mut *body).poll_frame(context)) {
                    Some(Ok(frame)) => {
                        if let Ok(piece) = frame.into_data() {
                            return Poll::Ready(Some(Ok(piece)));
                        }
                    }
                    Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
                    None => return Poll::Ready(None),
                }
            },
            Self::Gzip(pieces) => pieces.as_mut().poll_next(context).map_err(Into::into),
            Self::Empty => Poll::Ready(None),
        }
    }

    /// Returns `true` if the body is known to be empty.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Plain(body) => is_empty(body),
            Self::Gzip(_) => false,
            Self::Empty => true,
        }
    }

    /// The number of bytes to come.
    pub(super) fn size_hint(&self) -> SizeHint {
        match self {
            Self::Plain(body) => body.size_hint(),
            Self::Gzip(_) => SizeHint::default(),
            Self::Empty => SizeHint::with_exact(0),
        }
    }
}

fn is_empty(body: &Incoming) -> bool {
    body.is_end_stream() || body.size_hint().exact() == Some(0)
}
