//! Bodies of answers.

pub mod media_type;

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, BodyStream, Full, StreamBody};
use hyper::body::{Frame, SizeHint};

use egress::{EgressError, ResponseBody};
use memory::{Exhausted, Reservation};

/// The body of an answer. An error in it closes the caller's connection, so that no caller takes a
/// part of an answer for the whole.
///
/// The bytes of a [`full`] body are no part of the memory budget yet. A server takes only
/// [`HeldBody`], which [`Body::hold`] makes.
pub struct Body(Content);

enum Content {
    /// Bytes that the gateway has made just now. `None` once they are sent.
    Plain(Option<Bytes>),
    /// Bytes or a stream, whose memory is a part of the budget.
    Held(UnsyncBoxBody<Bytes, EgressError>),
}

/// The body of an answer whose bytes are a part of the memory budget until they are sent.
pub struct HeldBody(UnsyncBoxBody<Bytes, EgressError>);

impl Body {
    /// Makes the bytes a part of the budget until they are sent. `part` is an empty part.
    ///
    /// # Errors
    /// If the budget has too little left.
    pub fn hold(self, mut part: Reservation) -> Result<HeldBody, Exhausted> {
        match self.0 {
            Content::Plain(bytes) => {
                let bytes = bytes.unwrap_or_default();
                part.grow_to(bytes.len())?;
                Ok(HeldBody(Full::new(part.tie_to(bytes)).map_err(|never| match never {}).boxed_unsync()))
            }
            Content::Held(body) => Ok(HeldBody(body)),
        }
    }

    fn held(body: impl hyper::body::Body<Data = Bytes, Error = EgressError> + Send + 'static) -> Self {
        Self(Content::Held(body.boxed_unsync()))
    }
}

impl HeldBody {
    /// A text of the program itself, which takes no memory.
    pub fn of_program(text: &'static str) -> Self {
        Self(Full::new(Bytes::from_static(text.as_bytes())).map_err(|never| match never {}).boxed_unsync())
    }

    /// The body, for the connection that sends it.
    pub fn into_inner(self) -> UnsyncBoxBody<Bytes, EgressError> {
        self.0
    }
}

/// A body that is complete in memory. Its bytes become a part of the budget when it is sent.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Body(Content::Plain(Some(bytes.into())))
}

/// A document that the gateway keeps anyway. Its bytes are in memory once, for all answers.
pub fn shared(document: Bytes) -> Body {
    Body::held(Full::new(document).map_err(|never| match never {}))
}

/// A body of pieces that are parts of the budget.
pub fn of_pieces(pieces: impl Stream<Item = Result<Frame<Bytes>, EgressError>> + Send + 'static) -> Body {
    Body::held(StreamBody::new(pieces))
}

/// A body whose first pieces have been read.
pub fn rejoined<const N: usize>(read: [Result<Bytes, EgressError>; N], rest: Body) -> Body {
    let read = stream::iter(read).map_ok(Frame::data);
    of_pieces(read.chain(BodyStream::new(rest)))
}

/// An upstream's body. It holds the permit of its call until it has been sent.
pub fn streamed<P: Send + Unpin + 'static>(body: ResponseBody, permit: P) -> Body {
    Body::held(WithPermit { body, _permit: permit })
}

/// A body that is complete in memory, and a part of the budget. It holds the permit of its call
/// until it has been sent.
pub fn complete<P: Send + Unpin + 'static>(bytes: Bytes, permit: P) -> Body {
    Body::held(WithPermit { body: Full::new(bytes).map_err(|never| match never {}), _permit: permit })
}

/// A body whose bytes are counted as they are read. `done` gets their number once the body is
/// dropped.
pub fn counted(body: Body, done: impl FnOnce(u64) + Send + Unpin + 'static) -> Body {
    Body::held(Counted { body, bytes: 0, done: Some(done) })
}

struct Counted<F: FnOnce(u64)> {
    body: Body,
    bytes: u64,
    done: Option<F>,
}

impl<F: FnOnce(u64)> Drop for Counted<F> {
    fn drop(&mut self) {
        if let Some(done) = self.done.take() {
            done(self.bytes);
        }
    }
}

impl<F: FnOnce(u64) + Unpin> hyper::body::Body for Counted<F> {
    type Data = Bytes;
    type Error = EgressError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, EgressError>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            self.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
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

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = EgressError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, EgressError>>> {
        match &mut self.0 {
            Content::Plain(bytes) => {
                Poll::Ready(bytes.take().filter(|bytes| !bytes.is_empty()).map(|bytes| Ok(Frame::data(bytes))))
            }
            Content::Held(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Content::Plain(bytes) => bytes.as_ref().is_none_or(Bytes::is_empty),
            Content::Held(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Plain(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Content::Held(body) => body.size_hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use memory::MemoryBudget;

    use super::*;

    #[test]
    fn a_body_is_a_part_of_the_budget_until_it_is_sent() {
        let memory = MemoryBudget::new(100_000);
        let held = full(vec![b' '; 60_000]).hold(memory.part());
        assert_eq!((held.is_ok(), memory.held()), (true, 60_000));
        assert!(full(vec![b' '; 60_000]).hold(memory.part()).is_err());
        drop(held);
        assert_eq!(memory.held(), 0);
    }
}
