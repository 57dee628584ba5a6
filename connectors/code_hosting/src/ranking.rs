//! The best results of a search over many repositories, as many as an answer may hold.

use std::cmp::Ordering;

use crate::found::{Found, Key};

/// Maximum number of results in an answer.
pub(crate) const MAX_RESULTS: usize = 5_000;

/// Maximum size of an answer. It has to fit into the memory of an invocation twice.
pub(crate) const MAX_BYTES: usize = 8 << 20;

/// The best results so far.
pub(crate) struct Ranking {
    ascending: bool,
    /// Number of results that keep their text. The others only keep their facts.
    shown: usize,
    results: Vec<Found>,
    bytes: usize,
    /// The best result that was dropped. A result that is not better has no room.
    bound: Option<(Key, String, u64)>,
}

impl Ranking {
    pub(crate) fn new(ascending: bool, shown: usize) -> Self {
        Self { ascending, shown, results: Vec::new(), bytes: 0, bound: None }
    }

    /// Returns `true` if a result is among the best so far.
    pub(crate) fn has_room(&self, key: &Key, repository: &str, number: u64) -> bool {
        let is_before = |(bound, bound_repository, bound_number): &(Key, String, u64)| {
            self.order((key, repository, number), (bound, bound_repository, *bound_number)).is_lt()
        };
        self.bound.as_ref().is_none_or(is_before)
    }

    /// Adds a result. The caller has checked that it has room.
    pub(crate) fn take(&mut self, found: Found) {
        self.bytes += found.text.as_ref().map_or(0, String::len);
        self.results.push(found);
        // Sorting after each result would be slow, so a quarter more results may accumulate.
        if self.results.len() > MAX_RESULTS / 4 * 5 || self.bytes > MAX_BYTES / 4 * 5 {
            self.trim();
        }
    }

    /// The results, best first, and `true` if others were dropped.
    pub(crate) fn finish(mut self) -> (Vec<Found>, bool) {
        self.trim();
        (self.results, self.bound.is_some())
    }

    /// Results with equal keys are in the order of repository and number, in both directions.
    fn order(&self, one: (&Key, &str, u64), other: (&Key, &str, u64)) -> Ordering {
        let by_key = if self.ascending { one.0.cmp(other.0) } else { other.0.cmp(one.0) };
        by_key.then_with(|| one.1.cmp(other.1)).then_with(|| one.2.cmp(&other.2))
    }

    fn trim(&mut self) {
        let mut results = std::mem::take(&mut self.results);
        results.sort_by(|one, other| {
            self.order((&one.key, &one.repository, one.number), (&other.key, &other.repository, other.number))
        });
        self.bytes = 0;
        let mut kept = 0;
        for (rank, found) in results.iter_mut().enumerate().take(MAX_RESULTS) {
            if rank >= self.shown {
                found.text = None;
            }
            let bytes = found.text.as_ref().map_or(0, String::len);
            if self.bytes + bytes > MAX_BYTES {
                break;
            }
            self.bytes += bytes;
            kept = rank + 1;
        }
        if let Some(first) = results.get(kept) {
            self.bound = Some((first.key.clone(), first.repository.clone(), first.number));
        }
        results.truncate(kept);
        self.results = results;
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_BYTES, MAX_RESULTS, Ranking};
    use crate::found::{Found, Key};

    /// Adds a result of this size if it has room. Returns whether it had.
    fn offer(ranking: &mut Ranking, key: u64, repository: &str, number: u64, bytes: usize) -> bool {
        let has_room = ranking.has_room(&Key::Count(key), repository, number);
        if has_room {
            let (repository, text) = (repository.to_owned(), Some("x".repeat(bytes)));
            ranking.take(Found { key: Key::Count(key), repository, number, facts: None, text });
        }
        has_room
    }

    #[test]
    fn the_best_come_first_and_equal_keys_are_ordered_by_repository_and_number() {
        for (ascending, expected) in [(false, ["a9", "a1", "a2", "b1", "c1"]), (true, ["c1", "a1", "a2", "b1", "a9"])] {
            let mut ranking = Ranking::new(ascending, MAX_RESULTS);
            for (key, repository, number) in [(5, "b", 1), (5, "a", 2), (1, "c", 1), (5, "a", 1), (9, "a", 9)] {
                assert!(offer(&mut ranking, key, repository, number, 2));
            }
            let (results, is_truncated) = ranking.finish();
            let names: Vec<String> =
                results.iter().map(|found| format!("{}{}", found.repository, found.number)).collect();
            assert_eq!(names, expected);
            assert!(!is_truncated);
        }
    }

    #[test]
    fn an_answer_has_the_best_results_up_to_the_maximum() {
        let all = 3 * MAX_RESULTS as u64;
        let mut ranking = Ranking::new(false, MAX_RESULTS);
        // In this order, better results arrive late, and worse results arrive after others were dropped.
        for number in (0..all).map(|number| number * 7919 % all) {
            offer(&mut ranking, number, "a", number, 2);
        }
        assert!(!offer(&mut ranking, 0, "a", 0, 2));
        let (results, is_truncated) = ranking.finish();
        assert!(is_truncated);
        let best: Vec<u64> = (all - MAX_RESULTS as u64..all).rev().collect();
        assert_eq!(results.iter().map(|found| found.number).collect::<Vec<_>>(), best);
    }

    #[test]
    fn large_results_leave_room_for_fewer() {
        let mut ranking = Ranking::new(true, MAX_RESULTS);
        for number in 0..30 {
            offer(&mut ranking, number, "a", number, MAX_BYTES / 8);
        }
        assert!(!offer(&mut ranking, 29, "b", 1, 2), "a worse result is not added after a better one was dropped");
        let (results, is_truncated) = ranking.finish();
        assert_eq!((results.len(), is_truncated), (8, true));
    }

    #[test]
    fn results_that_are_not_shown_need_no_room() {
        let mut ranking = Ranking::new(true, 5);
        for number in 0..30 {
            offer(&mut ranking, number, "a", number, MAX_BYTES / 8);
        }
        let (results, is_truncated) = ranking.finish();
        assert_eq!((results.len(), is_truncated), (30, false));
        assert_eq!(results.iter().filter(|found| found.text.is_some()).count(), 5);
    }
}
