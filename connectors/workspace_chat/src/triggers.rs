//! Messages that are written in a space, as events.
//!
//! Google lists the events of a space by their time, and no events older than 28 days. Each read
//! begins some minutes before the last one, because an event may be listed after a later one.

use std::time::Duration;

use connector_sdk::triggers::{Event, Events, Read, Recent, Trigger, Value};
use connector_sdk::{Document, Fault, Request, Response, clock, http};
use serde::Serialize;

/// The types of events.
pub(crate) const TRIGGERS: &[Trigger] = &[Trigger {
    name: "message_created",
    title: "Message written",
    description: "A message was written in a space. The data is Google's message as it is now.",
    parameters: r#"{
        "type": "object",
        "properties": {"space_id": {"type": "string", "pattern": "^[^/]+$", "description": "id of the space, the part after spaces/"}},
        "required": ["space_id"],
        "additionalProperties": false
    }"#,
    payload: r#"{
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "sender": {"type": "object", "properties": {"name": {"type": "string"}, "type": {"type": "string"}}},
            "createTime": {"type": "string"},
            "text": {"type": "string"},
            "thread": {"type": "object", "properties": {"name": {"type": "string"}}},
            "space": {"type": "object", "properties": {"name": {"type": "string"}}}
        },
        "required": ["name"]
    }"#,
    example: r#"{
        "name": "spaces/AAAAtZLKDkk/messages/BBBB.BBBB",
        "sender": {"name": "users/117", "type": "HUMAN"},
        "createTime": "2026-03-02T10:00:00.123456Z",
        "text": "Hello",
        "formattedText": "Hello",
        "argumentText": "Hello",
        "thread": {"name": "spaces/AAAAtZLKDkk/threads/BBBB"},
        "space": {"name": "spaces/AAAAtZLKDkk"}
    }"#,
    key: &["space_id"],
    read: Some("read_messages"),
    ..Trigger::READ
}];

/// Google's type of the events. It also gives batches of them.
const CREATED: &str = r#"event_types:"google.workspace.chat.message.v1.created""#;

/// Size of a page of the first list, and number of pages of it in one read.
const FIRST_PAGE: u32 = 1000;
const FIRST_PAGES: usize = 20;

/// Time since the last read after which Google may no longer have all events since then.
const KEPT_MS: u64 = 27 * 86_400_000;

/// A message that Google lists later than this after its time is not found.
const OVERLAP: Duration = Duration::from_secs(300);

/// Maximum length of the messages in a cursor, which is at most 8 KiB.
const KNOWN_BYTES: usize = 6 << 10;

/// The place in the events of a space.
#[derive(Clone, Default, Serialize)]
struct Cursor {
    /// The time after which Google lists the events. It is the same for all pages. `None` if there
    /// was no event in the last 28 days.
    since: Option<String>,
    /// Google's token for the next page of the events since then.
    page: Option<String>,
    /// The messages of the last minutes.
    recent: Recent,
    /// `true` while the events before the first read are being passed over.
    is_first: bool,
    /// Milliseconds since 1970 at which the last page was read. `None` in cursors of earlier versions.
    read_at: Option<i64>,
}

/// Reads the messages that were written since the cursor.
pub(crate) fn read(input: Read) -> Result<Events, Fault> {
    let space: String = input.parameters.required("space_id")?;
    let cursor = match &input.cursor {
        None => Cursor { is_first: true, ..Cursor::default() },
        Some(cursor) => Cursor::parse(cursor)?,
    };
    if cursor.is_first {
        return first(&space, cursor);
    }
    let (mut cursor, mut gap) = (cursor, false);
    let mut response = list(&space, &cursor, input.limit, None)?;
    if response.status() == 400 && cursor.page.is_some() {
        // The token of the page has ended.
        cursor.page = None;
        response = list(&space, &cursor, input.limit, None)?;
    }
    if response.status() == 400 && cursor.since.is_some() {
        // The time is more than 28 days ago. Events between it and the oldest that Google has are
        // lost, unless the space was quiet and its events were read meanwhile.
        gap = !cursor.is_recent();
        cursor = Cursor { recent: cursor.recent.restarted(), ..Cursor::default() };
        response = list(&space, &cursor, input.limit, None)?;
    }
    let page = response.successful()?.document()?;
    let mut events = Vec::new();
    cursor.pass(&page, |name, time, message| {
        events.push(Event { time: Some(time.to_owned()), ..Event::new(name, Value::from(message)) });
    });
    let (cursor, more) = cursor.after(&page);
    Ok(Events { events, cursor: Value::of(&cursor)?, more, gap })
}

