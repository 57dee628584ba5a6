//! The activity of a repository, for users who may not make a webhook of it. GitHub lists the
//! newest 300 events of a repository, and none that is older than 30 days.

use connector_sdk::http::{self, Method};
use connector_sdk::json::with_member;
use connector_sdk::triggers::{Event, Events, Read, Value};
use connector_sdk::{Document, Fault, Response, clock};
use serde::Serialize;

use crate::{CONNECTOR, github};

/// GitHub's types of events with the names of the same events of webhooks.
const EVENTS: [(&str, &str); 7] = [
    ("IssuesEvent", "issues"),
    ("PullRequestEvent", "pull_request"),
    ("PushEvent", "push"),
    ("ReleaseEvent", "release"),
    ("IssueCommentEvent", "issue_comment"),
    ("PullRequestReviewCommentEvent", "pull_request_review_comment"),
    ("CommitCommentEvent", "commit_comment"),
];

/// Number of pages that GitHub has, and of events in them.
const PAGES: usize = 3;
const EVENTS_LISTED: usize = 300;

/// Time since the last read after which GitHub may have dropped events from the list for their age.
const LISTED_MS: u64 = 29 * 86_400_000;

/// GitHub asks its users to wait at least this long between two requests. The gateway also does.
const POLL_SECONDS: u64 = 60;

/// The place in the activity of a repository.
#[derive(Serialize)]
struct Cursor {
    /// The ids of the listed events, separated by spaces, the newest first.
    ids: String,
    /// By which GitHub tells that the list has not changed.
    etag: Option<String>,
    /// Milliseconds since 1970 before which GitHub wants no request. `None` if it has no such wish.
    not_before: Option<i64>,
    /// Milliseconds since 1970 at which the list was read. `None` in cursors of earlier versions.
    read_at: Option<i64>,
}

/// The list of a repository's events.
struct Listed {
    /// The newest first.
    items: Vec<Document>,
    /// `true` if no event since the cursor is missing.
    is_joined: bool,
}

/// Reads the events since the cursor.
pub(crate) fn read(input: Read) -> Result<Events, Fault> {
    let cursor = input.cursor.as_ref().map(Cursor::parse).transpose()?;
    if let Some(cursor) = &cursor
        && cursor.not_before.is_some_and(|time| time.unsigned_abs() > clock::now())
    {
        return Ok(Events::none(Value::of(cursor)?));
    }
    let mut request = super::of_repository(Method::Get, &input.parameters)?;
    request.path.push_str("/events");
    let request = request.query("per_page", github::MAX_PER_PAGE);
    let path = request.path.clone();
    let request = match cursor.as_ref().and_then(|cursor| cursor.etag.as_deref()) {
        Some(etag) => request.header("If-None-Match", etag),
        None => request,
    };
    let response = http::send(request)?;
    let not_before = not_before(&response);
    match cursor {
        Some(cursor) if response.status() == 304 => {
            Ok(Events::none(Value::of(&Cursor { not_before, read_at: now(), ..cursor })?))
        }
        Some(cursor) => {
            let response = response.successful()?;
            let etag = response.header("etag");
            let listed = list(path, response, Some(&cursor))?;
            let limit = usize::try_from(input.limit).unwrap_or(usize::MAX);
            let (events, waiting) = new_events(&listed, &cursor, limit);
            // Without the ETag, the next read gets the list again.
            let etag = etag.filter(|_| waiting.is_empty());
            let cursor = Cursor { ids: ids(&listed.items, &waiting), etag, not_before, read_at: now() };
            let more = !waiting.is_empty();
            // The events that follow at once are in the list that GitHub has just given.
            let cursor = if more { Cursor { not_before: None, ..cursor } } else { cursor };
            Ok(Events { events, cursor: Value::of(&cursor)?, more, gap: !listed.is_joined })
        }
        None => {
            let response = response.successful()?;
            let etag = response.header("etag");
            let listed = list(path, response, None)?;
            let cursor = Cursor { ids: ids(&listed.items, &[]), etag, not_before, read_at: now() };
            Ok(Events::none(Value::of(&cursor)?))
        }
    }
}

