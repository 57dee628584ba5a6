//! The body of a response, decompressed while it is read from the connection.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use async_compression::tokio::bufread::GzipDecoder;
use bytes::{Bytes, BytesMut};
use futures_util::stream::try_unfold;
use futures_util::{Stream, TryStreamExt};
use http_body_util::BodyDataStream;
use hyper::body::{Body, Incoming, SizeHint};
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderName};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};
use tokio::task::yield_now;
use tokio_util::io::StreamReader;

/// The size of the pieces of a body that was compressed.
const PIECE_BYTES: usize = 16 << 10;

/// A body may inflate to this size whatever its ratio is, because short answers of equal lines are
/// common.
const FREE_BYTES: u64 = 1 << 20;

/// The largest ratio of a body to its compressed form. Text of services stays below 30.
const MAX_RATIO: u64 = 100;

/// The bytes that are inflated without a pause for other calls. It takes less than a millisecond.
const TURN_BYTES: usize = 128 << 10;

/// The headers that describe the compressed form of a body.
const OF_COMPRESSED: [HeaderName; 5] = [
    CONTENT_LENGTH,
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("digest"),
    HeaderName::from_static("repr-digest"),
];

/// The first byte of each member of a compressed body.
const MEMBER_BEGINS: u8 = 0x1f;

/// The reason why a body cannot be read.
type Broken = Box<dyn Error + Send + Sync>;

/// The body of a response, read on demand.
pub(super) enum DecodedBody {
    /// A body that was not compressed.
    Plain(Incoming),
    /// A body that was compressed.
    Gzip(Box<Inflating>),
    /// An empty body, or the rest of a body that is not read.
    Empty,
}

/// A compressed body, while it is inflated.
pub(super) struct Inflating {
    pieces: Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send + Sync>>,
    /// The compressed bytes that have arrived.
    arrived: Arc<AtomicU64>,
    /// The bytes that were inflated from them.
    inflated: u64,
    /// The bytes that were inflated since the last pause.
    turn: usize,
}

/// The body grows too much for an honest one.
#[derive(Debug, thiserror::Error)]
#[error("it inflates to more than {MAX_RATIO} times its compressed size, as a decompression bomb does")]
struct Bomb;

/// How a body is encoded.
enum Coding {
    /// Not at all.
    Identity,
    Gzip,
    /// In a way that the gateway does not decode.
    Other,
}

impl Coding {
    /// Reads the header `Content-Encoding` (RFC 9110, section 8.4). `x-gzip` is the same as `gzip`.
    fn of(headers: &HeaderMap) -> Self {
        let lists = headers.get_all(CONTENT_ENCODING).iter();
        let codings = lists.flat_map(|list| list.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii));
        let mut applied = codings.filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity"));
        let is_gzip = |coding: &[u8]| [&b"gzip"[..], b"x-gzip"].iter().any(|name| coding.eq_ignore_ascii_case(name));
        match (applied.next(), applied.next()) {
            (None, _) => Self::Identity,
            (Some(coding), None) if is_gzip(coding) => Self::Gzip,
            _ => Self::Other,
        }
    }
}

impl DecodedBody {
    /// The body of a response with these headers. The headers lose those that describe a compressed
    /// body.
    pub(super) fn new(body: Incoming, headers: &mut HeaderMap) -> Self {
        let coding = Coding::of(headers);
        if !matches!(coding, Coding::Other) {
            headers.remove(CONTENT_ENCODING);
        }
        if !matches!(coding, Coding::Gzip) {
            return Self::Plain(body);
        }
        // Also of an empty body, because the response to a HEAD request describes the body of another
        // one.
        for name in &OF_COMPRESSED {
            headers.remove(name);
        }
        if is_empty(&body) {
            return Self::Plain(body);
        }
        let arrived = Arc::<AtomicU64>::default();
        let counter = Arc::clone(&arrived);
        let count = move |piece: &Bytes| {
            counter.fetch_add(piece.len() as u64, Ordering::Relaxed);
        };
        let compressed = StreamReader::new(BodyDataStream::new(body).map_err(io::Error::other).inspect_ok(count));
        let pieces = Box::pin(inflated(compressed));
        Self::Gzip(Box::new(Inflating { pieces, arrived, inflated: 0, turn: 0 }))
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
            Self::Gzip(inflating) => inflating.poll_next(context),
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

    /// Returns `true` if the body is inflated while it is read.
    pub(super) fn is_compressed(&self) -> bool {
        matches!(self, Self::Gzip(_))
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

/// A compressed body at one place: before a member (RFC 1952, section 2.2), or inside of one.
enum Place<R> {
    Before { reader: R, is_first: bool },
    Inside(GzipDecoder<R>),
}

/// The pieces of a compressed body. A body without a byte is empty. Members follow each other, and
/// what follows the last one and is no member, such as padding, is left out. Other tasks run
/// between two members.
fn inflated(compressed: impl AsyncBufRead + Unpin) -> impl Stream<Item = io::Result<Bytes>> {
    try_unfold(Place::Before { reader: compressed, is_first: true }, |mut place| async move {
        loop {
            place = match place {
                Place::Before { mut reader, is_first } => {
                    let next = reader.fill_buf().await?.first().copied();
                    if next.is_none_or(|byte| !is_first && byte != MEMBER_BEGINS) {
                        return Ok(None);
                    }
                    // A body may have any number of members with little or no content. Each takes
                    // some microseconds, and all may be there already.
                    if !is_first {
                        yield_now().await;
                    }
                    Place::Inside(GzipDecoder::new(reader))
                }
                Place::Inside(mut decoder) => {
                    let mut piece = BytesMut::with_capacity(PIECE_BYTES);
                    if decoder.read_buf(&mut piece).await? > 0 {
                        return Ok(Some((piece.freeze(), Place::Inside(decoder))));
                    }
                    Place::Before { reader: decoder.into_inner(), is_first: false }
                }
            };
        }
    })
}

impl Inflating {
    /// The next piece; `None` at the end. Lets other tasks run after each [`TURN_BYTES`], because
    /// the compressed bytes may all be there already.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        if self.turn >= TURN_BYTES {
            self.turn = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let polled = self.pieces.as_mut().poll_next(context);
        match &polled {
            Poll::Pending => self.turn = 0,
            Poll::Ready(Some(Ok(piece))) => {
                self.turn += piece.len();
                self.inflated += piece.len() as u64;
                let honest = self.arrived.load(Ordering::Relaxed).saturating_mul(MAX_RATIO);
                if self.inflated > FREE_BYTES.max(honest) {
                    return Poll::Ready(Some(Err(Bomb.into())));
                }
            }
            Poll::Ready(_) => {}
        }
        polled.map_err(Into::into)
    }
}

fn is_empty(body: &Incoming) -> bool {
    body.is_end_stream() || body.size_hint().exact() == Some(0)
}
