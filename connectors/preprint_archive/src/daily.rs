//! The papers that were submitted in the last 24 hours.

use connector_sdk::{Fault, Outcome, Request, clock};
use serde::Serialize;

use crate::dates::Minute;
use crate::paper::Paper;
use crate::{GetDailyUpdates, categories, query, service};

/// Maximum number of results in one request. arXiv asks its users to read large lists in slices.
const SLICE: usize = 500;

#[derive(Serialize)]
struct Updates {
    from: String,
    to: String,
    categories: Vec<String>,
    total_results: u64,
    papers: Vec<Paper>,
}

pub(crate) fn updates(input: GetDailyUpdates) -> Result<Outcome, Fault> {
    let to = Minute::of_milliseconds(clock::now())?;
    let from = to.a_day_earlier();
    let in_categories = query::any_category(&terms(&input.categories)?, "categories")?;
    let search_query = format!("{in_categories} AND {}", query::submitted_between(&from.compact(), &to.compact()));
    let most = usize::try_from(input.max_results).unwrap_or_default();
    let (total_results, papers) = newest(&search_query, most)?;
    Outcome::json(&Updates { from: from.iso(), to: to.iso(), categories: input.categories, total_results, papers })
}

/// The terms of the query language.
///
/// # Errors
/// [`Fault::InvalidInput`] that names every unknown category.
fn terms(given: &[String]) -> Result<Vec<String>, Fault> {
    let mut terms = Vec::new();
    let mut unknown = Vec::new();
    for (index, name) in given.iter().enumerate() {
        match categories::term(name) {
            Some(term) if terms.contains(&term) => {}
            Some(term) => terms.push(term),
            None => unknown.push(connector_sdk::Violation {
                pointer: format!("/categories/{index}"),
                detail: "Give a category or an archive that get_categories lists.".to_owned(),
            }),
        }
    }
    if unknown.is_empty() { Ok(terms) } else { Err(Fault::InvalidInput(unknown)) }
}

/// Reads slices until there are `most` papers or the list ends. The list can shift between two
/// requests, so duplicates are left out.
fn newest(search_query: &str, most: usize) -> Result<(u64, Vec<Paper>), Fault> {
    let mut papers: Vec<Paper> = Vec::new();
    let mut start = 0_u64;
    loop {
        let wanted = SLICE.min(most.saturating_sub(papers.len()));
        let request = || {
            Request::get("api", "/query")
                .query("search_query", search_query)
                .query("start", start)
                .query("max_results", wanted)
                .query("sortBy", "submittedDate")
                .query("sortOrder", "descending")
        };
        let feed = service::page(request, start, "/categories")?;
        let found = u64::try_from(feed.papers.len()).unwrap_or_default();
        for paper in feed.papers {
            if papers.len() < most && !papers.iter().any(|known| known.base_id == paper.base_id) {
                papers.push(paper);
            }
        }
        start += found;
        if found == 0 || start >= feed.total_results || papers.len() >= most {
            return Ok((feed.total_results, papers));
        }
    }
}
