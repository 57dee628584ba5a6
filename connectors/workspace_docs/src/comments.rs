//! Comments of a document. Google stores them with the file in Drive.

use connector_sdk::json;
use connector_sdk::{Fault, Outcome, Request, Violation, http};
use serde::Serialize;
use serde_json::value::RawValue;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::batch::not_understood;
use crate::{CreateReply, ListComments};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    comments: Vec<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_page_token: Option<String>,
}

pub(crate) fn list(input: ListComments) -> Result<Outcome, Fault> {
    let before = check_times(&input)?;
    let mut request = request(&input.document_id)?.query("pageSize", input.page_size);
    if let Some(token) = &input.page_token {
        request = request.query("pageToken", token);
    }
    if let Some(include_deleted) = input.include_deleted {
        request = request.query("includeDeleted", include_deleted);
    }
    if let Some(after) = &input.modified_after {
        request = request.query("startModifiedTime", after);
    }
    // Google has no parameter for the end of the time.
    let Some(before) = before else { return Ok(Outcome::Forward(request)) };
    let page = http::send(request)?.successful()?.document()?;
    let comments = page.pointer("/comments").map_or_else(|| "[]".to_owned(), |comments| comments.text());
    let comments: Vec<&RawValue> =
        serde_json::from_str(&comments).map_err(|_| not_understood("`comments` is not a list"))?;
    Outcome::json(&Page {
        kind: page.string("/kind"),
        comments: comments.into_iter().filter(|comment| is_earlier(comment, before)).collect(),
        next_page_token: page.string("/nextPageToken"),
    })
}

/// A request for a page of comments. Google refuses it without `fields`.
pub(crate) fn request(document_id: &str) -> Result<Request, Fault> {
    let mut request = Request::get("drive", "/files").segment("document_id", document_id)?;
    request.path.push_str("/comments");
    Ok(request.query("fields", "*"))
}

/// Checks the times, and returns `modified_before`.
fn check_times(input: &ListComments) -> Result<Option<OffsetDateTime>, Fault> {
    let mut violations = Vec::new();
    let mut time = |field: &str, given: &Option<String>| {
        let text = given.as_deref()?;
        let time = parse_time(text);
        if time.is_none() {
            let detail = "Give a date and time with a time zone, for example 2026-03-01T00:00:00Z.".to_owned();
            violations.push(Violation { pointer: format!("/{field}"), detail });
        }
        time
    };
    let after = time("modified_after", &input.modified_after);
    let before = time("modified_before", &input.modified_before);
    if let (Some(after), Some(before)) = (after, before)
        && before <= after
    {
        let detail = "Give a time that is later than `modified_after`.".to_owned();
        violations.push(Violation { pointer: "/modified_before".to_owned(), detail });
    }
    if violations.is_empty() { Ok(before) } else { Err(Fault::InvalidInput(violations)) }
}

/// A time of RFC 3339.
pub(crate) fn parse_time(text: &str) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(text, &Rfc3339).ok()
}

/// A comment whose time is unreadable stays in the answer.
fn is_earlier(comment: &RawValue, before: OffsetDateTime) -> bool {
    let members = json::members(comment.get()).unwrap_or_default();
    let modified = members.iter().find(|(name, _)| name == "modifiedTime");
    let modified = modified.and_then(|(_, value)| serde_json::from_str::<String>(value).ok());
    modified.and_then(|modified| parse_time(&modified)).is_none_or(|modified| modified < before)
}

/// Checks that a reply has content or an action.
pub(crate) fn check_reply(reply: &CreateReply) -> Result<(), Fault> {
    if reply.content.is_none() && reply.action.is_none() {
        return Err(Fault::invalid_input("", "Give `content`, `action` or both."));
    }
    Ok(())
}
