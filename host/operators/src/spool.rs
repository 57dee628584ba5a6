//! An answer that is written faster than its caller reads it.
//!
//! Many clients send a whole body before they read the answer. The answer to a long body must then
//! wait somewhere, and memory would grow with it. So it waits in a file without a name, which ends
//! with the answer.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use hyper::body::Frame;
use tokio::sync::watch;

use body::{Body, of_pieces};
use egress::EgressError;

/// The most bytes that are read from the file at a time.
const PIECE: usize = 64 << 10;

/// Writes an answer. If this is dropped without [`SpoolWriter::finish`], the answer breaks off, so
/// that its caller does not take it for a whole one.
pub(super) struct SpoolWriter {
    file: Arc<File>,
    written: watch::Sender<Written>,
}

/// The state of an answer.
#[derive(Clone, Copy, Default)]
struct Written {
    /// The number of bytes in the file.
    bytes: u64,
    /// Nothing follows.
    is_whole: bool,
}

/// Makes an answer in a file of this folder.
///
/// # Errors
/// If the file cannot be made.
pub async fn spool(folder: &Path) -> io::Result<(SpoolWriter, Body)> {
    let folder = folder.to_owned();
    let file = Arc::new(blocking(move || tempfile::tempfile_in(folder)).await?);
    let (written, reader) = watch::channel(Written::default());
    let source = Source { file: Arc::clone(&file), written: reader, read: 0 };
    let pieces = stream::try_unfold(source, |source| async {
        let next = source.next().await;
        next.map(|next| next.map(|(piece, source)| (Frame::data(piece), source)))
    });
    Ok((SpoolWriter { file, written }, of_pieces(pieces)))
}

impl SpoolWriter {
    /// Adds to the answer.
    ///
    /// # Errors
    /// If the disk is full.
    pub async fn write(&self, bytes: Vec<u8>) -> io::Result<()> {
        let file = Arc::clone(&self.file);
        let size = bytes.len() as u64;
        blocking(move || (&*file).write_all(&bytes)).await?;
        self.written.send_modify(|written| written.bytes += size);
        Ok(())
    }

    /// Ends the answer.
    pub fn finish(self) {
        self.written.send_modify(|written| written.is_whole = true);
    }
}

/// Reads an answer.
struct Source {
    file: Arc<File>,
    written: watch::Receiver<Written>,
    read: u64,
}

impl Source {
    /// The next piece, or `None` at the end.
    ///
    /// # Errors
    /// If the writer was dropped before the end, or if the file cannot be read.
    async fn next(mut self) -> Result<Option<(Bytes, Self)>, EgressError> {
        let read = self.read;
        // Fails when the writer was dropped. It may have written before.
        let _ = self.written.wait_for(|written| written.bytes > read).await;
        let Written { bytes, is_whole } = *self.written.borrow();
        let waiting = usize::try_from(bytes - read).unwrap_or(usize::MAX);
        match waiting {
            0 if is_whole => return Ok(None),
            0 => {
                return Err(EgressError::InvalidRequest { detail: "the answer was not written to its end".to_owned() });
            }
            _ => {}
        }
        let file = Arc::clone(&self.file);
        let piece = blocking(move || {
            let mut piece = vec![0; waiting.min(PIECE)];
            file.read_exact_at(&mut piece, read)?;
            Ok(Bytes::from(piece))
        });
        let piece = piece.await.map_err(|error| {
            tracing::error!(%error, "an answer cannot be read from its file");
            EgressError::InvalidRequest { detail: "the answer cannot be read from its file".to_owned() }
        })?;
        self.read += piece.len() as u64;
        Ok(Some((piece, self)))
    }
}

/// Runs a call of the file system on a thread that may wait.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn an_answer_that_no_one_reads_yet_is_whole_in_the_end() {
        let folder = tempfile::TempDir::new().unwrap();
        let (writer, body) = spool(folder.path()).await.unwrap();
        let line = vec![b'x'; PIECE / 2 + 1];
        for _ in 0..5 {
            writer.write(line.clone()).await.unwrap();
        }
        let reading = tokio::spawn(body.collect());
        writer.write(b"end".to_vec()).await.unwrap();
        writer.finish();
        let read = reading.await.unwrap().unwrap().to_bytes();
        assert_eq!((read.len(), &read[read.len() - 3..]), (5 * line.len() + 3, &b"end"[..]));
        assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "the file has no name");
    }

    #[tokio::test]
    async fn an_answer_without_a_byte_ends() {
        let folder = tempfile::TempDir::new().unwrap();
        let (writer, body) = spool(folder.path()).await.unwrap();
        writer.finish();
        assert!(body.collect().await.unwrap().to_bytes().is_empty());
    }

    #[tokio::test]
    async fn an_answer_whose_writer_stops_in_the_middle_breaks_off_after_what_was_written() {
        let folder = tempfile::TempDir::new().unwrap();
        let (writer, mut body) = spool(folder.path()).await.unwrap();
        writer.write(b"a line\n".to_vec()).await.unwrap();
        drop(writer);
        let piece = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(piece, "a line\n");
        assert!(body.frame().await.unwrap().is_err());
    }
}
