//! Conferences that end, and transcripts that are ready, as events.
//!
//! Google keeps records of conferences for 30 days and finds them by the time of their end. It has a
//! record a short time after the end, which differs from one conference to the next. So each read
//! begins an hour before the last end, and passes over the conferences that it knows.

use std::time::Duration;

use connector_sdk::triggers::{Event, Events, Read, Recent, Trigger, Value};
use connector_sdk::{Document, Fault, Request, http};
use serde::Serialize;

/// The types of events.
pub(crate) const TRIGGERS: &[Trigger] = &[
    Trigger {
        name: "conference_ended",
        title: "Conference ended",
        description: "A conference of the user has ended. The data is Google's record of the conference. Google has the \
                      record a short time after the end.",
        payload: r#"{
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "startTime": {"type": "string"},
                "endTime": {"type": "string"},
                "expireTime": {"type": "string"},
                "space": {"type": "string"}
            },
            "required": ["name", "endTime"]
        }"#,
        example: r#"{
            "name": "conferenceRecords/abc-123",
            "startTime": "2026-03-02T10:00:00.123456Z",
            "endTime": "2026-03-02T10:30:00.654321Z",
            "expireTime": "2026-04-01T10:30:00.654321Z",
            "space": "spaces/jQCFfuBOdN5z"
        }"#,
        read: Some("read_conferences"),
        ..Trigger::READ
    },
    Trigger {
        name: "transcript_ready",
        title: "Transcript ready",
        description: "The transcript of a conference that has ended is ready to be read. The data is Google's transcript; \
                      `docsDestination` has its document.",
        payload: r#"{
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "state": {"type": "string"},
                "startTime": {"type": "string"},
                "endTime": {"type": "string"},
                "docsDestination": {
                    "type": "object",
                    "properties": {"document": {"type": "string"}, "exportUri": {"type": "string"}}
                }
            },
            "required": ["name"]
        }"#,
        example: r#"{
            "name": "conferenceRecords/abc-123/transcripts/def-456",
            "state": "FILE_GENERATED",
            "startTime": "2026-03-02T10:01:00.123456Z",
            "endTime": "2026-03-02T10:30:00.654321Z",
            "docsDestination": {
                "document": "1aBcD",
                "exportUri": "https://docs.google.com/document/d/1aBcD/view"
            }
        }"#,
        read: Some("read_transcripts"),
        ..Trigger::READ
    },
];

/// Size of a page of conferences, and maximum number of pages in one read.
const PAGE: u32 = 100;
const PAGES: usize = 10;

/// Number of the newest conferences whose transcripts the first read looks at.
const FIRST_CONFERENCES: usize = 10;

/// Number of conferences whose transcripts one read looks at, each with a request. With the transcripts
/// that are waited for, a read ends within the time and the number of requests of an invocation.
const CONFERENCES: usize = 60;

/// Maximum number of transcripts that are waited for.
const WAITING: usize = 50;

/// Google's state of a transcript that is ready.
const READY: &str = "FILE_GENERATED";

/// A conference whose record Google has later than this after its end is not found.
const OVERLAP: Duration = Duration::from_secs(3600);

/// Maximum length of the conferences and the transcripts in a cursor, which is at most 8 KiB.
const KNOWN_BYTES: usize = 7 << 10;

/// The place in the conferences of a user.
#[derive(Default, Serialize)]
struct Cursor {
    /// The conferences that have ended in the last hour.
    recent: Recent,
    /// The time of the last end, for earlier versions of this connector, which have no `recent`.
    ended: Option<String>,
    /// See `ended`.
    names: [(); 0],
    /// The names of transcripts that are not ready.
    waiting: Vec<String>,
}

/// A conference that has ended.
struct Conference {
    name: String,
    ended: String,
    record: Document,
}

/// Reads the conferences that have ended since the cursor.
pub(crate) fn conferences(input: Read) -> Result<Events, Fault> {
    let Some(cursor) = &input.cursor else {
        let ended = ended_since(&Cursor::default())?;
        return Ok(Events::none(Value::of(&Cursor::default().after(&ended))?));
    };
    let cursor = Cursor::parse(cursor)?;
    let mut ended = ended_since(&cursor)?;
    let more = cut(&mut ended, input.limit);
    let event = |conference: &Conference| {
        let time = Some(conference.ended.clone());
        Event { time, ..Event::new(conference.name.clone(), Value::from(&conference.record)) }
    };
    let events = ended.iter().map(event).collect();
    Ok(Events { events, more, ..Events::none(Value::of(&cursor.after(&ended))?) })
}

