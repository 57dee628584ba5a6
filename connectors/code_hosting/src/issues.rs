//! A page of a repository's issues.

use connector_sdk::http::Method;
use connector_sdk::input::Entries;
use connector_sdk::{Fault, Outcome, Request};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::cursor::Cursor;
use crate::{ListIssues, fingerprint, github};

/// GitHub's default number of items in a page.
const PER_PAGE: u32 = 30;

#[derive(Serialize)]
struct Page<'a> {
    items: Vec<&'a RawValue>,
    page_info: PageInfo,
}

#[derive(Serialize)]
struct PageInfo {
    next_cursor: Option<String>,
    has_next_page: bool,
    reverse: bool,
    per_page: u32,
}

/// GitHub lists pull requests among the issues. They have this member.
#[derive(Deserialize)]
struct Head {
    pull_request: Option<IgnoredAny>,
}

pub(crate) fn list(input: ListIssues) -> Result<Outcome, Fault> {
    let sort = sort(&input)?;
    let cursor = cursor(&input, sort)?;
    let response = github::send(request(&input, sort, &cursor)?)?;
    let has_next_page = github::next_query(&response).is_some();
    let text = response.text()?;
    let mut items = github::items(&text)?;
    items.retain(|item| !is_pull_request(item));
    if input.reverse {
        items.reverse();
    }
    let next_cursor = match has_next_page {
        true => Some(Cursor { page: cursor.page.saturating_add(1), ..cursor }.text()?),
        false => None,
    };
    let page_info = PageInfo { next_cursor, has_next_page, reverse: input.reverse, per_page: cursor.per_page };
    Outcome::json(&Page { items, page_info })
}

/// The value of `sort`, or of `order_by`, which is another name for it.
fn sort(input: &ListIssues) -> Result<Option<&str>, Fault> {
    match (&input.sort, &input.order_by) {
        (Some(sort), Some(order_by)) if sort != order_by => Err(Fault::invalid_input(
            "/order_by",
            "Give the same value as in `sort`, or leave one of the two out: they have the same meaning.",
        )),
        (sort, order_by) => Ok(sort.as_deref().or(order_by.as_deref())),
    }
}

/// The cursor that the caller gave, or that of the first page.
fn cursor(input: &ListIssues, sort: Option<&str>) -> Result<Cursor, Fault> {
    let fingerprint = fingerprint(input, sort);
    // The schema bounds the number.
    let per_page = input.per_page.and_then(|number| u32::try_from(number).ok());
    let Some(text) = &input.page_cursor else {
        return Ok(Cursor { page: 1, per_page: per_page.unwrap_or(PER_PAGE), fingerprint });
    };
    let cursor = Cursor::parse(text, fingerprint)?;
    match per_page {
        Some(per_page) if per_page != cursor.per_page => Err(Fault::invalid_input(
            "/per_page",
            format!(
                "Give {}, as in the call that answered the cursor: a cursor is valid for one page size.",
                cursor.per_page
            ),
        )),
        _ => Ok(cursor),
    }
}

fn fingerprint(input: &ListIssues, sort: Option<&str>) -> u64 {
    let mut parts = vec![
        input.owner.to_lowercase(),
        input.repo.to_lowercase(),
        sort.unwrap_or("created").to_owned(),
        input.direction.clone().unwrap_or_else(|| "desc".to_owned()),
        input.reverse.to_string(),
    ];
    let mut filters = filters(input.filters.as_ref());
    filters.sort();
    parts.extend(filters.into_iter().flat_map(|(name, value)| [name.to_owned(), value]));
    fingerprint::of(parts.iter().map(String::as_bytes))
}

/// The filters that have a value. GitHub takes a list joined with commas; an issue must match all labels.
fn filters(entries: Option<&Entries>) -> Vec<(&str, String)> {
    let entries = entries.map(|entries| entries.0.as_slice()).unwrap_or_default();
    let given = entries.iter().filter(|(_, values)| !values.is_empty());
    given.map(|(name, values)| (name.as_str(), values.join(","))).collect()
}

/// For a reversed list the connector asks for the opposite order, so that the first page is the end of the list.
fn request(input: &ListIssues, sort: Option<&str>, cursor: &Cursor) -> Result<Request, Fault> {
    let direction = match (input.reverse, input.direction.as_deref()) {
        (false, direction) => direction,
        (true, Some("asc")) => Some("desc"),
        (true, _) => Some("asc"),
    };
    let mut request = github::issues(Method::Get, &input.owner, &input.repo)?;
    for (name, value) in filters(input.filters.as_ref()) {
        request = request.query(name, value);
    }
    for (name, value) in [("sort", sort), ("direction", direction)] {
        if let Some(value) = value {
            request = request.query(name, value);
        }
    }
    if cursor.per_page != PER_PAGE || input.per_page.is_some() {
        request = request.query("per_page", cursor.per_page);
    }
    if cursor.page > 1 {
        request = request.query("page", cursor.page);
    }
    Ok(request)
}

fn is_pull_request(item: &RawValue) -> bool {
    serde_json::from_str::<Head>(item.get()).is_ok_and(|head| head.pull_request.is_some())
}
