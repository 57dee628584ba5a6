//! Totals of some metrics over all labels.
//!
//! The library shows the metrics of all labels only as text. The text is read line by line while it
//! is written, so that it is never in memory as a whole.

use std::fmt;

use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::{BOUNDS, Durations, Metrics, OperationLabels, RequestLabels};

/// The operations of routes that no caller's work is about: the routes of operators, and the routes
/// of machines that watch the gateway, such as health checks. If they counted, a gateway without a
/// single call would seem to be busy, and a gateway that answers health checks with 503 to fail.
const NOT_OF_CALLERS: [&str; 2] = [ADMIN, SYSTEM];

/// The operation of the operator's routes in metrics.
pub const ADMIN: &str = "admin";

/// The operation of health checks, metrics and pages in metrics.
pub const SYSTEM: &str = "system";

/// The buckets of a histogram: one for each bound, and one without.
const BUCKETS: usize = BOUNDS.len() + 1;

/// Totals since the start of the gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Answers to callers: to all requests, except for the operations of [`NOT_OF_CALLERS`].
    pub answers: u64,
    /// Those with a status of 500 or more.
    pub faults: u64,
    /// Operations that succeeded within each of the bounds, and all of them at the end.
    within: [u64; BUCKETS],
}

impl Totals {
    /// The bound in seconds within which this part of the operations since `before` has succeeded.
    /// Infinite above all bounds. `None` if there was no operation.
    pub fn quantile_since(&self, before: &Self, part: f64) -> Option<f64> {
        let since: Vec<u64> =
            self.within.iter().zip(before.within).map(|(now, before)| now.saturating_sub(before)).collect();
        let all = since.last().copied().filter(|&all| all > 0)? as f64;
        let bounds = BOUNDS.into_iter().chain([f64::INFINITY]);
        bounds.zip(since).find(|(_, within)| *within as f64 >= part * all).map(|(bound, _)| bound)
    }

    /// Adds a line of the text. Lines of other metrics are ignored.
    fn add(&mut self, line: &str) {
        let Some((name, number)) = line.rsplit_once(' ') else { return };
        let Ok(number) = number.parse::<u64>() else { return };
        if name.starts_with("requests_total{") {
            let of = |name_of_label| label(name, name_of_label).unwrap_or_default();
            if of("connector").is_empty() && NOT_OF_CALLERS.contains(&of("operation")) {
                return;
            }
            self.answers += number;
            if label(name, "status").is_some_and(|status| status.starts_with('5')) {
                self.faults += number;
            }
        } else if name.starts_with("request_seconds_bucket{") {
            let bound = label(name, "le").and_then(|bound| bound.parse::<f64>().ok());
            let place = BOUNDS.iter().position(|known| Some(*known) == bound).unwrap_or(BUCKETS - 1);
            self.within[place] += number;
        }
    }
}

/// The value of a label. No label of these metrics has a quotation mark.
fn label<'a>(name: &'a str, label: &str) -> Option<&'a str> {
    let (_, rest) = name.split_once(&format!("{label}=\""))?;
    rest.split('"').next()
}

/// The registry of the metrics that totals need.
pub(super) fn registry(
    requests: &Family<RequestLabels, Counter>,
    request_seconds: &Durations<OperationLabels>,
) -> Registry {
    let mut registry = Registry::default();
    registry.register("requests", "", requests.clone());
    registry.register("request_seconds", "", request_seconds.clone());
    registry
}

/// Reads each line as soon as it is complete.
#[derive(Default)]
struct Reader {
    line: String,
    totals: Totals,
}

impl fmt::Write for Reader {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for part in text.split_inclusive('\n') {
            match part.strip_suffix('\n') {
                None => self.line.push_str(part),
                Some(end) => {
                    self.line.push_str(end);
                    self.totals.add(&self.line);
                    self.line.clear();
                }
            }
        }
        Ok(())
    }
}

impl Metrics {
    /// The totals now.
    pub fn totals(&self) -> Totals {
        let mut reader = Reader::default();
        // It fails only if a label cannot be encoded. All label types can.
        let _ = text::encode(&mut reader, &self.sampled);
        reader.totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_over_all_labels() {
        let metrics = Metrics::default();
        assert_eq!(metrics.totals(), Totals::default());
        let count = |connector: &str, operation: &str, status, times| {
            let labels = RequestLabels { connector: connector.to_owned(), operation: operation.to_owned(), status };
            metrics.requests.get_or_create_owned(&labels).inc_by(times);
        };
        count("mail", "list", 200, 6);
        count("mail", "list", 503, 2);
        count("notes", "list", 500, 1);
        count("notes", "list", 429, 5);
        // An operation may have any name.
        count("notes", "system", 200, 1);
        // Health checks and the console.
        count("", "system", 503, 100);
        count("", "admin", 200, 100);
        let totals = metrics.totals();
        assert_eq!((totals.answers, totals.faults), (15, 3));
    }

    #[test]
    fn a_quantile_is_of_the_operations_since_a_time() {
        let metrics = Metrics::default();
        let (mail, notes) = (metrics.operation("mail", "list"), metrics.operation("notes", "list"));
        for _ in 0..100 {
            mail.seconds.observe(0.000_01);
        }
        let before = metrics.totals();
        assert_eq!(before.quantile_since(&Totals::default(), 0.5), Some(0.000_025));
        assert_eq!(before.quantile_since(&before, 0.5), None);
        for _ in 0..18 {
            mail.seconds.observe(0.02);
        }
        notes.seconds.observe(0.7);
        notes.seconds.observe(60.0);
        let now = metrics.totals();
        let quantile = |part| now.quantile_since(&before, part).unwrap();
        assert_eq!((quantile(0.5), quantile(0.95), quantile(1.0)), (0.025, 1.0, f64::INFINITY));
    }
}
