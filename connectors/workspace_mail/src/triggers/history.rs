//! The changes of a mailbox.

use connector_sdk::http::Error;
use connector_sdk::{Document, Fault, Request, http};

/// Maximum number of records in a page.
const MAX_PAGE: u32 = 500;

/// Maximum number of pages without anything of interest in one read.
const PAGES: usize = 20;

/// The part of the history that was read.
pub(super) enum Changes<T> {
    /// The changes since a record.
    Since {
        found: Vec<T>,
        /// The id of the last record that was read.
        last: String,
        /// `true` if there are further records.
        more: bool,
    },
    /// Gmail no longer has the history since the record. This is the newest record.
    Gone(String),
}

/// The id of the newest record.
pub(super) fn newest() -> Result<String, Fault> {
    let profile = http::send(Request::get("api", "/users/me/profile"))?.successful()?.document()?;
    profile.string("/historyId").ok_or_else(|| not_understood("the profile has no `historyId`"))
}

/// Reads the records after the record `since`. `types` are Gmail's types of changes, and
/// `of_record` picks the changes of a record. A record is read as a whole, so that there may be
/// more than `limit` changes if one record has as many.
pub(super) fn since<T>(
    since: &str,
    types: &[&str],
    label: Option<&str>,
    limit: u32,
    of_record: impl Fn(&Document) -> Vec<T>,
) -> Result<Changes<T>, Fault> {
    let size = limit.min(MAX_PAGE);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut last = since.to_owned();
    let mut page: Option<String> = None;
    for _ in 0..PAGES {
        let mut request = Request::get("api", "/users/me/history").query("startHistoryId", &last);
        for kind in types {
            request = request.query("historyTypes", kind);
        }
        if let Some(label) = label {
            request = request.query("labelId", label);
        }
        request = request.query("maxResults", size);
        if let Some(page) = &page {
            request = request.query("pageToken", page);
        }
        let response = http::send(request)?;
        if response.status() == 404 {
            let newest = newest()?;
            // Nothing has happened since a record that is still the newest one.
            return Ok(match newest == last {
                true => Changes::Since { found: Vec::new(), last, more: false },
                false => Changes::Gone(newest),
            });
        }
        let list = response.successful()?.document()?;
        let next = list.string("/nextPageToken");
        let mut found: Vec<T> = Vec::new();
        for record in list.pointer("/history").iter().flat_map(Document::items) {
            let changes = of_record(&record);
            if !found.is_empty() && found.len() + changes.len() > limit {
                return Ok(Changes::Since { found, last, more: true });
            }
            found.extend(changes);
            last = record.string("/id").ok_or_else(|| not_understood("a record of the history has no `id`"))?;
            page = None;
        }
        match next {
            // The next read continues after the last record, because the token of a page ends.
            Some(_) if !found.is_empty() => return Ok(Changes::Since { found, last, more: true }),
            Some(next) if list.pointer("/history/0").is_none() => page = Some(next),
            Some(_) => {}
            None => {
                let newest = list.string("/historyId").unwrap_or(last);
                return Ok(Changes::Since { found, last: newest, more: false });
            }
        }
    }
    Ok(Changes::Since { found: Vec::new(), last, more: true })
}

fn not_understood(problem: &str) -> Fault {
    Error::BadAnswer(format!("Gmail's response is not in the documented form: {problem}")).into()
}
