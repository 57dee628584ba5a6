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

/// A line break or a terminal's control character would let a connector write lines in the gateway's name.
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

/// Writes one line in the connector's name, unless it has written too many.
pub(super) fn write(guest: &mut Guest, level: Level, mut line: String) {
    if guest.admit_log_line(&mut line).is_none() {
        return;
    }
    let line = on_one_line(line);
    let (connector, request_id) = (&*guest.call.connector, &*guest.call.request_id);
    // The target lets operators turn one connector's lines up or down.
    match level {
        Level::Debug => tracing::debug!(target: "connector", connector, request_id, "{line}"),
        Level::Info => tracing::info!(target: "connector", connector, request_id, "{line}"),
        Level::Warn => tracing::warn!(target: "connector", connector, request_id, "{line}"),
        Level::Error => tracing::error!(target: "connector", connector, request_id, "{line}"),
    }
}
