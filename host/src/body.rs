//! Bodies of answers.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, BodyStream, Full, StreamBody};
use hyper::body::{Frame, SizeHint};

use egress::{EgressError, ResponseBody};

/// The body of an answer: held in memory, or streamed from an upstream. An error in it closes the
/// caller's connection, so that no caller takes a part of an answer for the whole.
pub type Body = UnsyncBoxBody<Bytes, EgressError>;

/// A body that is complete in memory.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// A body whose first pieces have been read.
pub fn rejoined<const N: usize>(read: [Result<Bytes, EgressError>; N], rest: Body) -> Body {
    let read = stream::iter(read).map_ok(Frame::data);
    StreamBody::new(read.chain(BodyStream::new(rest))).boxed_unsync()
}

/// An upstream's body. It holds the permit of its call until it has been sent.
pub fn streamed<P: Send + Unpin + 'static>(body: ResponseBody, permit: P) -> Body {
    WithPermit { body, _permit: permit }.boxed_unsync()
}

/// A body that is complete in memory. It holds the permit of its call until it has been sent.
pub fn complete<P: Send + Unpin + 'static>(bytes: Bytes, permit: P) -> Body {
    WithPermit { body: Full::new(bytes).map_err(|never| match never {}), _permit: permit }.boxed_unsync()
}

/// A body that drops the permit of its call when it is dropped itself.
struct WithPermit<B, P> {
    body: B,
    _permit: P,
}

impl<B, P> hyper::body::Body for WithPermit<B, P>
where
    B: hyper::body::Body<Data = Bytes, Error = EgressError> + Unpin,
    P: Unpin,
{
    type Data = Bytes;
    type Error = EgressError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, EgressError>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
