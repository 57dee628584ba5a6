//! Posts of a user, and posts that mention a user, as events. X lists them by their ids, the newest
//! first. The cursor has the id of the last one.

use connector_sdk::http::{self, Error};
use connector_sdk::json::with_member;
use connector_sdk::triggers::{Event, Events, Read, Trigger, Value};
use connector_sdk::{Document, Fault, Request};
use serde::Serialize;

use crate::settings;

const PAYLOAD: &str = r#"{
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "text": {"type": "string"},
        "author_id": {"type": "string"},
        "conversation_id": {"type": "string"},
        "created_at": {"type": "string"},
        "author": {
            "type": "object",
            "properties": {"id": {"type": "string"}, "name": {"type": "string"}, "username": {"type": "string"}}
        }
    },
    "required": ["id", "text"]
}"#;

/// The types of events.
pub(crate) const TRIGGERS: &[Trigger] = &[
    Trigger {
        name: "mention",
        title: "User mentioned",
        description: "Someone mentioned a user in a post. The data is X's post, with its author.",
        parameters: r#"{
            "type": "object",
            "properties": {
                "id": {"type": "string", "pattern": "^[0-9]{1,19}$", "description": "id of the user; absent: the connected user"}
            },
            "additionalProperties": false
        }"#,
        payload: PAYLOAD,
        example: r#"{
            "id": "1519781379172495360",
            "text": "@ada Have you seen this?",
            "author_id": "2244994945",
            "conversation_id": "1519781379172495360",
            "created_at": "2026-03-02T10:00:00.000Z",
            "author": {"id": "2244994945", "name": "Kim", "username": "kim"}
        }"#,
        key: &["id"],
        read: Some("read_mentions"),
        ..Trigger::READ
    },
    Trigger {
        name: "post_of_user",
        title: "Post published",
        description: "A user has published a post. The data is X's post, with its author.",
        parameters: r#"{
            "type": "object",
            "properties": {
                "id": {"type": "string", "pattern": "^[0-9]{1,19}$", "description": "id of the user"},
                "exclude": {
                    "type": "array",
                    "items": {"type": "string", "enum": ["replies", "retweets"]},
                    "minItems": 1,
                    "uniqueItems": true
                }
            },
            "required": ["id"],
            "additionalProperties": false
        }"#,
        payload: PAYLOAD,
        example: r#"{
            "id": "1519781379172495361",
            "text": "Hello",
            "author_id": "2244994945",
            "conversation_id": "1519781379172495361",
            "created_at": "2026-03-02T10:00:00.000Z",
            "author": {"id": "2244994945", "name": "Kim", "username": "kim"}
        }"#,
        key: &["id", "exclude"],
        read: Some("read_posts"),
        ..Trigger::READ
    },
];

/// X's smallest and largest number of posts in a page, and the maximum number of pages in one read.
const FIRST_PAGE: u32 = 5;
const PAGE: u32 = 100;
const PAGES: usize = 10;

/// The place in the posts of a list.
#[derive(Serialize)]
struct Cursor {
    /// The id of the last post. `None` if there was no post.
    since_id: Option<String>,
    /// The id of the connected user, if the trigger names no other.
    user: Option<String>,
}

/// Reads the posts that mention a user since the cursor.
pub(crate) fn mentions(input: Read) -> Result<Events, Fault> {
    let named: Option<String> = input.parameters.optional("id")?;
    let known = match &input.cursor {
        Some(cursor) => cursor.optional("user")?,
        None => None,
    };
    let own = match (&named, known) {
        (Some(_), _) => None,
        (None, Some(known)) => Some(known),
        (None, None) => Some(connected_user()?),
    };
    let user = named.or_else(|| own.clone()).unwrap_or_default();
    let mut request = Request::get("api", "/users").segment("parameters/id", &user)?;
    request.path.push_str("/mentions");
    read(&input, request, own)
}

