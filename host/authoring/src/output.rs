//! The two streams that commands write to: standard output for results, standard error for remarks.
//!
//! `println!` panics if the stream is closed or full, so no command uses it.

use std::fmt;
use std::io::{self, ErrorKind, Write};

/// Standard output. If its reader has closed it, as `head` does once it has enough, the rest of the
/// result is dropped, and the command ends as if it had been written. Every other error says that
/// the result cannot be written.
pub type Results = ResultsTo<io::Stdout>;

/// See [`Results`].
#[derive(Debug)]
pub struct ResultsTo<W>(W);

impl Results {
    /// Standard output.
    pub fn new() -> Self {
        Self(io::stdout())
    }
}

impl Default for Results {
    fn default() -> Self {
        Self::new()
    }
}

impl<W: Write> Write for ResultsTo<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        unless_closed(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        unless_closed(self.0.flush(), ())
    }
}

/// The result of a write, with `dropped` in place of the error of a closed pipe.
fn unless_closed<T>(written: io::Result<T>, dropped: T) -> io::Result<T> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(dropped),
        // The caller tries again.
        Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
        Err(error) => Err(io::Error::new(error.kind(), format!("cannot write the result: {error}"))),
        written => written,
    }
}

/// Writes a part of the result and an end of line to standard output.
///
/// # Errors
/// As [`Results`].
pub fn print(text: impl fmt::Display) -> io::Result<()> {
    let mut results = Results::new();
    writeln!(results, "{text}")?;
    results.flush()
}

/// Standard error. A remark that cannot be written is dropped, because it cannot be reported
/// either.
#[derive(Debug)]
pub struct Remarks;

impl Write for Remarks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = io::stderr().write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a remark and an end of line to standard error.
pub fn remark(text: impl fmt::Display) {
    // Writing remarks does not fail.
    let _ = writeln!(Remarks, "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails each write.
    struct Broken(ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::new(self.0, "the cause"))
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::Error::new(self.0, "the cause"))
        }
    }

    fn written_to(kind: ErrorKind) -> [Result<(), String>; 2] {
        let mut results = ResultsTo(Broken(kind));
        [writeln!(results, "a line"), results.flush()].map(|written| written.map_err(|error| error.to_string()))
    }

    #[test]
    fn a_result_whose_reader_has_closed_it_is_dropped() {
        assert_eq!(written_to(ErrorKind::BrokenPipe), [Ok(()), Ok(())]);
    }

    #[test]
    fn a_result_that_finds_no_room_is_an_error() {
        let failed = || Err("cannot write the result: the cause".to_owned());
        assert_eq!(written_to(ErrorKind::StorageFull), [failed(), failed()]);
    }
}
