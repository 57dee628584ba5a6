//! The `log` interface: lines for the operator.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::bindings::gateway::connector::log::Host;
pub(super) use super::bindings::gateway::connector::log::Level;
use super::guest::Guest;
use contract_rules::limit::{LOG_LINE_BYTES, LOG_LINES};

/// Bytes that all invocations of a module may write in one second: as many as one invocation.
const BYTES_PER_SECOND: usize = LOG_LINES * (LOG_LINE_BYTES + '…'.len_utf8());

impl Host for Guest {
    fn write(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        write_line(self, level, message);
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

/// Cuts a line to the maximum length.
fn cut(mut line: String) -> String {
    if line.len() > LOG_LINE_BYTES {
        line.truncate(line.floor_char_boundary(LOG_LINE_BYTES));
        line.push('…');
    }
    line
}

/// The rate at which the invocations of a module write.
#[derive(Default)]
pub(super) struct LogRate(Mutex<Second>);

/// The lines of one second.
#[derive(Default)]
struct Second {
    began: Option<Instant>,
    bytes: usize,
    /// `true` if a line of this second was dropped.
    is_over: bool,
    /// The number of dropped lines since the module was loaded.
    dropped: u64,
}

/// The decision about a line.
#[derive(Debug, PartialEq, Eq)]
enum Admission {
    Admitted,
    /// The first dropped line of a second, with the number of all dropped lines.
    FirstDropped(u64),
    Dropped,
}

impl LogRate {
    fn admit(&self, bytes: usize, now: Instant) -> Admission {
        let mut second = self.0.lock();
        if second.began.is_none_or(|began| now.duration_since(began) >= Duration::from_secs(1)) {
            *second = Second { began: Some(now), dropped: second.dropped, ..Second::default() };
        }
        if second.bytes + bytes <= BYTES_PER_SECOND {
            second.bytes += bytes;
            return Admission::Admitted;
        }
        second.dropped += 1;
        if std::mem::replace(&mut second.is_over, true) {
            return Admission::Dropped;
        }
        Admission::FirstDropped(second.dropped)
    }
}

impl Guest {
    /// Counts the last lines as written once more. Returns `false` if the connector has written too
    /// much in this second.
    pub(super) fn may_repeat_last_lines(&self) -> bool {
        self.module.log_rate.admit(self.last_lines.bytes(), Instant::now()) == Admission::Admitted
    }
}

/// Writes a line of the connector, unless the invocation has written too many, or the connector too
/// much in this second.
pub(super) fn write_line(guest: &mut Guest, level: Level, mut line: String) {
    // The line is cut before escaping, so that escaping takes little time. It is cut again
    // afterwards, because an escaped character is longer.
    line.truncate(line.floor_char_boundary(LOG_LINE_BYTES + 1));
    guest.last_lines.push(line.clone());
    if !guest.admit_log_line() {
        return;
    }
    let line = cut(on_one_line(line));
    match guest.module.log_rate.admit(line.len(), Instant::now()) {
        Admission::Admitted => {}
        Admission::FirstDropped(dropped) => {
            return tracing::warn!(
                dropped,
                "the connector writes more than {} KiB of log lines a second; further lines of this second are dropped",
                BYTES_PER_SECOND >> 10
            );
        }
        Admission::Dropped => return,
    }
    // The span around the invocation names the connector and the request. Operators can set the
    // level of connectors' lines by this target.
    match level {
        Level::Debug => tracing::debug!(target: "connector", "{line}"),
        Level::Info => tracing::info!(target: "connector", "{line}"),
        Level::Warn => tracing::warn!(target: "connector", "{line}"),
        Level::Error => tracing::error!(target: "connector", "{line}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_after_its_characters_are_escaped() {
        let line = cut(on_one_line("\u{1b}".repeat(LOG_LINE_BYTES)));
        assert_eq!(line.len(), LOG_LINE_BYTES + '…'.len_utf8());
        assert!(line.starts_with("\\u{1b}\\u{1b}") && line.ends_with('…'), "{line}");
        assert_eq!(cut(on_one_line("x".repeat(LOG_LINE_BYTES))).len(), LOG_LINE_BYTES);
    }

    #[test]
    fn lines_over_the_rate_are_dropped_and_said_once_a_second() {
        let (rate, start) = (LogRate::default(), Instant::now());
        let later = |milliseconds: u64| start + Duration::from_millis(milliseconds);
        assert_eq!(rate.admit(BYTES_PER_SECOND - 10, start), Admission::Admitted);
        assert_eq!(rate.admit(11, later(1)), Admission::FirstDropped(1));
        assert_eq!(rate.admit(11, later(2)), Admission::Dropped);
        assert_eq!(rate.admit(10, later(3)), Admission::Admitted, "a shorter line still fits");
        assert_eq!(rate.admit(10, later(999)), Admission::Dropped);
        assert_eq!(rate.admit(BYTES_PER_SECOND, later(1000)), Admission::Admitted);
        assert_eq!(rate.admit(1, later(1001)), Admission::FirstDropped(4));
    }
}