/// Reads the transcripts that became ready since the cursor.
pub(crate) fn transcripts(input: Read) -> Result<Events, Fault> {
    let limit = usize::try_from(input.limit).unwrap_or(usize::MAX);
    let Some(cursor) = &input.cursor else {
        let ended = ended_since(&Cursor::default())?;
        let mut cursor = Cursor::default().after(&ended);
        for conference in ended.iter().rev().take(FIRST_CONFERENCES) {
            let found = of_conference(conference)?;
            cursor.waiting.extend(found.iter().filter(|found| !is_ready(found)).filter_map(name));
        }
        return Ok(Events::none(Value::of(&cursor.after(&[]))?));
    };
    let mut cursor = Cursor::parse(cursor)?;
    let mut events = Vec::new();
    let mut waiting = Vec::new();
    for name in std::mem::take(&mut cursor.waiting) {
        if events.len() >= limit {
            waiting.push(name);
            continue;
        }
        let response = http::send(of_name(&name)?)?;
        // The records of the conference were deleted.
        if response.status() == 404 {
            continue;
        }
        let transcript = response.successful()?.document()?;
        match is_ready(&transcript) {
            true => events.extend(transcript_event(&transcript)),
            false => waiting.push(name),
        }
    }
    let ended = ended_since(&cursor)?;
    let mut done = Vec::new();
    let mut more = false;
    for conference in ended {
        if events.len() >= limit || done.len() >= CONFERENCES {
            more = true;
            break;
        }
        for transcript in of_conference(&conference)? {
            match is_ready(&transcript) {
                true => events.extend(transcript_event(&transcript)),
                false => waiting.extend(name(&transcript)),
            }
        }
        done.push(conference);
    }
    // The oldest are given up first.
    waiting.drain(..waiting.len().saturating_sub(WAITING));
    let cursor = Cursor { waiting, ..cursor }.after(&done);
    Ok(Events { events, more, ..Events::none(Value::of(&cursor)?) })
}

/// The conferences that have ended since the cursor, in the order of their ends.
fn ended_since(cursor: &Cursor) -> Result<Vec<Conference>, Fault> {
    let mut ended = Vec::new();
    let mut page: Option<String> = None;
    for _ in 0..PAGES {
        let mut request = Request::get("api", "/conferenceRecords").query("pageSize", PAGE);
        if let Some(time) = cursor.recent.since() {
            request = request.query("filter", format!(r#"end_time>="{time}""#));
        }
        if let Some(page) = &page {
            request = request.query("pageToken", page);
        }
        let list = http::send(request)?.successful()?.document()?;
        for record in list.pointer("/conferenceRecords").iter().flat_map(Document::items) {
            // A conference in progress has no end.
            let (Some(name), Some(time)) = (name(&record), record.string("/endTime")) else { continue };
            if cursor.recent.is_new(id_of(&name), &time) {
                ended.push(Conference { name, ended: time, record });
            }
        }
        page = list.string("/nextPageToken").filter(|token| !token.is_empty());
        if page.is_none() {
            break;
        }
    }
    // Times of Google are in UTC. Without the `Z`, the order of their texts is the order of the
    // times, with and without fractions.
    ended.sort_by(|one, other| one.ended.trim_end_matches('Z').cmp(other.ended.trim_end_matches('Z')));
    Ok(ended)
}

/// Keeps the first conferences. Returns `true` if others were left out.
fn cut(ended: &mut Vec<Conference>, limit: u32) -> bool {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = ended.len() > limit;
    ended.truncate(limit);
    more
}

/// The transcripts of a conference. They are listed from their beginning, so a conference that has
/// ended without one will have none.
fn of_conference(conference: &Conference) -> Result<Vec<Document>, Fault> {
    let mut request = of_name(&conference.name)?;
    request.path.push_str("/transcripts");
    let response = http::send(request.query("pageSize", PAGE))?;
    if response.status() == 404 {
        return Ok(Vec::new());
    }
    let list = response.successful()?.document()?;
    Ok(list.pointer("/transcripts").iter().flat_map(Document::items).collect())
}

fn of_name(name: &str) -> Result<Request, Fault> {
    name.split('/').try_fold(Request::get("api", ""), |request, segment| request.segment("cursor", segment))
}

/// The last part of a conference's name.
fn id_of(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn name(document: &Document) -> Option<String> {
    document.string("/name")
}

fn is_ready(transcript: &Document) -> bool {
    transcript.string("/state").as_deref() == Some(READY)
}

fn transcript_event(transcript: &Document) -> Option<Event> {
    Some(Event { time: transcript.string("/endTime"), ..Event::new(name(transcript)?, Value::from(transcript)) })
}

impl Cursor {
    fn parse(value: &Value) -> Result<Self, Fault> {
        let recent = match value.optional::<Recent>("recent")? {
            Some(recent) => recent,
            None => Recent::starting_at(value.optional("ended")?),
        };
        Ok(Self { recent, waiting: value.required("waiting")?, ..Self::default() })
    }

    /// The cursor after these conferences.
    fn after(mut self, conferences: &[Conference]) -> Self {
        for Conference { name, ended, .. } in conferences {
            self.recent.add(id_of(name), ended);
        }
        let waiting: usize = self.waiting.iter().map(|name| name.len() + 3).sum();
        self.recent.keep(OVERLAP, KNOWN_BYTES.saturating_sub(waiting));
        self.ended = self.recent.newest().map(str::to_owned);
        self
    }
}
