//! The end of an invocation at the deadline of its call, and who caused it.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Instant;

use tokio::time::timeout_at;

use super::invocation_error::InvocationError;
use super::limits::{Awaited, CpuBudget, Limit};

/// Runs an invocation until its deadline. An epoch ends a guest that computes, but it does not wake
/// a guest that waits in a host function.
///
/// If a guest computes at its deadline and had a processor for most of the time, it has broken a
/// limit. Otherwise the processors were busy with other guests.
pub(super) async fn until<T>(
    deadline: tokio::time::Instant,
    cpu: &CpuBudget,
    run: impl Future<Output = Result<T, InvocationError>>,
) -> Result<T, InvocationError> {
    let (began, left) = (Instant::now(), cpu.left());
    let mut run = pin!(run);
    // `run` is not dropped before the end of this function, because dropping it would reset what
    // the guest waits for.
    let polled = poll_fn(|context| cpu.measured(|| run.as_mut().poll(context)));
    if let Ok(result) = timeout_at(deadline, polled).await {
        return result;
    }
    Err(match cpu.awaited() {
        Awaited::Processor if left.saturating_sub(cpu.left()) > began.elapsed() / 2 => {
            InvocationError::Limit(Limit::Time)
        }
        awaited => InvocationError::TimedOut(awaited),
    })
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::time::Duration;

    use super::*;

    /// The end of a guest that has used this CPU time when its deadline comes, and waits for this.
    async fn end_of(used: Duration, awaited: Option<Awaited>) -> InvocationError {
        let (cpu, deadline) = (CpuBudget::new(Duration::from_secs(3600)), tokio::time::Instant::now());
        let run = async {
            cpu.spend(used).unwrap();
            let _waiting = awaited.map(|awaited| cpu.wait_for(awaited, deadline));
            pending::<Result<(), InvocationError>>().await
        };
        until(deadline, &cpu, run).await.unwrap_err()
    }

    #[tokio::test]
    async fn the_end_at_the_deadline_says_what_the_guest_waited_for() {
        for awaited in [Awaited::Upstream, Awaited::Store, Awaited::Sleep] {
            let error = end_of(Duration::from_secs(60), Some(awaited)).await;
            assert!(matches!(error, InvocationError::TimedOut(found) if found == awaited), "{error:?}");
        }
    }

    #[tokio::test]
    async fn a_guest_that_computes_at_its_deadline_is_to_blame_only_if_it_had_a_processor() {
        let error = end_of(Duration::ZERO, None).await;
        assert!(matches!(error, InvocationError::TimedOut(Awaited::Processor)), "{error:?}");
        let error = end_of(Duration::from_secs(60), None).await;
        assert!(matches!(error, InvocationError::Limit(Limit::Time)), "{error:?}");
    }
}
