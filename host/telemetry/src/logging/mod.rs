//! Log lines on standard error: text on a terminal, one JSON object a line otherwise.
//!
//! - [`lines`]: writes each event, with the fields of the spans around it
//! - [`fields`]: the fields of an event or a span
//!
//! Secrets are held as `SecretString`, which prints no text. So no line can hold a secret by
//! mistake.

mod fields;
mod lines;

use std::io::{self, IsTerminal, Write};
use std::panic::{self, PanicHookInfo};

use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

use self::lines::{Format, Lines};
use config::{Config, LogFormat};

/// Target of the span around each request. The configured filter cannot turn this span off, so
/// every line of a request carries the request's id.
pub const REQUEST_SPAN: &str = "request";

/// Starts logging, panics included.
///
/// # Errors
/// If logging was started before.
pub fn start(config: &Config) -> Result<(), TryInitError> {
    let is_terminal = io::stderr().is_terminal();
    let format = match config.log_format {
        LogFormat::Auto if !is_terminal => Format::Json,
        LogFormat::Json => Format::Json,
        LogFormat::Auto | LogFormat::Text => Format::Text { colours: is_terminal },
    };
    // If standard error is closed, the failure cannot be reported.
    let write = |line: &str| drop(io::stderr().write_all(line.as_bytes()));
    subscriber(config.log.clone(), format, write).try_init()?;
    panic::set_hook(Box::new(log_panic));
    Ok(())
}

fn subscriber<W>(filter: Targets, format: Format, write: W) -> impl Subscriber + Send + Sync
where
    W: Fn(&str) + Send + Sync + 'static,
{
    registry().with(Lines::new(format, write)).with(filter.with_target(REQUEST_SPAN, LevelFilter::ERROR))
}

/// A panic ends one task while the process continues. Its line tells the operator where the panic
/// happened.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let location = panic.location().map(ToString::to_string).unwrap_or_default();
    let message = panic.payload_as_str().unwrap_or("no message");
    let backtrace = std::backtrace::Backtrace::capture();
    match backtrace.status() {
        std::backtrace::BacktraceStatus::Captured => tracing::error!(location, %backtrace, "panic: {message}"),
        _ => tracing::error!(location, "panic: {message}; set RUST_BACKTRACE=1 for a backtrace"),
    }
}

#[cfg(test)]
mod tests;