/// The members that the first read needs of each event.
const FIRST_FIELDS: &str = "nextPageToken,spaceEvents(eventTime,messageCreatedEventData/message/name,\
                            messageBatchCreatedEventData/messages/message/name)";

/// Finds the last events. The answer has none of them.
fn first(space: &str, mut cursor: Cursor) -> Result<Events, Fault> {
    for _ in 0..FIRST_PAGES {
        let mut response = list(space, &cursor, FIRST_PAGE, Some(FIRST_FIELDS))?;
        if response.status() == 400 && cursor.page.is_some() {
            // The token of the page has ended.
            (cursor.since, cursor.page) = (cursor.recent.since().map(str::to_owned), None);
            response = list(space, &cursor, FIRST_PAGE, None)?;
        }
        let page = response.successful()?.document()?;
        cursor.pass(&page, |_, _, _| ());
        let (next, more) = cursor.after(&page);
        if !more {
            return Ok(Events::none(Value::of(&next)?));
        }
        cursor = next;
    }
    Ok(Events { more: true, ..Events::none(Value::of(&cursor)?) })
}

/// A page of events, the oldest first.
fn list(space: &str, cursor: &Cursor, size: u32, fields: Option<&str>) -> Result<Response, Fault> {
    let mut request = Request::get("api", "/spaces").segment("parameters/space_id", space)?;
    request.path.push_str("/spaceEvents");
    let filter = match &cursor.since {
        Some(time) => format!(r#"start_time="{time}" AND {CREATED}"#),
        None => CREATED.to_owned(),
    };
    request = request.query("filter", filter).query("pageSize", size);
    for (name, value) in [("pageToken", cursor.page.as_deref()), ("fields", fields)] {
        if let Some(value) = value {
            request = request.query(name, value);
        }
    }
    Ok(http::send(request)?)
}

impl Cursor {
    fn parse(value: &Value) -> Result<Self, Fault> {
        let since: Option<String> = value.optional("since")?;
        let recent = match value.optional::<Recent>("recent")? {
            Some(recent) => recent,
            None => {
                // A cursor of an earlier version has times only.
                let mut recent = Recent::starting_at(since.clone());
                if let Some(newest) = value.optional::<String>("newest")? {
                    recent.reach(&newest);
                }
                recent
            }
        };
        Ok(Self {
            since,
            page: value.optional("page")?,
            recent,
            is_first: value.required("is_first")?,
            read_at: value.optional("read_at")?,
        })
    }

    /// Passes over a page, and gives its new messages: their names, times and data.
    fn pass(&mut self, page: &Document, mut give: impl FnMut(String, &str, &Document)) {
        for event in page.pointer("/spaceEvents").iter().flat_map(Document::items) {
            let Some(time) = event.string("/eventTime") else { continue };
            self.recent.reach(&time);
            let single = event.pointer("/messageCreatedEventData/message");
            let batch = event.pointer("/messageBatchCreatedEventData/messages");
            let batch = batch.iter().flat_map(Document::items).filter_map(|created| created.pointer("/message"));
            for message in single.into_iter().chain(batch) {
                let Some(name) = message.string("/name") else { continue };
                // The space is the same for all.
                let id = name.rsplit('/').next().unwrap_or(&name);
                if self.recent.is_new(id, &time) {
                    self.recent.add(id, &time);
                    give(name, &time, &message);
                }
            }
        }
        self.recent.keep(OVERLAP, KNOWN_BYTES);
    }

    /// Returns `true` if Google still has all events since the last read.
    fn is_recent(&self) -> bool {
        self.read_at.is_some_and(|time| time.unsigned_abs().saturating_add(KEPT_MS) > clock::now())
    }

    /// The cursor after a page. Also returns `true` if another page follows.
    fn after(self, page: &Document) -> (Self, bool) {
        match page.string("/nextPageToken").filter(|token| !token.is_empty()) {
            Some(token) => (Self { page: Some(token), ..self }, true),
            None => {
                let read_at = i64::try_from(clock::now()).ok();
                let since = self.recent.since().map(str::to_owned);
                (Self { since, recent: self.recent, read_at, ..Self::default() }, false)
            }
        }
    }
}
