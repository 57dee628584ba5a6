//! Results by their counts.

use std::collections::BTreeMap;

use connector_sdk::Document;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::ranking::Found;

/// The longest list of labels and of creators.
const MOST_ENTRIES: usize = 10;

/// What a summary counts of an issue.
pub(crate) struct Facts {
    pub(crate) state: String,
    pub(crate) labels: Vec<String>,
    pub(crate) creator: Option<String>,
    pub(crate) updated_at: String,
}

impl Facts {
    pub(crate) fn of(issue: &Document, updated_at: String) -> Self {
        // A label is an object with a name, or the name itself.
        let name = |label: Document| label.string("/name").or_else(|| label.as_string());
        Self {
            state: issue.string("/state").unwrap_or_default(),
            labels: issue.pointer("/labels").iter().flat_map(Document::items).filter_map(name).collect(),
            creator: issue.string("/user/login"),
            updated_at,
        }
    }
}

/// Names and how often they occur, most often first.
type Counts = Map<String, Value>;

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
    /// Of all results.
    pub(crate) fn of(results: &[Found]) -> Self {
        let facts = || results.iter().filter_map(|found| found.facts.as_ref());
        let updates = || facts().map(|facts| &facts.updated_at);
        Self {
            by_state: counts(facts().map(|facts| &facts.state), usize::MAX),
            by_repository: counts(results.iter().map(|found| &found.repository), usize::MAX),
            by_label: counts(facts().flat_map(|facts| &facts.labels), MOST_ENTRIES),
            by_creator: counts(facts().filter_map(|facts| facts.creator.as_ref()), MOST_ENTRIES),
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
    // Names that occur equally often stay in their own order.
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.into_iter().take(most).map(|(name, count)| (name.to_owned(), count.into())).collect()
}
