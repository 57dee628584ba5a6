//! The best results of a search over many repositories, as many as an answer may hold.

use std::cmp::Ordering;

use crate::found::{Found, Key};

/// Maximum number of results in an answer.
pub(crate) const MAX_RESULTS: usize = 5_000;

/// Maximum size of the results in an answer. The answer has to fit into the memory of an
/// invocation, which is 32 MiB.
pub(crate) const MAX_BYTES: usize = 28 << 20;

/// The best results so far.
pub(crate) struct Ranking {
    ascending: bool,
    /// Maximum number of results.
    most: usize,
    results: Vec<Found>,
    bytes: usize,
    /// The best result that was dropped. A result that is not better has no room.
    bound: Option<(Key, String, u64)>,
}

impl Ranking {
    pub(crate) fn new(ascending: bool, most: usize) -> Self {
        Self { ascending, most, results: Vec::new(), bytes: 0, bound: None }
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
        self.bytes += found.bytes;
        self.results.push(found);
        // Sorting after each result would be slow, so a quarter more results may accumulate.
        if self.results.len() > self.most / 4 * 5 + 4 || self.bytes > MAX_BYTES / 4 * 5 {
            self.trim();
        }
    }

    /// The results, best first.
    pub(crate) fn finish(mut self) -> Vec<Found> {
        self.trim();
        self.results
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
        for found in results.iter().take(self.most) {
            if self.bytes + found.bytes > MAX_BYTES {
                break;
            }
            self.bytes += found.bytes;
            kept += 1;
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
    use connector_sdk::Document;

    use super::{MAX_BYTES, MAX_RESULTS, Ranking};
    use crate::found::{Found, Key};

    /// Adds a result of this size if there is room. Returns `true` if it was added.
    fn offer(ranking: &mut Ranking, key: u64, repository: &str, number: u64, bytes: usize) -> bool {
        let has_room = ranking.has_room(&Key::Count(key), repository, number);
        if has_room {
            let issue = Document::parse("{}").expect("JSON");
            ranking.take(Found { key: Key::Count(key), repository: repository.to_owned(), number, issue, bytes });
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
            let results = ranking.finish();
            let names: Vec<String> =
                results.iter().map(|found| format!("{}{}", found.repository, found.number)).collect();
            assert_eq!(names, expected);
        }
    }

    #[test]
    fn an_answer_has_the_best_results_up_to_the_maximum() {
        for most in [5, MAX_RESULTS as u64] {
            let all = 3 * MAX_RESULTS as u64;
            let mut ranking = Ranking::new(false, usize::try_from(most).expect("a size"));
            // In this order, better results arrive late, and worse results arrive after others were
            // dropped.
            for number in (0..all).map(|number| number * 7919 % all) {
                offer(&mut ranking, number, "a", number, 2);
            }
            assert!(!offer(&mut ranking, 0, "a", 0, 2));
            let best: Vec<u64> = (all - most..all).rev().collect();
            assert_eq!(ranking.finish().iter().map(|found| found.number).collect::<Vec<_>>(), best);
        }
    }

    #[test]
    fn large_results_leave_room_for_fewer() {
        let mut ranking = Ranking::new(true, MAX_RESULTS);
        for number in 0..30 {
            offer(&mut ranking, number, "a", number, MAX_BYTES / 8);
        }
        assert!(!offer(&mut ranking, 29, "b", 1, 2), "a worse result is not added after a better one was dropped");
        assert_eq!(ranking.finish().len(), 8);
    }
}
