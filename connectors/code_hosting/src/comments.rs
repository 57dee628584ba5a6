//! Comments of an issue. The connector reads all of them, stores a copy for some minutes, and
//! filters and sorts the copy.

use std::borrow::Cow;

use connector_sdk::http::{Error, Method, Response};
use connector_sdk::{Fault, Outcome, Request, Violation, clock};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::copy::{self, Copy};
use crate::{CreateIssueComment, ListIssueComments, dates, github, settings};

/// Maximum number of pages that one call reads. An issue with more comments is too large.
const MAX_PAGES: u32 = 50;

/// Maximum size of all comments of an issue. They have to fit into the memory of an invocation
/// twice.
const MAX_BYTES: usize = 16 << 20;

#[derive(Serialize)]
struct Answer<'a> {
    items: Vec<&'a RawValue>,
    total_count: usize,
    page: i64,
    per_page: i64,
    total_pages: usize,
    cached: bool,
    fetched_at: String,
}

/// The members of a comment that filters and sorting use.
#[derive(Deserialize)]
struct Head<'a> {
    id: u64,
    #[serde(borrow)]
    created_at: Cow<'a, str>,
    #[serde(borrow)]
    updated_at: Cow<'a, str>,
}

pub(crate) fn list(input: ListIssueComments) -> Result<Outcome, Fault> {
    check_dates(&input)?;
    let (copy, cached) = comments(&input)?;
    let mut chosen = Vec::new();
    for page in &copy.pages {
        for item in github::items(page)? {
            let head: Head<'_> = serde_json::from_str(item.get())
                .map_err(|_| github::not_understood("a comment has no `id`, `created_at` or `updated_at`"))?;
            if is_chosen(&input, &head) {
                chosen.push((head, item));
            }
        }
    }
    chosen.sort_by(|(one, _), (other, _)| {
        let order = match input.order_by.as_str() {
            "updated_at" => one.updated_at.cmp(&other.updated_at),
            "id" => one.id.cmp(&other.id),
            _ => one.created_at.cmp(&other.created_at),
        };
        let order = order.then(one.id.cmp(&other.id));
        if input.direction == "asc" { order } else { order.reverse() }
    });
    // The schema bounds both numbers.
    let per_page = usize::try_from(input.per_page).unwrap_or(1).max(1);
    let before = usize::try_from(input.page - 1).unwrap_or(usize::MAX).saturating_mul(per_page);
    Outcome::json(&Answer {
        total_count: chosen.len(),
        total_pages: chosen.len().div_ceil(per_page),
        items: chosen.into_iter().skip(before).take(per_page).map(|(_, item)| item).collect(),
        page: input.page,
        per_page: input.per_page,
        cached,
        fetched_at: dates::iso(copy.fetched_at)?,
    })
}

pub(crate) fn create(input: CreateIssueComment) -> Result<Outcome, Fault> {
    #[derive(Serialize)]
    struct Comment {
        body: String,
    }
    let comment =
        serde_json::to_string(&Comment { body: input.body }).map_err(|error| Fault::Failed(error.to_string()))?;
    let request = address(Method::Post, &input.owner, &input.repo, input.issue_number)?.json(comment);
    let (key, max_age) = (copy::key(&input.owner, &input.repo, input.issue_number), max_age()?);
    copy::begin_change(&key, max_age);
    let response = github::send(request);
    if is_refused(&response) {
        copy::refuse_change(&key);
    } else {
        copy::end_change(&key, clock::now(), max_age);
    }
    Ok(Outcome::ReplyDocument(response?.document()?))
}

/// Returns `true` if GitHub has not written the comment. After another failure it may have done so.
fn is_refused(response: &Result<Response, Fault>) -> bool {
    matches!(response, Err(Fault::Upstream(refusal)) if refusal.status < 500)
}

/// The age in seconds up to which a copy is used without asking GitHub.
fn max_age() -> Result<u32, Fault> {
    // The schema of the setting bounds it.
    Ok(u32::try_from(settings::comments_max_age_s()?).unwrap_or(u32::MAX))
}