/// The list up to an event that the cursor has. Without a cursor, its first page.
fn list(mut path: String, mut response: Response, cursor: Option<&Cursor>) -> Result<Listed, Fault> {
    let mut items: Vec<Document> = Vec::new();
    let mut is_joined = false;
    for number in 1..=PAGES {
        let page = response.document()?;
        items.extend(page.items());
        is_joined = cursor.is_none_or(|cursor| cursor.ids.is_empty() || items.iter().any(|item| cursor.has(item)));
        let next = github::next_path(&path, &response);
        // Of a quiet repository, GitHub has dropped the events that the cursor has for their age.
        let is_whole = next.is_none() && items.len() < EVENTS_LISTED;
        is_joined |= is_whole && cursor.is_some_and(Cursor::is_recent);
        let Some(next) = next.filter(|_| !is_joined && number < PAGES) else { break };
        path = next;
        response = github::send(CONNECTOR.request(Method::Get, "api", path.as_str())?)?;
    }
    Ok(Listed { items, is_joined })
}

/// The new events, the oldest first, and the ids of those over the limit. An event below the last
/// one that the cursor has is older, and was below the end of the list before.
fn new_events(listed: &Listed, cursor: &Cursor, limit: usize) -> (Vec<Event>, Vec<String>) {
    let end = listed.items.iter().rposition(|item| cursor.has(item)).unwrap_or(listed.items.len());
    let new = listed.items.iter().take(end).filter(|item| !cursor.has(item));
    let mut new: Vec<Event> = new.filter_map(event).collect();
    new.reverse();
    let waiting = new.split_off(limit.min(new.len()));
    (new, waiting.into_iter().map(|event| event.id).collect())
}

fn ids(listed: &[Document], waiting: &[String]) -> String {
    let ids = listed.iter().filter_map(|item| item.string("/id")).filter(|id| !waiting.contains(id));
    ids.collect::<Vec<_>>().join(" ")
}

impl Cursor {
    fn parse(value: &Value) -> Result<Self, Fault> {
        Ok(Self {
            ids: value.required("ids")?,
            etag: value.optional("etag")?,
            not_before: value.optional("not_before")?,
            read_at: value.optional("read_at")?,
        })
    }

    /// Returns `true` if no event since the last read is too old for the list.
    fn is_recent(&self) -> bool {
        self.read_at.is_some_and(|time| time.unsigned_abs().saturating_add(LISTED_MS) > clock::now())
    }

    fn has(&self, item: &Document) -> bool {
        item.string("/id").is_some_and(|id| self.ids.split(' ').any(|known| known == id))
    }
}

/// An event with the data that the webhook's notification has. `None` for other types of events.
fn event(item: &Document) -> Option<Event> {
    #[derive(Serialize)]
    struct Repository<'a> {
        name: &'a str,
        full_name: &'a str,
        owner: Owner<'a>,
    }
    #[derive(Serialize)]
    struct Owner<'a> {
        login: &'a str,
    }
    let of_github = item.string("/type")?;
    let (_, name) = EVENTS.iter().find(|(known, _)| *known == of_github)?;
    let payload = item.pointer("/payload")?;
    let full_name = item.string("/repo/name")?;
    let (login, name_in_owner) = full_name.split_once('/')?;
    let repository = Repository { name: name_in_owner, full_name: &full_name, owner: Owner { login } };
    let repository = Value::of(&repository).ok()?;
    let mut data = with_member(&payload.text(), "repository", &repository.0)?;
    if let Some(actor) = item.pointer("/actor") {
        data = with_member(&data, "sender", &actor.text())?;
    }
    let kind = match payload.string("/action") {
        Some(action) => format!("{name}/{action}"),
        None => (*name).to_owned(),
    };
    Some(Event { kind, time: item.string("/created_at"), ..Event::new(item.string("/id")?, Value(data)) })
}

fn now() -> Option<i64> {
    i64::try_from(clock::now()).ok()
}

/// The time of the next request, if GitHub wants to wait longer than the gateway does.
fn not_before(response: &Response) -> Option<i64> {
    let seconds: u64 = response.header("x-poll-interval")?.trim().parse().ok()?;
    let wait = seconds.min(3600).checked_mul(1000).filter(|_| seconds > POLL_SECONDS)?;
    i64::try_from(clock::now().saturating_add(wait)).ok()
}
