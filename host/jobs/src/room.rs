//! The memory that the end of a job takes, while its result is sealed and stored.
//!
//! A result must not be lost for want of memory, so the end of a job waits for it. Its lease is
//! renewed meanwhile. Jobs that end may hold what others wait for: the answers of their services.
//! So one of them at a time goes beyond the budget when it has waited for long.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep};

use memory::{MemoryBudget, Reservation};

/// Time for which the end of a job waits for memory before it may go beyond the budget.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Time between two looks for memory.
const LOOK: Duration = Duration::from_millis(100);

/// The memory for the ends of jobs.
pub(super) struct Room {
    memory: MemoryBudget,
    /// One job at a time goes beyond the budget.
    beyond: Semaphore,
}

/// Memory that the end of a job has. It is given back when this is dropped.
pub(super) struct TakenRoom<'a> {
    _held: Reservation,
    _beyond: Option<SemaphorePermit<'a>>,
}

impl Room {
    /// Room in this budget.
    pub(super) fn new(memory: MemoryBudget) -> Self {
        Self { memory, beyond: Semaphore::new(1) }
    }

    /// Takes memory, and waits until there is some.
    pub(super) async fn take(&self, bytes: usize) -> TakenRoom<'_> {
        let (mut held, end) = (self.memory.part(), Instant::now() + LONGEST_WAIT);
        let never_fits = bytes as u64 > self.memory.limit();
        loop {
            if held.grow_to(bytes).is_ok() {
                return TakenRoom { _held: held, _beyond: None };
            }
            if (never_fits || Instant::now() >= end)
                && let Ok(turn) = self.beyond.try_acquire()
            {
                let mut held = self.memory.part_beyond_limit();
                // This one is never refused.
                let _ = held.grow_to(bytes);
                return TakenRoom { _held: held, _beyond: Some(turn) };
            }
            sleep(LOOK).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_end_of_a_job_waits_for_memory() {
        let memory = MemoryBudget::new(100_000);
        let room = Room::new(memory.clone());
        let mut others = memory.part();
        others.grow_to(60_000).unwrap();
        let mut ending = pin!(room.take(50_000));
        assert!(timeout(LONGEST_WAIT / 2, &mut ending).await.is_err());
        drop(others);
        let taken = timeout(2 * LOOK, ending).await.unwrap();
        assert_eq!(memory.held(), 50_000);
        drop(taken);
        assert_eq!(memory.held(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn jobs_whose_results_leave_no_room_end_one_after_the_other() {
        let memory = MemoryBudget::new(100_000);
        let room = Room::new(memory.clone());
        // The answers of two jobs, which both wait for more.
        let mut answers = memory.part();
        answers.grow_to(80_000).unwrap();
        let first = room.take(80_000);
        let mut second = pin!(room.take(80_000));
        let first = timeout(LONGEST_WAIT + 2 * LOOK, first).await.unwrap();
        assert_eq!(memory.held(), 160_000);
        assert!(timeout(4 * LONGEST_WAIT, &mut second).await.is_err(), "one at a time goes beyond the budget");
        drop(first);
        let second = timeout(2 * LOOK, second).await.unwrap();
        assert_eq!(memory.held(), 160_000);
        drop(second);
        let large = timeout(LOOK, room.take(200_000)).await.unwrap();
        assert_eq!(memory.held(), 280_000, "it never fits, so that it need not wait");
        drop((large, answers));
    }
}
