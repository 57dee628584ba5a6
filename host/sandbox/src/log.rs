//! The `log` interface: lines for the operator.

use super::bindings::gateway::connector::log::Host;
pub(super) use super::bindings::gateway::connector::log::Level;
use super::invocation::Guest;

impl Host for Guest {
    fn write(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        write(self, level, message);
        Ok(())
    }
}

/// Escapes control characters. With them, a connector could write lines that look like those of the gateway.
fn on_one_line(line: String) -> String {
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

/// Writes a line of the connector, unless the invocation has written too many.
pub(super) fn write(guest: &mut Guest, level: Level, mut line: String) {
    if guest.admit_log_line(&mut line).is_none() {
        return;
    }
    let line = on_one_line(line);
    // The span around the invocation names the connector and the request. By this target, operators can set the level of
    // connectors' lines.
    match level {
        Level::Debug => tracing::debug!(target: "connector", "{line}"),
        Level::Info => tracing::info!(target: "connector", "{line}"),
        Level::Warn => tracing::warn!(target: "connector", "{line}"),
        Level::Error => tracing::error!(target: "connector", "{line}"),
    }
}
