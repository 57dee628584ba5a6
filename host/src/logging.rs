//! Log lines, on standard error: text on a terminal, one JSON object a line elsewhere.
//!
//! What is secret is a `SecretString` wherever it is held, which has no text of its own: it cannot be logged by mistake.

use std::io::{self, IsTerminal};
use std::panic::{self, PanicHookInfo};

use tracing::Subscriber;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{Layer, fmt, registry};

use crate::config::{Config, LogFormat};

/// Writes what is logged from now on, panics included.
///
/// # Errors
/// When it was called before.
pub fn start(config: &Config) -> Result<(), TryInitError> {
    let is_terminal = io::stderr().is_terminal();
    let as_json = match config.log_format {
        LogFormat::Auto => !is_terminal,
        LogFormat::Text => false,
        LogFormat::Json => true,
    };
    subscriber(config.log.clone(), as_json, is_terminal, io::stderr).try_init()?;
    panic::set_hook(Box::new(log_panic));
    Ok(())
}

fn subscriber<W>(filter: Targets, as_json: bool, colours: bool, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = fmt::layer().with_writer(writer);
    let lines = if as_json {
        lines.json().flatten_event(true).with_current_span(false).boxed()
    } else {
        lines.compact().with_target(false).with_ansi(colours).boxed()
    };
    registry().with(lines).with(filter)
}

/// The process may go on after a panic, which ends one task; the operator learns of it like of anything else.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let location = panic.location().map(ToString::to_string).unwrap_or_default();
    let message = panic.payload_as_str().unwrap_or("no message");
    let backtrace = std::backtrace::Backtrace::capture();
    match backtrace.status() {
        std::backtrace::BacktraceStatus::Captured => tracing::error!(location, %backtrace, "panic: {message}"),
        _ => tracing::error!(location, "panic: {message}; set RUST_BACKTRACE=1 to see where it came from"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Lines {
        fn of(filter: &str, as_json: bool, log: impl FnOnce()) -> String {
            let lines = Self::default();
            let writer = lines.clone();
            let subscriber = subscriber(filter.parse().unwrap(), as_json, false, move || writer.clone());
            tracing::subscriber::with_default(subscriber, log);
            String::from_utf8(lines.0.lock().unwrap().clone()).unwrap()
        }
    }

    #[test]
    fn a_json_line_has_its_fields_beside_its_message() {
        let lines = Lines::of("info", true, || tracing::info!(connector = "demo", "swapped"));
        let line: serde_json::Value = serde_json::from_str(&lines).unwrap();
        assert_eq!(line["message"], "swapped");
        assert_eq!(line["connector"], "demo");
        assert_eq!(line["level"], "INFO");
        assert!(line["timestamp"].is_string());
    }

    #[test]
    fn a_message_with_a_line_break_stays_one_json_line() {
        let lines = Lines::of("info", true, || tracing::info!("one\ntwo"));
        assert_eq!(lines.lines().count(), 1);
    }

    #[test]
    fn what_the_filter_does_not_name_is_not_written() {
        let log = || {
            tracing::debug!("detail");
            tracing::warn!(target: "noisy", "noise");
            tracing::warn!("fact");
        };
        let lines = Lines::of("info,noisy=error", false, log);
        assert!(lines.contains("fact"), "{lines}");
        assert!(!lines.contains("detail") && !lines.contains("noise"), "{lines}");
    }

    #[test]
    fn a_panic_is_logged_with_its_place() {
        let former = panic::take_hook();
        let lines = Lines::of("info", true, || {
            panic::set_hook(Box::new(log_panic));
            let _ = panic::catch_unwind(|| panic!("out of {}", "order"));
        });
        panic::set_hook(former);
        let line: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
        assert!(line["message"].as_str().unwrap().starts_with("panic: out of order"), "{line}");
        assert!(line["location"].as_str().unwrap().contains("logging.rs"), "{line}");
    }

    #[test]
    fn a_secret_leaves_no_trace_in_a_line() {
        let secret = secrecy::SecretString::from("hunter2");
        assert!(!Lines::of("info", true, || tracing::info!(?secret, "held")).contains("hunter2"));
    }
}
