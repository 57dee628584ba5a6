//! The errors of requests as the guest gets them. The contract tells fewer causes apart than the
//! gateway does, so each error is kept with its cause for a connector that passes it on.

use std::mem::{Discriminant, discriminant};

use parking_lot::Mutex;

use super::Error;
use egress::{EgressError, whole_seconds};

/// Maximum number of errors that one call keeps: the last ones.
const MAX_KEPT: usize = 32;

/// The errors that the guests of one call got, each with its last cause.
#[derive(Default)]
pub(super) struct GuestErrors(Mutex<Vec<(Error, EgressError)>>);

impl GuestErrors {
    /// The error for the guest.
    pub(super) fn give(&self, cause: EgressError) -> Error {
        let cause = cause.with_short_detail();
        let given = in_contract(&cause);
        if !is_said_by_contract(&cause) {
            let mut kept = self.0.lock();
            kept.retain(|(known, _)| *known != given);
            if kept.len() == MAX_KEPT {
                kept.remove(0);
            }
            kept.push((given.clone(), cause));
        }
        given
    }

    /// The cause of an error that a connector passes on. `None` if no guest got this error, or if it
    /// says as much as its cause.
    pub(super) fn cause(&self, passed_on: &Error) -> Option<EgressError> {
        // It has one cause, also if the connector made it up.
        if matches!(passed_on, Error::TimedOut) {
            return Some(EgressError::TimedOut);
        }
        self.0.lock().iter().find(|(given, _)| given == passed_on).map(|(_, cause)| cause.clone())
    }
}

/// An error in the terms of the contract.
pub(super) fn in_contract(error: &EgressError) -> Error {
    match error {
        EgressError::InvalidRequest { detail } | EgressError::BadPath { detail } => {
            Error::InvalidRequest(detail.clone())
        }
        EgressError::PathTooLong => Error::InvalidRequest(error.to_string()),
        EgressError::Denied { detail } | EgressError::NotLinked { detail } => Error::Denied(detail.clone()),
        EgressError::RateLimited { retry_after } | EgressError::QueueStuck { retry_after } => {
            Error::RateLimited(u32::try_from(whole_seconds(*retry_after)).unwrap_or(u32::MAX))
        }
        EgressError::NoMemory | EgressError::QueueUnknown => Error::Busy(1),
        EgressError::TimedOut => Error::TimedOut,
        EgressError::TooLarge { .. } => Error::TooLarge(error.to_string()),
        EgressError::Unreachable { .. } | EgressError::Unresolved { .. } => Error::Unreachable(error.to_string()),
        EgressError::BadResponse { .. } => Error::BadAnswer(error.to_string()),
        EgressError::BadRedirect { .. } => Error::Denied(error.to_string()),
        // Bodies of connectors can be sent again.
        EgressError::TokenRefreshed | EgressError::NotConfigured { .. } | EgressError::NoAccountUrl { .. } => {
            Error::Failed(error.to_string())
        }
    }
}

/// Returns `true` if the contract's error says as much as its cause.
fn is_said_by_contract(cause: &EgressError) -> bool {
    matches!(
        cause,
        EgressError::NoMemory
            | EgressError::TimedOut
            | EgressError::TokenRefreshed
            | EgressError::NotConfigured { .. }
            | EgressError::NoAccountUrl { .. }
    )
}

impl Error {
    /// The text of the error. A connector may have made it up.
    pub fn text_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::InvalidRequest(text)
            | Self::Denied(text)
            | Self::Unreachable(text)
            | Self::BadAnswer(text)
            | Self::TooLarge(text)
            | Self::Failed(text) => Some(text),
            Self::RateLimited(_) | Self::Busy(_) | Self::TimedOut | Self::TooManyRequests => None,
        }
    }
}

/// Errors are equal if a guest cannot tell them apart.
impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        parts(self) == parts(other)
    }
}

fn parts(error: &Error) -> (Discriminant<Error>, &str, u32) {
    let (text, seconds) = match error {
        Error::InvalidRequest(text)
        | Error::Denied(text)
        | Error::Unreachable(text)
        | Error::BadAnswer(text)
        | Error::TooLarge(text)
        | Error::Failed(text) => (text.as_str(), 0),
        Error::RateLimited(seconds) | Error::Busy(seconds) => ("", *seconds),
        Error::TimedOut | Error::TooManyRequests => ("", 0),
    };
    (discriminant(error), text, seconds)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn unresolved(host: &str) -> EgressError {
        EgressError::Unresolved { host: host.to_owned(), detail: "no such name".to_owned() }
    }

    #[test]
    fn each_error_that_is_passed_on_has_its_own_cause() {
        let retry_after = Duration::from_secs(5);
        let causes = [
            unresolved("a.test"),
            EgressError::PathTooLong,
            EgressError::BadPath { detail: "a path has no such character".to_owned() },
            EgressError::NotLinked { detail: "b.test is no link host".to_owned() },
            EgressError::QueueStuck { retry_after },
            EgressError::RateLimited { retry_after: 2 * retry_after },
            EgressError::QueueUnknown,
            unresolved("b.test"),
        ];
        let errors = GuestErrors::default();
        let given = causes.clone().map(|cause| errors.give(cause));
        assert_eq!(given.each_ref().map(|error| errors.cause(error)), causes.map(Some));
        assert_eq!(errors.cause(&Error::RateLimited(7)), None);
        // A later cause of the same error takes the place of the one before.
        errors.give(EgressError::RateLimited { retry_after });
        assert_eq!(errors.cause(&Error::RateLimited(5)), Some(EgressError::RateLimited { retry_after }));
    }

    #[test]
    fn an_error_that_says_as_much_as_its_cause_stays_what_it_is() {
        let errors = GuestErrors::default();
        assert_eq!(errors.give(EgressError::NoMemory), Error::Busy(1));
        assert_eq!(errors.cause(&Error::Busy(1)), None);
        assert_eq!(errors.cause(&Error::TimedOut), Some(EgressError::TimedOut));
    }

    #[test]
    fn a_text_of_the_connector_in_an_error_takes_little_memory() {
        let errors = GuestErrors::default();
        let detail = format!("the manifest has no upstream `{}`", "é".repeat(1 << 20));
        let given = errors.give(EgressError::InvalidRequest { detail });
        assert!(matches!(&given, Error::InvalidRequest(text) if text.len() < 2 << 10), "{given:?}");
        let kept = errors.cause(&given);
        assert!(matches!(kept, Some(EgressError::InvalidRequest { detail }) if detail.len() < 2 << 10));
    }

    #[test]
    fn a_call_keeps_the_last_errors() {
        let errors = GuestErrors::default();
        let given: Vec<Error> =
            (0..=MAX_KEPT).map(|number| errors.give(unresolved(&format!("{number}.test")))).collect();
        let kept: Vec<bool> = given.iter().map(|error| errors.cause(error).is_some()).collect();
        assert_eq!(kept, [vec![false], vec![true; MAX_KEPT]].concat());
    }
}
