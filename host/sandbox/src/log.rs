//! The `log` interface: lines for the operator.

use std::time::Instant;

use super::bindings::gateway::connector::log::{Host, Level};
use super::guest::Guest;
use super::log_rate::{Admission, BYTES_PER_SECOND};
use super::trap::on_one_line;
use contract_rules::limit::LOG_LINE_BYTES;

impl Host for Guest {
    fn write(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        write_line(self, level, message);
        Ok(())
    }
}

/// Cuts a line to the maximum length.
fn cut(mut line: String) -> String {
    if line.len() > LOG_LINE_BYTES {
        line.truncate(line.floor_char_boundary(LOG_LINE_BYTES));
        line.push('…');
    }
    line
}

impl Guest {
    /// Writes the output of a WASI module to the log.
    pub(super) fn flush_output(&mut self) {
        let Some(output) = self.take_output() else { return };
        for line in String::from_utf8_lossy(&output).lines() {
            write_line(self, Level::Info, line.to_owned());
        }
    }

    /// Counts the last lines as written once more. Returns `false` if the connector has written too
    /// much in this second.
    pub(super) fn may_repeat_last_lines(&self) -> bool {
        self.module.log_rate.admit(self.last_lines.bytes(), Instant::now()) == Admission::Admitted
    }
}

/// Writes a line of the connector, unless the invocation has written too many, or the connector too
/// much in this second.
fn write_line(guest: &mut Guest, level: Level, mut line: String) {
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
}
