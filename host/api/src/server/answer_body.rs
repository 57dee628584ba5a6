//! The body of an answer on its way to the caller.
//!
//! The connection polls the body for the next piece when the caller has read the previous one. A
//! caller that reads nothing would keep the answer, its permit and its connection to the upstream.
//! Another task can therefore give the body up.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body as _, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::connections::ActiveRequest;
use body::HeldBody;
use egress::EgressError;

/// Size of the pieces of a body that is complete in memory. The connection holds one piece after
/// the body was given up.
const PIECE_BYTES: usize = 64 << 10;

/// The value of `waiting_since` while the body waits for its source, which has its own deadline.
const NOT_WAITING: u64 = u64::MAX;

/// The state of an answer's body, shared by the connection that sends it and the task that gives it
/// up.
pub(super) struct AnswerProgress {
    /// `None` after it was given up.
    source: Mutex<Option<Source>>,
    deadline: Option<Instant>,
    /// The second since which a piece waits for the caller to read it.
    waiting_since: AtomicU64,
    given_up: AtomicBool,
}

struct Source {
    body: UnsyncBoxBody<Bytes, EgressError>,
    /// The rest of a large piece.
    rest: Bytes,
    /// The error that ends the body. The connection first sends what it has, and so the status.
    failed: Option<EgressError>,
    /// Wakes the connection, if it waits for the body.
    waker: Option<Waker>,
}

impl AnswerProgress {
    /// The state of a body that begins at the second `now`. At the deadline, if there is one, the
    /// body is given up.
    pub(super) fn new(body: HeldBody, deadline: Option<Instant>, now: u64) -> Self {
        Self {
            waiting_since: AtomicU64::new(now),
            source: Mutex::new(Some(Source { body: body.into_inner(), rest: Bytes::new(), failed: None, waker: None })),
            deadline,
            given_up: AtomicBool::new(false),
        }
    }

    /// The second since which a piece waits for the caller to read it.
    pub(super) fn waiting_since(&self) -> u64 {
        self.waiting_since.load(Ordering::Relaxed)
    }

    /// Returns `true` if the deadline of the call has passed.
    pub(super) fn is_overdue(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline < Instant::now())
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    /// Drops the body. The caller gets an error if it reads on.
    pub(super) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
        let given_up = self.source.lock().take();
        if let Some(waker) = given_up.and_then(|source| source.waker) {
            waker.wake();
        }
    }
}

impl Source {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, EgressError>>> {
        if let Some(error) = self.failed.take() {
            return Poll::Ready(Some(Err(error)));
        }
        if self.rest.is_empty() {
            let frame = match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => frame,
                Poll::Ready(Some(Err(error))) => {
                    // A connection that waits for a body sends the bytes that it holds back. With the
                    // error it would drop them.
                    self.failed = Some(error);
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                other => return other,
            };
            match frame.into_data() {
                Ok(data) if data.len() > PIECE_BYTES => self.rest = data,
                Ok(data) => return Poll::Ready(Some(Ok(Frame::data(data)))),
                Err(frame) => return Poll::Ready(Some(Ok(frame))),
            }
        }
        let piece = self.rest.split_to(PIECE_BYTES.min(self.rest.len()));
        // A copy, because a part of the large piece would keep the whole of it in memory.
        Poll::Ready(Some(Ok(Frame::data(Bytes::copy_from_slice(&piece)))))
    }
}

/// The body that the connection sends.
pub(super) struct AnswerBody {
    progress: Arc<AnswerProgress>,
    request: ActiveRequest,
}

impl AnswerBody {
    pub(super) fn new(progress: Arc<AnswerProgress>, request: ActiveRequest) -> Self {
        Self { progress, request }
    }
}

impl hyper::body::Body for AnswerBody {
    type Data = Bytes;
    type Error = EgressError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, EgressError>>> {
        let progress = &self.progress;
        let mut source = progress.source.lock();
        let Some(source) = source.as_mut() else { return Poll::Ready(Some(Err(EgressError::TimedOut))) };
        let polled = source.poll(context);
        if polled.is_pending() {
            progress.waiting_since.store(NOT_WAITING, Ordering::Relaxed);
            source.waker = Some(context.waker().clone());
        } else {
            progress.waiting_since.store(self.request.seconds(), Ordering::Relaxed);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        let source = self.progress.source.lock();
        let is_at_end =
            |source: &Source| source.rest.is_empty() && source.failed.is_none() && source.body.is_end_stream();
        source.as_ref().is_some_and(is_at_end)
    }

    fn size_hint(&self) -> SizeHint {
        let source = self.progress.source.lock();
        let Some(source) = source.as_ref() else { return SizeHint::default() };
        let (hint, rest) = (source.body.size_hint(), source.rest.len() as u64);
        match hint.exact() {
            Some(size) => SizeHint::with_exact(size + rest),
            None => hint,
        }
    }
}

#[cfg(test)]
mod tests {
    use body::of_pieces;
    use futures_util::stream;
    use memory::MemoryBudget;

    use super::*;

    /// A connection writes while it waits for the body, and drops what it holds if the body fails.
    #[test]
    fn a_connection_can_write_what_it_has_before_a_body_fails() {
        let pieces = [Ok(Frame::data(Bytes::from_static(b"[1, "))), Err(EgressError::TimedOut)];
        let body = of_pieces(stream::iter(pieces)).hold(MemoryBudget::unlimited().part()).unwrap();
        let progress = AnswerProgress::new(body, None, 0);
        let poll = || progress.source.lock().as_mut().unwrap().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(poll(), Poll::Ready(Some(Ok(_)))));
        assert!(poll().is_pending());
        assert!(matches!(poll(), Poll::Ready(Some(Err(EgressError::TimedOut)))));
    }
}