/// Reads the posts of a user since the cursor.
pub(crate) fn posts(input: Read) -> Result<Events, Fault> {
    let user: String = input.parameters.required("id")?;
    let mut request = Request::get("api", "/users").segment("parameters/id", &user)?;
    request.path.push_str("/tweets");
    let exclude: Option<Vec<String>> = input.parameters.optional("exclude")?;
    // X counts posts that are excluded to the size of a page. So the first page could be without
    // posts, and the first read looks for the newest post of any kind.
    let exclude = exclude.filter(|_| input.cursor.is_some());
    read(&input, crate::request::with_list(request, "exclude", exclude.as_ref()), None)
}

/// Reads a list of posts. `own` is the id of the connected user for the cursor.
fn read(input: &Read, request: Request, own: Option<String>) -> Result<Events, Fault> {
    let Some(cursor) = &input.cursor else {
        return Ok(Events::none(Value::of(&Cursor { since_id: newest(&request.path)?, user: own })?));
    };
    let since: Option<String> = cursor.optional("since_id")?;
    let mut request = request.query("max_results", PAGE);
    request = request.query(&settings::post_fields()?, "conversation_id,created_at,lang");
    request = request.query("expansions", "author_id");
    if let Some(since) = &since {
        request = request.query("since_id", since);
    }
    let mut posts: Vec<(String, Event)> = Vec::new();
    let mut next: Option<String> = None;
    for _ in 0..PAGES {
        let path = request.path.clone();
        let request = Request::get("api", path);
        let list = page(match &next {
            Some(token) => request.query("pagination_token", token),
            None => request,
        })?;
        posts.extend(list.pointer("/data").iter().flat_map(Document::items).filter_map(|post| event(&post, &list)));
        next = list.string("/meta/next_token");
        if next.is_none() {
            break;
        }
    }
    posts.reverse();
    let limit = usize::try_from(input.limit).unwrap_or(usize::MAX);
    let more = posts.len() > limit;
    posts.truncate(limit);
    let last = posts.last().map(|(id, _)| id.clone()).or(since);
    let events = posts.into_iter().map(|(_, event)| event).collect();
    let cursor = Value::of(&Cursor { since_id: last, user: own })?;
    // X has no further pages of posts that are too old.
    Ok(Events { events, cursor, more, gap: next.is_some() })
}

/// The id of the newest post of a list. `None` if the list is empty. X may leave posts out of a page,
/// so that a page without posts may be followed by others.
fn newest(path: &str) -> Result<Option<String>, Fault> {
    let mut next: Option<String> = None;
    for _ in 0..PAGES {
        let request = Request::get("api", path);
        let list = page(match &next {
            Some(token) => request.query("max_results", PAGE).query("pagination_token", token),
            None => request.query("max_results", FIRST_PAGE),
        })?;
        let id = list.string("/data/0/id");
        next = list.string("/meta/next_token");
        if id.is_some() || next.is_none() {
            return Ok(id);
        }
    }
    Ok(None)
}

/// The id of a post, and the post with its author.
fn event(post: &Document, list: &Document) -> Option<(String, Event)> {
    let id = post.string("/id")?;
    let mut data = post.text();
    let author = post.string("/author_id");
    let users = list.pointer("/includes/users");
    if let Some(author) = users.iter().flat_map(Document::items).find(|user| user.string("/id") == author) {
        data = with_member(&data, "author", &author.text())?;
    }
    Some((id.clone(), Event { time: post.string("/created_at"), ..Event::new(id, Value(data)) }))
}

/// A page of posts. For a user that it does not have, X answers with the status 200 and no page.
fn page(request: Request) -> Result<Document, Fault> {
    let list = http::send(request)?.successful()?.document()?;
    if list.pointer("/meta").is_none() && list.pointer("/data").is_none() {
        let reason = list.string("/errors/0/detail").map(|detail| format!(" X says: {detail}")).unwrap_or_default();
        return Err(Fault::not_found(format!("X did not give the posts of the user; check the id.{reason}")));
    }
    Ok(list)
}

fn connected_user() -> Result<String, Fault> {
    let user = http::send(Request::get("userinfo", ""))?.successful()?.document()?;
    let unclear = || Error::BadAnswer("X's response to users/me has no `data.id`".to_owned());
    Ok(user.string("/data/id").ok_or_else(unclear)?)
}
