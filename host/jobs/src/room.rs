//! The memory that the end of a job takes, while its result is sealed and stored.
//!
//! A result must not be lost for want of memory, so the end of a job waits for it. Its lease is
//! renewed meanwhile. Jobs that end may hold what others wait for: the answers of their services.
//! So one of them at a time goes beyond the budget when it has waited for long.

use tokio::sync::{Semaphore, SemaphorePermit};

use memory::{MemoryBudget, Reservation};

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
        let mut held = self.memory.part();
        if held.wait_to_grow_to(bytes).await.is_ok() {
            return TakenRoom { _held: held, _beyond: None };
        }
        // The semaphore is never closed.
        let turn = self.beyond.acquire().await.ok();
        held.grow_beyond_limit_to(bytes);
        TakenRoom { _held: held, _beyond: turn }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::time::Duration;

    use memory::LONGEST_WAIT;
    use tokio::time::timeout;

    use super::*;

    /// Longer than one step of a job needs, and far shorter than the wait.
    const A_MOMENT: Duration = Duration::from_millis(200);

    #[tokio::test(start_paused = true)]
    async fn jobs_whose_results_leave_no_room_end_one_after_the_other() {
        let memory = MemoryBudget::new(100_000);
        let room = Room::new(memory.clone());
        // The answers of two jobs, which both wait for more.
        let mut answers = memory.part();
        answers.grow_to(80_000).unwrap();
        let first = room.take(80_000);
        let mut second = pin!(room.take(80_000));
        let first = timeout(LONGEST_WAIT + A_MOMENT, first).await.unwrap();
        assert_eq!(memory.held(), 160_000);
        assert!(timeout(4 * LONGEST_WAIT, &mut second).await.is_err(), "one at a time goes beyond the budget");
        drop(first);
        let second = timeout(A_MOMENT, second).await.unwrap();
        assert_eq!(memory.held(), 160_000);
        drop(second);
        let large = timeout(A_MOMENT, room.take(200_000)).await.unwrap();
        assert_eq!(memory.held(), 280_000, "it never fits, so that it need not wait");
        drop((large, answers));
    }
}
