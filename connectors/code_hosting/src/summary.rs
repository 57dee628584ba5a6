//! The summary of a search: counts of all issues that matched, also of those that the answer does
//! not have.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::found::Facts;

/// Maximum number of labels, and of creators.
const MAX_ENTRIES: usize = 10;

/// Names and the number of their issues.
type Counts = BTreeMap<String, u32>;

/// The counts so far.
#[derive(Default)]
pub(crate) struct Counted {
    states: Counts,
    repositories: Counts,
    labels: Counts,
    creators: Counts,
    oldest_update: Option<String>,
    newest_update: Option<String>,
}

/// The member `summary` of the answer. Names are in the order of their counts, most frequent first.
#[derive(Serialize)]
pub(crate) struct Summary {
    by_state: Map<String, Value>,
    by_repository: Map<String, Value>,
    by_label: Map<String, Value>,
    by_creator: Map<String, Value>,
    oldest_update: Option<String>,
    newest_update: Option<String>,
}

impl Counted {
    /// Counts an issue.
    pub(crate) fn add(&mut self, repository: &str, facts: Facts) {
        count(&mut self.repositories, repository);
        count(&mut self.states, &facts.state);
        for label in &facts.labels {
            count(&mut self.labels, label);
        }
        if let Some(creator) = &facts.creator {
            count(&mut self.creators, creator);
        }
        if self.oldest_update.as_ref().is_none_or(|oldest| facts.updated_at < *oldest) {
            self.oldest_update = Some(facts.updated_at.clone());
        }
        if self.newest_update.as_ref().is_none_or(|newest| facts.updated_at > *newest) {
            self.newest_update = Some(facts.updated_at);
        }
    }

    pub(crate) fn summary(self) -> Summary {
        Summary {
            by_state: most_frequent(self.states, usize::MAX),
            by_repository: most_frequent(self.repositories, usize::MAX),
            by_label: most_frequent(self.labels, MAX_ENTRIES),
            by_creator: most_frequent(self.creators, MAX_ENTRIES),
            oldest_update: self.oldest_update,
            newest_update: self.newest_update,
        }
    }
}

/// Most names are counted many times, so only a new one is copied.
fn count(counts: &mut Counts, name: &str) {
    match counts.get_mut(name) {
        Some(count) => *count += 1,
        None => drop(counts.insert(name.to_owned(), 1)),
    }
}

fn most_frequent(counts: Counts, most: usize) -> Map<String, Value> {
    let mut counts: Vec<(String, u32)> = counts.into_iter().collect();
    // The sort is stable, so names with equal counts stay in alphabetical order.
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.into_iter().take(most).map(|(name, count)| (name, count.into())).collect()
}
