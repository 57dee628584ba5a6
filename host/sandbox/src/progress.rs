//! The `progress` interface: the part of a background operation that is done.

use tokio::sync::watch;

use super::bindings::gateway::connector::progress::Host;
use contract_rules::limit::PROGRESS_MESSAGE_BYTES;

/// A report of a connector.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// From 0 to 1.
    pub fraction: f64,
    /// The connector's description of it.
    pub message: String,
}

/// Takes the reports of an operation and holds the last one.
pub type ProgressSender = watch::Sender<Option<Progress>>;

impl Progress {
    fn new(fraction: f64, mut message: String) -> Self {
        message.truncate(message.floor_char_boundary(PROGRESS_MESSAGE_BYTES));
        // The report may be kept for long, and the buffer of a cut message may be large.
        message.shrink_to_fit();
        // NaN does not say how much is done.
        Self { fraction: if fraction.is_nan() { 0.0 } else { fraction.clamp(0.0, 1.0) }, message }
    }
}

impl Host for Option<ProgressSender> {
    fn report(&mut self, fraction: f64, message: String) -> wasmtime::Result<()> {
        if let Some(reports) = self {
            reports.send_replace(Some(Progress::new(fraction, message)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_brought_within_its_limits() {
        for (given, fraction) in [(-1.0, 0.0), (0.25, 0.25), (7.0, 1.0), (f64::NAN, 0.0), (f64::INFINITY, 1.0)] {
            assert_eq!(Progress::new(given, String::new()).fraction, fraction, "{given}");
        }
        assert_eq!(Progress::new(0.0, "x".repeat(PROGRESS_MESSAGE_BYTES)).message.len(), PROGRESS_MESSAGE_BYTES);
        // Each of these characters has two bytes. One byte precedes them.
        let long = format!("x{}", "é".repeat(PROGRESS_MESSAGE_BYTES));
        assert_eq!(Progress::new(0.0, long).message.len(), PROGRESS_MESSAGE_BYTES - 1);
    }
}
