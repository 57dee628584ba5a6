//! A stream that does not send a request to a peer that has closed the connection.
//!
//! The task of a connection learns of its end when the runtime next asks the system for events. A
//! request that is written before that is lost, and no one knows if the peer has processed it. So
//! the stream asks the system itself, before the first byte of a request that must not be sent
//! twice.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use socket2::SockRef;
use tokio::net::TcpStream;

/// Nothing is to be checked.
const PASSIVE: u8 = 0;
/// The next byte is the first one of a request.
const ARMED: u8 = 1;
/// The peer had closed the connection before the first byte, so no byte was written.
const REFUSED: u8 = 2;

/// The side of a [`Watched`] stream that requests see.
#[derive(Clone, Default)]
pub(super) struct Guard(Arc<AtomicU8>);

impl Guard {
    /// Checks the connection before the next byte is written.
    pub(super) fn arm(&self) {
        self.0.store(ARMED, Ordering::Relaxed);
    }

    /// Returns `true` if no byte of the request was written, because the peer had closed the
    /// connection.
    pub(super) fn has_refused(&self) -> bool {
        self.0.load(Ordering::Relaxed) == REFUSED
    }

    fn before_write(&self, tcp: &TcpStream) -> io::Result<()> {
        if self.0.load(Ordering::Relaxed) == PASSIVE {
            return Ok(());
        }
        if self.0.swap(PASSIVE, Ordering::Relaxed) == ARMED && is_open(tcp) {
            return Ok(());
        }
        self.0.store(REFUSED, Ordering::Relaxed);
        Err(io::ErrorKind::ConnectionReset.into())
    }
}

/// Returns `true` if nothing has arrived since the last response. A peer that sends more, such as
/// an alert of TLS or a status 408, is about to close the connection.
fn is_open(tcp: &TcpStream) -> bool {
    let peeked = SockRef::from(tcp).peek(&mut [MaybeUninit::uninit()]);
    peeked.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// A stream with a guard.
pub(super) struct Watched<S> {
    stream: S,
    /// The socket below the stream.
    tcp: fn(&S) -> &TcpStream,
    guard: Guard,
}

impl<S> Watched<S> {
    pub(super) fn new(stream: S, tcp: fn(&S) -> &TcpStream) -> (Self, Guard) {
        let guard = Guard::default();
        (Self { stream, tcp, guard: guard.clone() }, guard)
    }

    fn before_write(&self) -> io::Result<()> {
        self.guard.before_write((self.tcp)(&self.stream))
    }
}

impl<S: Read + Unpin> Read for Watched<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buf)
    }
}

impl<S: Write + Unpin> Write for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.before_write()?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.before_write()?;
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }
}
