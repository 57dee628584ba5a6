//! New papers, as events.
//!
//! arXiv announces papers once a day, and a paper that moderators held appears days after its
//! submission, among older ones. A time is therefore no cursor. The cursor has the ids of the
//! newest papers of the list, and a paper that is not among them is new.

use connector_sdk::input::{Fields, Input as _};
use connector_sdk::triggers::{Event, Events, Read, Trigger, Value};
use connector_sdk::{Fault, Request};
use serde::Serialize;

use crate::feed::Feed;
use crate::paper::Paper;
use crate::{SearchPapers, query, service};

/// The types of events.
pub(crate) const TRIGGERS: &[Trigger] = &[Trigger {
    name: "new_paper",
    title: "New paper",
    description: "A paper that matches the parameters has appeared. At least one parameter is needed, and a paper must \
                  match all of them. The data is a paper in the form of `search_papers`. arXiv announces papers once a \
                  day. A new version of an older paper is no event.",
    parameters: r#"{
        "type": "object",
        "properties": {
            "search_query": {
                "type": "string",
                "description": "arXiv query syntax (ti: au: abs: co: jr: cat: rn: all: with AND, OR, ANDNOT) or plain words"
            },
            "category": {
                "type": ["string", "array"],
                "items": {"type": "string"},
                "description": "one or several, any may match"
            },
            "title": {"type": "string"},
            "author": {"type": "string"},
            "abstract": {"type": "string"}
        },
        "minProperties": 1,
        "additionalProperties": false
    }"#,
    payload: r#"{
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "base_id": {"type": "string"},
            "version": {"type": ["integer", "null"]},
            "title": {"type": "string"},
            "summary": {"type": "string"},
            "published": {"type": "string"},
            "updated": {"type": "string"},
            "authors": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
            "categories": {"type": "array", "items": {"type": "object", "properties": {"term": {"type": "string"}}}},
            "primary_category": {"type": ["string", "null"]},
            "links": {"type": "object"}
        },
        "required": ["id", "base_id", "title", "published"]
    }"#,
    example: r#"{
        "id": "2603.00001v1",
        "base_id": "2603.00001",
        "version": 1,
        "title": "Electrons at Rest",
        "summary": "We study electrons that do not move.",
        "published": "2026-03-02T10:00:00Z",
        "updated": "2026-03-02T10:00:00Z",
        "authors": [{"name": "Kim Example", "affiliation": null}],
        "categories": [{"term": "cs.LG", "scheme": "http://arxiv.org/schemas/atom"}],
        "primary_category": "cs.LG",
        "comment": null,
        "journal_ref": null,
        "doi": null,
        "links": {"abstract": "https://arxiv.org/abs/2603.00001v1", "pdf": "https://arxiv.org/pdf/2603.00001v1", "doi": null}
    }"#,
    key: &["search_query", "category", "title", "author", "abstract"],
    read: Some("read_new_papers"),
    poll_seconds: 86_400,
    ..Trigger::READ
}];

/// Number of papers in one request.
const PAGE: usize = 500;

/// Maximum number of requests in one read.
const PAGES: usize = 4;

/// Maximum length of the ids in a cursor, which is at most 8 KiB.
const ID_BYTES: usize = 6 << 10;

#[derive(Serialize)]
struct Cursor {
    /// The ids of the newest papers, without versions, separated by spaces.
    ids: String,
    /// The time at which the oldest of them was submitted. Older papers are not new. `None` if
    /// `ids` has all papers that matched.
    oldest: Option<String>,
}

/// The newest papers of a search.
#[derive(Default)]
struct Listed {
    /// Newest first.
    papers: Vec<Paper>,
    /// `true` if these are all papers that match.
    is_whole: bool,
    /// `true` if the list reaches back to a paper that the cursor has.
    is_joined: bool,
}

