//! Search for papers, and the metadata of one paper.

use connector_sdk::{Fault, Outcome, Request};
use serde::Serialize;

use crate::feed::Feed;
use crate::paper::{Paper, parse_id};
use crate::{GetPaperMetadata, SearchPapers, query, service};

/// arXiv answers with no results beyond this position of a list.
const LAST_RESULT: i64 = 30_000;

pub(crate) fn metadata(input: GetPaperMetadata) -> Result<Outcome, Fault> {
    let id = parse_id(&input.paper_id)?;
    let request = Request::get("api", "/query").query("id_list", id).query("max_results", 1);
    let feed = service::query(request, "/paper_id")?;
    match feed.papers.first() {
        Some(paper) => Outcome::json(paper),
        None => Err(Fault::not_found(format!("arXiv has no paper {id}; check the id."))),
    }
}

#[derive(Serialize)]
struct Page<'a> {
    total_results: u64,
    start: u64,
    items_per_page: u64,
    /// The query that the connector sent. Null for a search by ids alone.
    query: Option<&'a str>,
    updated: Option<String>,
    papers: Vec<Paper>,
    next_start: Option<u64>,
}

pub(crate) fn papers(input: SearchPapers) -> Result<Outcome, Fault> {
    if input.start.saturating_add(input.max_results) > LAST_RESULT {
        return Err(Fault::invalid_input(
            "/start",
            "Give `start` and `max_results` whose sum is at most 30000: arXiv has no results beyond this position.",
        ));
    }
    let query = query::of(&input)?;
    let ids = ids(&input)?;
    if query.is_none() && ids.is_none() {
        return Err(Fault::invalid_input(
            "",
            "Give at least one of search_query, category, title, author, abstract, submitted_after, submitted_before and id_list.",
        ));
    }
    let request = || request(&input, query.as_deref(), ids.as_deref());
    // Of ids, arXiv counts those too that it does not have.
    let feed = match ids {
        None => service::page(request, input.start.unsigned_abs(), "")?,
        Some(_) => service::query(request(), "")?,
    };
    let next_start = next_start(&feed);
    Outcome::json(&Page {
        total_results: feed.total_results,
        start: feed.start,
        items_per_page: feed.items_per_page,
        query: query.as_deref(),
        updated: feed.updated,
        papers: feed.papers,
        next_start,
    })
}

/// The request of a search. Values that are arXiv's defaults are not sent.
fn request(input: &SearchPapers, query: Option<&str>, ids: Option<&str>) -> Request {
    let mut request = Request::get("api", "/query");
    let given = [("search_query", query), ("id_list", ids)];
    for (name, value) in given.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        request = request.query(name, value);
    }
    for (name, value, assumed) in [("start", input.start, 0), ("max_results", input.max_results, 10)] {
        if value != assumed {
            request = request.query(name, value);
        }
    }
    for (name, value, assumed) in
        [("sortBy", &input.sort_by, "relevance"), ("sortOrder", &input.sort_order, "descending")]
    {
        if value != assumed {
            request = request.query(name, value);
        }
    }
    request
}

/// The ids joined with commas. `None` if the caller gave no ids.
fn ids(input: &SearchPapers) -> Result<Option<String>, Fault> {
    let mut joined = String::new();
    for (index, id) in input.id_list.iter().flatten().enumerate() {
        let id = id.trim().trim_start_matches("arXiv:");
        if id.is_empty() || id.contains(',') {
            return Err(Fault::invalid_input(format!("/id_list/{index}"), "Give one arXiv id in each item."));
        }
        if !joined.is_empty() {
            joined.push(',');
        }
        joined.push_str(id);
    }
    Ok((!joined.is_empty()).then_some(joined))
}

/// The position of the next page. `None` after the last result, after an empty page, and beyond the
/// last position.
fn next_start(feed: &Feed) -> Option<u64> {
    let next = feed.start + u64::try_from(feed.papers.len()).ok()?;
    let is_further = !feed.papers.is_empty() && next < feed.total_results && next < LAST_RESULT.unsigned_abs();
    is_further.then_some(next)
}
