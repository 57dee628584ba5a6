//! An issue that a search found.

use connector_sdk::Document;

/// The value that results are sorted by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// A time in GitHub's form, in which text order is time order.
    Time(String),
    Count(u64),
}

/// One result of a search.
pub(crate) struct Found {
    pub(crate) key: Key,
    pub(crate) repository: String,
    pub(crate) number: u64,
    /// The issue for the caller. It stays in the gateway, because thousands of issues need more
    /// memory than an invocation has.
    pub(crate) issue: Document,
    /// Size of the issue.
    pub(crate) bytes: usize,
}

/// The members of an issue that a summary counts.
pub(crate) struct Facts {
    pub(crate) state: String,
    pub(crate) labels: Vec<String>,
    pub(crate) creator: Option<String>,
    pub(crate) updated_at: String,
}

impl Facts {
    pub(crate) fn of(issue: &Document, updated_at: String) -> Self {
        // GitHub gives a label as an object with a name, or as the name itself.
        let name = |label: Document| label.string("/name").or_else(|| label.as_string());
        Self {
            state: issue.string("/state").unwrap_or_default(),
            labels: issue.pointer("/labels").iter().flat_map(Document::items).filter_map(name).collect(),
            creator: issue.string("/user/login"),
            updated_at,
        }
    }
}
