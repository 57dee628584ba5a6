//! The results of a search over many repositories, best first, as many as an answer may hold.

use std::cmp::Ordering;

use crate::summary::Facts;

/// Results of an answer.
pub(crate) const MOST_RESULTS: usize = 5_000;

/// Bytes of an answer: it has to fit into the memory of an invocation twice.
pub(crate) const MOST_BYTES: usize = 8 << 20;

/// What results are sorted by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// In the form in which order as text is order in time.
    Time(String),
    Count(u64),
}

/// An issue that was found.
pub(crate) struct Found {
    pub(crate) key: Key,
    pub(crate) repository: String,
    pub(crate) number: u64,
    /// Kept where they are counted.
    pub(crate) facts: Option<Facts>,
    /// JSON text; none where it is not shown.
    pub(crate) text: Option<String>,
}

/// The best results so far.
pub(crate) struct Ranking {
    ascending: bool,
    /// Results that are shown; of the others only the facts are kept.
    shown: usize,
    results: Vec<Found>,
    bytes: usize,
    /// The best of those that found no room; what is not better finds none, either.
    bound: Option<(Key, String, u64)>,
}

impl Ranking {
    pub(crate) fn new(ascending: bool, shown: usize) -> Self {
        Self { ascending, shown, results: Vec::new(), bytes: 0, bound: None }
    }

    /// Whether a result is among the best so far.
    pub(crate) fn has_room(&self, key: &Key, repository: &str, number: u64) -> bool {
        let is_before = |(bound, bound_repository, bound_number): &(Key, String, u64)| {
            self.order((key, repository, number), (bound, bound_repository, *bound_number)).is_lt()
        };
        self.bound.as_ref().is_none_or(is_before)
    }

    /// Takes a result that there is room for.
    pub(crate) fn take(&mut self, found: Found) {
        self.bytes += found.text.as_ref().map_or(0, String::len);
        self.results.push(found);
        // Sorting has its price, so a quarter more may gather.
        if self.results.len() > MOST_RESULTS / 4 * 5 || self.bytes > MOST_BYTES / 4 * 5 {
            self.trim();
        }
    }

    /// The results, best first, and whether others found no room.
    pub(crate) fn finish(mut self) -> (Vec<Found>, bool) {
        self.trim();
        (self.results, self.bound.is_some())
    }

    /// Ties are broken by repository, then number, whichever way the key goes.
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
        for (rank, found) in results.iter_mut().enumerate().take(MOST_RESULTS) {
            if rank >= self.shown {
                found.text = None;
            }
            let bytes = found.text.as_ref().map_or(0, String::len);
            if self.bytes + bytes > MOST_BYTES {
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
    use super::{Found, Key, MOST_BYTES, MOST_RESULTS, Ranking};

    /// Offers a result with so many bytes; says whether there is room.
    fn offer(ranking: &mut Ranking, key: u64, repository: &str, number: u64, bytes: usize) -> bool {
        let has_room = ranking.has_room(&Key::Count(key), repository, number);
        if has_room {
            let (repository, text) = (repository.to_owned(), Some("x".repeat(bytes)));
            ranking.take(Found { key: Key::Count(key), repository, number, facts: None, text });
        }
        has_room
    }

    #[test]
    fn the_best_come_first_and_ties_by_repository_and_number() {
        for (ascending, expected) in [(false, ["a9", "a1", "a2", "b1", "c1"]), (true, ["c1", "a1", "a2", "b1", "a9"])] {
            let mut ranking = Ranking::new(ascending, MOST_RESULTS);
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
    fn there_are_only_so_many_and_they_are_the_best() {
        let all = 3 * MOST_RESULTS as u64;
        let mut ranking = Ranking::new(false, MOST_RESULTS);
        // In an order in which late ones are better, and worse ones come after some were dropped.
        for number in (0..all).map(|number| number * 7919 % all) {
            offer(&mut ranking, number, "a", number, 2);
        }
        assert!(!offer(&mut ranking, 0, "a", 0, 2));
        let (results, is_truncated) = ranking.finish();
        assert!(is_truncated);
        let best: Vec<u64> = (all - MOST_RESULTS as u64..all).rev().collect();
        assert_eq!(results.iter().map(|found| found.number).collect::<Vec<_>>(), best);
    }

    #[test]
    fn large_results_take_room_from_those_after_them() {
        let mut ranking = Ranking::new(true, MOST_RESULTS);
        for number in 0..30 {
            offer(&mut ranking, number, "a", number, MOST_BYTES / 8);
        }
        assert!(!offer(&mut ranking, 29, "b", 1, 2), "nothing comes after a gap");
        let (results, is_truncated) = ranking.finish();
        assert_eq!((results.len(), is_truncated), (8, true));
    }

    #[test]
    fn what_is_not_shown_takes_no_room() {
        let mut ranking = Ranking::new(true, 5);
        for number in 0..30 {
            offer(&mut ranking, number, "a", number, MOST_BYTES / 8);
        }
        let (results, is_truncated) = ranking.finish();
        assert_eq!((results.len(), is_truncated), (30, false));
        assert_eq!(results.iter().filter(|found| found.text.is_some()).count(), 5);
    }
}