/// Reads the papers that have appeared since the cursor.
pub(crate) fn new_papers(input: Read) -> Result<Events, Fault> {
    let parameters = SearchPapers::read(&Fields::parse(&input.parameters.0)?)?;
    let search_query = query::of(&parameters)?.ok_or_else(|| {
        Fault::invalid_input("/parameters", "Give at least one of search_query, category, title, author and abstract.")
    })?;
    let Some(cursor) = &input.cursor else {
        let Listed { papers, is_whole, .. } = newest(&search_query, None)?;
        return Ok(Events::none(Value::of(&Cursor::after(&papers.iter().collect::<Vec<_>>(), is_whole))?));
    };
    let cursor = Cursor { ids: cursor.required("ids")?, oldest: cursor.optional("oldest")? };
    let Listed { papers, is_whole, is_joined } = newest(&search_query, Some(&cursor))?;
    let (mut new, mut old): (Vec<&Paper>, Vec<&Paper>) = papers.iter().partition(|paper| cursor.is_before(paper));
    // The oldest come first. Those over the limit are still new in the next read.
    let limit = usize::try_from(input.limit).unwrap_or(usize::MAX);
    let answered = new.split_off(new.len().saturating_sub(limit));
    let events = answered.iter().rev().map(|paper| event(paper)).collect::<Result<_, _>>()?;
    old.extend(answered);
    old.sort_by(|one, other| other.published.cmp(&one.published));
    Ok(Events { events, cursor: Value::of(&Cursor::after(&old, is_whole))?, more: !new.is_empty(), gap: !is_joined })
}

/// Reads pages until one has a paper that the cursor has. Without a cursor, reads one page.
fn newest(search_query: &str, cursor: Option<&Cursor>) -> Result<Listed, Fault> {
    let mut listed = Listed { is_joined: cursor.is_none(), ..Listed::default() };
    let mut start = 0;
    for _ in 0..PAGES {
        let request = || {
            Request::get("api", "/query")
                .query("search_query", search_query)
                .query("start", start)
                .query("max_results", PAGE)
                .query("sortBy", "submittedDate")
                .query("sortOrder", "descending")
        };
        let Feed { papers, total_results, .. } = service::page(request, start, "/parameters")?;
        start += u64::try_from(papers.len()).unwrap_or_default();
        listed.is_whole = papers.is_empty() || start >= total_results;
        listed.is_joined |=
            listed.is_whole || papers.iter().any(|paper| cursor.is_some_and(|cursor| cursor.has(paper)));
        // The list can shift between two requests.
        let is_known = |known: &[Paper], paper: &Paper| known.iter().any(|known| known.base_id == paper.base_id);
        for paper in papers {
            if !is_known(&listed.papers, &paper) {
                listed.papers.push(paper);
            }
        }
        if listed.is_joined {
            break;
        }
    }
    Ok(listed)
}

impl Cursor {
    /// The cursor after these papers, the newest first.
    fn after(papers: &[&Paper], is_whole: bool) -> Self {
        let mut ids = String::new();
        let mut oldest = None;
        let mut is_cut = !is_whole;
        for paper in papers {
            if ids.len() + paper.base_id.len() > ID_BYTES {
                is_cut = true;
                break;
            }
            ids.push_str(&paper.base_id);
            ids.push(' ');
            oldest = Some(paper.published.clone());
        }
        Self { ids, oldest: oldest.filter(|_| is_cut) }
    }

    fn has(&self, paper: &Paper) -> bool {
        self.ids.split(' ').any(|id| id == paper.base_id)
    }

    /// Returns `true` if the paper is new after this cursor.
    fn is_before(&self, paper: &Paper) -> bool {
        !self.has(paper) && self.oldest.as_ref().is_none_or(|oldest| paper.published > *oldest)
    }
}

fn event(paper: &Paper) -> Result<Event, Fault> {
    let time = Some(paper.published.clone()).filter(|time| !time.is_empty());
    Ok(Event { time, ..Event::new(paper.id.clone(), Value::of(paper)?) })
}
