//! The summary of a search: counts of its results.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::found::Found;

/// Maximum number of labels, and of creators.
const MAX_ENTRIES: usize = 10;

/// Names and the number of their results, most frequent first.
type Counts = Map<String, Value>;

/// The member `summary` of the answer.
#[derive(Serialize)]
pub(crate) struct Summary {
    by_state: Counts,
    by_repository: Counts,
    by_label: Counts,
    by_creator: Counts,
    oldest_update: Option<String>,
    newest_update: Option<String>,
}

impl Summary {
    /// The summary of all results.
    pub(crate) fn of(results: &[Found]) -> Self {
        let facts = || results.iter().filter_map(|found| found.facts.as_ref());
        let updates = || facts().map(|facts| &facts.updated_at);
        Self {
            by_state: counts(facts().map(|facts| &facts.state), usize::MAX),
            by_repository: counts(results.iter().map(|found| &found.repository), usize::MAX),
            by_label: counts(facts().flat_map(|facts| &facts.labels), MAX_ENTRIES),
            by_creator: counts(facts().filter_map(|facts| facts.creator.as_ref()), MAX_ENTRIES),
            oldest_update: updates().min().cloned(),
            newest_update: updates().max().cloned(),
        }
    }
}

fn counts<'a>(names: impl Iterator<Item = &'a String>, most: usize) -> Counts {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let mut counts: Vec<(&str, u32)> = counts.into_iter().collect();
    // The sort is stable, so names with equal counts stay in alphabetical order.
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.into_iter().take(most).map(|(name, count)| (name.to_owned(), count.into())).collect()
}
