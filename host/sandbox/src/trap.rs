//! Why a guest trapped, for the author of the connector: the trap itself, and the last lines that
//! the guest wrote before.
//!
//! A panic in Rust, an exception in JavaScript and a traceback in Python all reach the log as lines
//! of the guest. The trap that follows them only says that the guest gave up.

use std::collections::VecDeque;
use std::fmt;

/// Size of the last lines that are kept.
const MAX_BYTES: usize = 4 << 10;

/// Number of the last lines that are kept.
const MAX_LINES: usize = 16;

/// The last lines of a guest, as it wrote them.
#[derive(Default)]
pub(super) struct LastLines {
    lines: VecDeque<String>,
    bytes: usize,
}

impl LastLines {
    /// Adds a line in place of the oldest ones. Only the beginning of a long line is kept.
    pub(super) fn push(&mut self, mut line: String) {
        line.truncate(line.floor_char_boundary(MAX_BYTES));
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.bytes > MAX_BYTES || self.lines.len() > MAX_LINES {
            self.bytes -= self.lines.pop_front().map_or(0, |oldest| oldest.len());
        }
    }

    /// Size of all lines.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The lines, each on one line.
    pub(super) fn take(&mut self) -> Vec<String> {
        self.bytes = 0;
        self.lines.drain(..).map(on_one_line).collect()
    }
}

/// A trap. Its `Display` is the cause with the last lines, on one line.
#[derive(Debug)]
pub struct TrapReport {
    /// The error that ended the guest, on one line.
    pub cause: String,
    /// The cause with the functions of the guest that were running.
    pub backtrace: String,
    /// The last lines of the guest, the newest one last.
    pub last_lines: Vec<String>,
}

impl TrapReport {
    /// The report of an error with the last lines of the guest.
    pub(super) fn new(error: &wasmtime::Error, last_lines: Vec<String>) -> Self {
        let cause = on_one_line(error.root_cause().to_string());
        Self { cause, backtrace: format!("{error:#}"), last_lines }
    }
}

impl fmt::Display for TrapReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.cause)?;
        if !self.last_lines.is_empty() {
            write!(formatter, "; the last lines that it wrote: {}", self.last_lines.join(" | "))?;
        }
        Ok(())
    }
}

/// Escapes control characters. With them, a connector could write lines that look like lines of the
/// gateway.
pub(super) fn on_one_line(line: String) -> String {
    if !line.contains(char::is_control) {
        return line;
    }
    line.chars().fold(String::with_capacity(line.len()), |mut safe, character| {
        if character.is_control() {
            safe.extend(character.escape_default());
        } else {
            safe.push(character);
        }
        safe
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_lines_are_kept() {
        let mut lines = LastLines::default();
        for number in 0..100 {
            lines.push(format!("line {number}"));
        }
        let kept = lines.take();
        assert_eq!((kept.len(), kept.first().unwrap().as_str()), (MAX_LINES, "line 84"));
        assert_eq!((kept.last().unwrap().as_str(), lines.bytes()), ("line 99", 0));
        lines.push("old".to_owned());
        lines.push("é".repeat(MAX_BYTES));
        assert_eq!(lines.bytes(), MAX_BYTES);
        assert_eq!(lines.take().len(), 1);
    }

    #[test]
    fn a_report_is_on_one_line() {
        let mut lines = LastLines::default();
        lines.push("panicked at src/lib.rs:7:\nempty".to_owned());
        let report = TrapReport::new(&wasmtime::Error::msg("unreachable\nin `f`"), lines.take());
        let expected = r"unreachable\nin `f`; the last lines that it wrote: panicked at src/lib.rs:7:\nempty";
        assert_eq!(report.to_string(), expected);
        assert_eq!(report.backtrace, "unreachable\nin `f`");
    }
}
