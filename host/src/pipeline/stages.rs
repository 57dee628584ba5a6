//! The stages of a call, for the metrics and for the call's trace.

use std::time::Instant;

use crate::metrics::{self, Stage};
use crate::telemetry::Trace;

/// Measures stages that follow one another. Each is an observation of the metrics, and a span if the call is traced.
pub(super) struct Stages<'a> {
    trace: &'a Trace,
    stage: &'a Stage,
    began: Instant,
    span: Trace,
    is_over: bool,
}

impl<'a> Stages<'a> {
    /// The first stage begins.
    pub(super) fn begin(trace: &'a Trace, stage: &'a Stage) -> Self {
        Self { trace, stage, began: Instant::now(), span: trace.child(stage.name), is_over: false }
    }

    /// The stage ends, and the next one begins.
    pub(super) fn next(&mut self, stage: &'a Stage) {
        let now = self.record(true);
        (self.stage, self.began, self.span) = (stage, now, self.trace.child(stage.name));
    }

    /// The last stage ends.
    pub(super) fn end(self) {
        self.ended(true);
    }

    /// The last stage ends, with success or without.
    pub(super) fn ended(mut self, is_success: bool) {
        self.record(is_success);
        self.is_over = true;
    }

    /// The span of the stage.
    pub(super) fn span(&self) -> &Trace {
        &self.span
    }

    fn record(&self, is_success: bool) -> Instant {
        let now = Instant::now();
        metrics::record(&self.stage.seconds, now - self.began);
        self.span.end(is_success);
        now
    }
}

/// A stage that an error or the deadline ends is no observation of the metrics. Its span has failed.
impl Drop for Stages<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.span.end(false);
        }
    }
}
