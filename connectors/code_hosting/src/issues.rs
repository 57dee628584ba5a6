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
    let fingerprint = fingerprint(&input, sort);
    let (per_page, next) = position(&input, fingerprint)?;
    let response = github::send(request(&input, sort, next)?)?;
    let next = github::next_query(&response);
    let text = response.text()?;
    let mut items = github::items(&text)?;
    items.retain(|item| !is_pull_request(item));
    if input.reverse {
        items.reverse();
    }
    let next_cursor = next.map(|next| Cursor { next, per_page, fingerprint }.text()).transpose()?;
    let page_info = PageInfo { has_next_page: next_cursor.is_some(), next_cursor, reverse: input.reverse, per_page };
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

/// The number of items in a page, and the query of the page. `None` for the first page, whose query
/// follows from the input.
fn position(input: &ListIssues, fingerprint: u64) -> Result<(u32, Option<String>), Fault> {
    // The schema bounds the number.
    let per_page = input.per_page.and_then(|number| u32::try_from(number).ok());
    let Some(text) = &input.page_cursor else {
        return Ok((per_page.unwrap_or(PER_PAGE), None));
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
        _ => Ok((cursor.per_page, Some(cursor.next))),
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

/// The filters that have a value. GitHub takes a list joined with commas; an issue must match all
/// labels.
fn filters(entries: Option<&Entries>) -> Vec<(&str, String)> {
    let entries = entries.map(|entries| entries.0.as_slice()).unwrap_or_default();
    let given = entries.iter().filter(|(_, values)| !values.is_empty());
    given.map(|(name, values)| (name.as_str(), values.join(","))).collect()
}

/// For a reversed list the connector requests the opposite order, so that the first page is the end
/// of the list.
fn request(input: &ListIssues, sort: Option<&str>, next: Option<String>) -> Result<Request, Fault> {
    let mut request = github::issues(Method::Get, &input.owner, &input.repo)?;
    if let Some(next) = next {
        request.path.push('?');
        request.path.push_str(&next);
        return Ok(request);
    }
    let direction = match (input.reverse, input.direction.as_deref()) {
        (false, direction) => direction,
        (true, Some("asc")) => Some("desc"),
        (true, _) => Some("asc"),
    };
    for (name, value) in filters(input.filters.as_ref()) {
        request = request.query(name, value);
    }
    for (name, value) in [("sort", sort), ("direction", direction)] {
        if let Some(value) = value {
            request = request.query(name, value);
        }
    }
    if let Some(per_page) = input.per_page {
        request = request.query("per_page", per_page);
    }
    Ok(request)
}

fn is_pull_request(item: &RawValue) -> bool {
    serde_json::from_str::<Head>(item.get()).is_ok_and(|head| head.pull_request.is_some())
}
