//! The stages of a call, for the metrics, for the call's trace and for its record.

use std::time::Instant;

use calls::Recording;
use metrics::Stage;
use telemetry::Trace;

/// Measures stages that follow one another. Each is an observation of the metrics, and a span if
/// the call is traced.
///
/// A stage begins at the instant at which the previous one has ended, so that the clock is read
/// once for both.
pub(super) struct Stages<'a> {
    trace: &'a Trace,
    recording: &'a Recording,
    /// The end of the last stage.
    ended: Instant,
    /// The stage that runs, and its span.
    current: Option<(&'a Stage, Trace)>,
}

impl<'a> Stages<'a> {
    /// The first stage begins.
    pub(super) fn begin(trace: &'a Trace, recording: &'a Recording, stage: &'a Stage) -> Self {
        let mut stages = Self { trace, recording, ended: Instant::now(), current: None };
        stages.next(stage);
        stages
    }

    /// The stage ends with success, if there is one, and the next one begins. Returns the span of
    /// the next one.
    pub(super) fn next(&mut self, stage: &'a Stage) -> &Trace {
        self.end(true);
        &self.current.insert((stage, self.trace.child(stage.kind.name()))).1
    }

    /// The stage ends, with success or without.
    pub(super) fn end(&mut self, is_success: bool) {
        if let Some((stage, span)) = self.current.take() {
            let now = Instant::now();
            let time = now - self.ended;
            stage.seconds.observe(time.as_secs_f64());
            self.recording.stage(stage.kind, time);
            span.end(is_success);
            self.ended = now;
        }
    }
}

/// A stage that an error or the deadline ends is no observation of the metrics. Its span has
/// failed, and the record of the call shows how long it took.
impl Drop for Stages<'_> {
    fn drop(&mut self) {
        if let Some((stage, span)) = &self.current {
            self.recording.stage(stage.kind, self.ended.elapsed());
            span.end(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use metrics::Metrics;

    #[test]
    fn a_stage_begins_when_the_one_before_has_ended() {
        let metrics = Metrics::default();
        let operation = metrics.operation("demo", "run");
        let (trace, recording) = (Trace::default(), Recording::default());
        let mut stages = Stages::begin(&trace, &recording, &operation.validate);
        let began = stages.ended;
        stages.end(true);
        let ended = stages.ended;
        assert!(ended >= began);
        stages.end(true);
        stages.next(&operation.account);
        assert_eq!(stages.ended, ended);
        stages.next(&operation.admit);
        drop(stages);
        let text = metrics.encode().unwrap();
        let count = |stage: &str| {
            let line = format!("gateway_stage_seconds_count{{connector=\"demo\",stage=\"{stage}\"}} ");
            text.lines().find_map(|found| found.strip_prefix(&line)).unwrap().to_owned()
        };
        let counts = ["validate", "account", "admit"].map(count);
        assert_eq!(counts, ["1", "1", "0"], "the last stage did not end");
    }
}