fn check_dates(input: &ListIssueComments) -> Result<(), Fault> {
    let mut violations = Vec::new();
    for (name, after, before) in [
        ("created", &input.created_after, &input.created_before),
        ("updated", &input.updated_after, &input.updated_before),
    ] {
        dates::check(&format!("{name}_after"), after.as_ref(), &mut violations);
        dates::check(&format!("{name}_before"), before.as_ref(), &mut violations);
        if let (Some(after), Some(before)) = (after, before)
            && after >= before
        {
            violations.push(Violation {
                pointer: format!("/{name}_after"),
                detail: format!("Give a time that is earlier than `{name}_before`."),
            });
        }
    }
    if violations.is_empty() { Ok(()) } else { Err(Fault::InvalidInput(violations)) }
}

fn is_chosen(input: &ListIssueComments, head: &Head<'_>) -> bool {
    let is_after = |time: &str, limit: &Option<String>| limit.as_deref().is_none_or(|limit| time > limit);
    let is_before = |time: &str, limit: &Option<String>| limit.as_deref().is_none_or(|limit| time < limit);
    is_after(&head.created_at, &input.created_after)
        && is_before(&head.created_at, &input.created_before)
        && is_after(&head.updated_at, &input.updated_after)
        && is_before(&head.updated_at, &input.updated_before)
}

/// The comments of the issue, and `true` if they come from a copy. `force_refresh` ignores the
/// copy.
fn comments(input: &ListIssueComments) -> Result<(Copy, bool), Fault> {
    let max_age = max_age()?;
    let key = copy::key(&input.owner, &input.repo, input.issue_number);
    let now = clock::now();
    let stored = if input.force_refresh { None } else { Copy::load(&key) };
    if let Some(stored) = stored {
        if now.saturating_sub(stored.fetched_at) <= u64::from(max_age) * 1000 {
            return Ok((stored, true));
        }
        if let Some(etag) = stored.confirmable() {
            let response = github::send(page(input, 1)?.header("If-None-Match", etag))?;
            if response.status() == 304 {
                let renewed = Copy { fetched_at: now, ..stored };
                renewed.save(&key, max_age);
                return Ok((renewed, true));
            }
            return fetch(input, response, now, &key, max_age);
        }
    }
    let first = github::send(page(input, 1)?)?;
    fetch(input, first, now, &key, max_age)
}

/// Reads the pages that follow the first response, and stores all of them as a copy.
fn fetch(
    input: &ListIssueComments,
    first: Response,
    fetched_at: u64,
    key: &str,
    max_age: u32,
) -> Result<(Copy, bool), Fault> {
    let mut copy = Copy { fetched_at, etag: first.header("etag"), pages: Vec::new() };
    let mut response = first;
    let mut bytes = 0;
    for number in 2.. {
        let text = response.text()?;
        bytes += text.len();
        copy.pages.push(text);
        if github::next_query(&response).is_none() {
            break;
        }
        if number > MAX_PAGES || bytes > MAX_BYTES {
            return Err(Error::TooLarge(format!(
                "the issue has more than {} comments, or more than {} MiB of them",
                copy.pages.len() * 100,
                bytes >> 20
            ))
            .into());
        }
        response = github::send(page(input, number)?)?;
    }
    copy.save(key, max_age);
    Ok((copy, false))
}

fn page(input: &ListIssueComments, number: u32) -> Result<Request, Fault> {
    let request = address(Method::Get, &input.owner, &input.repo, input.issue_number)?;
    Ok(request.query("per_page", github::MAX_PER_PAGE).query("page", number))
}

fn address(method: Method, owner: &str, repo: &str, issue: i64) -> Result<Request, Fault> {
    let mut request = github::issues(method, owner, repo)?;
    request.path.push_str(&format!("/{issue}/comments"));
    Ok(request)
}
