//! The two streams that commands write to: standard output for results, standard error for remarks.
//!
//! `println!` panics if the stream is closed or full, so no command uses it.

use std::fmt;
use std::io::{self, ErrorKind, IsTerminal, Write};

use contract::words::{json_printable, paragraph, printable};
use rustix::termios::tcgetwinsize;

/// Standard output. If its reader has closed it, as `head` does once it has enough, the rest of the
/// result is dropped, and the command ends as if it had been written. Every other error says that
/// the result cannot be written.
pub type Results = ResultsTo<io::Stdout>;

/// See [`Results`].
#[derive(Debug)]
pub struct ResultsTo<W> {
    out: W,
    /// `true` if control and format characters are escaped, because the text has parts that others
    /// chose.
    escapes: bool,
}

impl Results {
    /// A writer of text. Control and format characters of authors, services and registries are
    /// escaped.
    pub fn new() -> Self {
        Self { out: io::stdout(), escapes: true }
    }

    /// A writer of a service's answer, which stays as it is in a file or a pipe. A terminal gets it
    /// escaped.
    pub fn of_service() -> Self {
        Self { out: io::stdout(), escapes: io::stdout().is_terminal() }
    }
}

impl Default for Results {
    fn default() -> Self {
        Self::new()
    }
}

impl<W: Write> Write for ResultsTo<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.escapes {
            let written = self.out.write_all(printable(&String::from_utf8_lossy(bytes)).as_bytes());
            return unless_closed(written.map(|()| bytes.len()), bytes.len());
        }
        unless_closed(self.out.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        unless_closed(self.out.flush(), ())
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

/// Writes a part of the result and an end of line to standard output. Further lines of the text are
/// indented.
///
/// # Errors
/// As [`Results`].
pub fn print(text: impl fmt::Display) -> io::Result<()> {
    write_result(&paragraph(&text.to_string()))
}

/// The characters that fit into a line of standard output: the variable COLUMNS, or else the width
/// of the terminal. `None` for a file or a pipe, whose reader takes each line as one entry.
pub fn line_width() -> Option<usize> {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let of_terminal = || tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col));
    told.or_else(of_terminal).filter(|width| *width > 0)
}

fn write_result(text: &str) -> io::Result<()> {
    let mut results = Results::new();
    writeln!(results, "{text}")?;
    results.flush()
}

/// As [`print()`], for a JSON document. Control and format characters in its texts become escapes
/// of JSON, so that the document stays valid.
///
/// # Errors
/// As [`Results`].
pub fn print_json(document: impl fmt::Display) -> io::Result<()> {
    write_result(&json_printable(&document.to_string()))
}

/// The terminal of standard error, for a line of progress that begins with a carriage return. It
/// gets the text as it is, so the text has no parts that others chose.
#[derive(Debug)]
pub struct ProgressLine(());

impl ProgressLine {
    /// `None` if standard error is no terminal.
    pub fn open() -> Option<Self> {
        io::stderr().is_terminal().then_some(Self(()))
    }

    /// Writes a text over the previous one. A failed write is ignored, because the work is more
    /// important.
    pub fn show(&mut self, text: impl fmt::Display) {
        let _ = write!(self, "\r{text}").and_then(|()| self.flush());
    }

    /// Ends the line.
    pub fn end(mut self) {
        let _ = writeln!(self);
    }
}

impl Write for ProgressLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stderr().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Standard error. Control and format characters are escaped. A remark that cannot be written is
/// dropped, because it cannot be reported either.
#[derive(Debug)]
pub struct Remarks;

impl Write for Remarks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = io::stderr().write_all(printable(&String::from_utf8_lossy(bytes)).as_bytes());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a remark and an end of line to standard error. Further lines of the text are indented.
pub fn remark(text: impl fmt::Display) {
    // Writing remarks does not fail.
    let _ = writeln!(Remarks, "{}", paragraph(&text.to_string()));
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
        let mut results = ResultsTo { out: Broken(kind), escapes: true };
        [writeln!(results, "a line"), results.flush()].map(|written| written.map_err(|error| error.to_string()))
    }

    #[test]
    fn a_result_whose_reader_has_closed_it_is_dropped() {
        assert_eq!(written_to(ErrorKind::BrokenPipe), [Ok(()), Ok(())]);
    }

    #[test]
    fn a_result_has_no_control_and_format_characters() {
        let mut results = ResultsTo { out: Vec::new(), escapes: true };
        writeln!(results, "scope a\u{1b}[2K\r\u{202e}b").unwrap();
        assert_eq!(String::from_utf8(results.out).unwrap(), "scope a\\u{1b}[2K\\r\\u{202e}b\n");
        let mut file = ResultsTo { out: Vec::new(), escapes: false };
        file.write_all(b"\x1b\xff").unwrap();
        assert_eq!(file.out, b"\x1b\xff");
    }

    #[test]
    fn a_result_that_finds_no_room_is_an_error() {
        let failed = || Err("cannot write the result: the cause".to_owned());
        assert_eq!(written_to(ErrorKind::StorageFull), [failed(), failed()]);
    }
}
