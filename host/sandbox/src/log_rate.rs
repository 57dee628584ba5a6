//! The rate at which the invocations of a module write lines to the log.

use std::time::{Duration, Instant};

use contract_rules::limit::{LOG_LINE_BYTES, LOG_LINES};
use parking_lot::Mutex;

/// Bytes that all invocations of a module may write in one second: as many as one invocation.
pub(super) const BYTES_PER_SECOND: usize = LOG_LINES * (LOG_LINE_BYTES + '…'.len_utf8());

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
pub(super) enum Admission {
    Admitted,
    /// The first dropped line of a second, with the number of all dropped lines.
    FirstDropped(u64),
    Dropped,
}

impl LogRate {
    pub(super) fn admit(&self, bytes: usize, now: Instant) -> Admission {
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

#[cfg(test)]
mod tests {
    use super::*;

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
