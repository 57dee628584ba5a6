//! Google: channels of calendars and drives, and the services that are only read.

use super::*;
use crate::hooks::{outcomes, records};

const EVENTS: &str = "/api/calendars/primary/events";
const CHANGES: &str = "/drive/changes";

/// The answers of Google.
#[derive(Default)]
struct Google {
    /// The changes of every list, the oldest first.
    changes: Vec<Value>,
    /// Tokens are too old until it has said so once.
    has_forgotten: bool,
    /// The answers to the first notifications of channels, which come before Google's own answer.
    first: Vec<(u16, String)>,
}

/// A world whose service has channels.
fn google(connector: &str, upstreams: &[&str]) -> (Shipped, Arc<Mutex<Google>>) {
    let world = Shipped::start(connector, "google", upstreams, "");
    world.connect(connector, &["ada"]);
    let google: Arc<Mutex<Google>> = Arc::default();
    let shared = Arc::clone(&google);
    let address = world.gateway.address();
    world.service.on("*", move |seen| {
        let mut google = shared.lock();
        match (seen.method.as_str(), seen.path.as_str()) {
            ("POST", path) if path.ends_with("/watch") => {
                let body = body_of(seen);
                let text = |name: &str| body[name].as_str().unwrap_or_default();
                let headers = [
                    ("X-Goog-Channel-ID", text("id")),
                    ("X-Goog-Channel-Token", text("token")),
                    ("X-Goog-Message-Number", "1"),
                    ("X-Goog-Resource-State", "sync"),
                ];
                google.first.push(notify_now(&address, text("address"), &headers, ""));
                let resource = format!("resource of {}", text("id"));
                Reply::json(json!({"id": body["id"], "resourceId": resource, "expiration": body["expiration"]}))
            }
            ("POST", path) if path.ends_with("/channels/stop") => Reply::empty(204),
            ("GET", path) if path.ends_with("/startPageToken") => {
                Reply::json(json!({"startPageToken": google.changes.len().to_string()}))
            }
            ("GET", path) => {
                let token = seen.parameter("syncToken").or_else(|| seen.parameter("pageToken"));
                if token.is_some() && std::mem::take(&mut google.has_forgotten) {
                    return Reply::json(json!({"error": {"code": 410}})).status(410);
                }
                let known: usize = token.and_then(|token| token.parse().ok()).unwrap_or_default();
                let (new, next) = (&google.changes[known..], google.changes.len().to_string());
                match path {
                    EVENTS => Reply::json(json!({"items": new, "nextSyncToken": next})),
                    CHANGES => Reply::json(json!({"changes": new, "newStartPageToken": next})),
                    _ => Reply::empty(404),
                }
            }
            _ => Reply::empty(404),
        }
    });
    (world, google)
}

fn event(id: &str) -> Value {
    json!({"id": id, "etag": "\"1\"", "status": "confirmed", "updated": "2026-03-02T10:00:00.000Z"})
}

fn on_primary(world: &Shipped) -> String {
    world.trigger("ada", "workspace_calendar.event_changed", &json!({"calendar_id": "primary"}))
}

impl Shipped {
    /// The channels that were opened with a path.
    fn channels(&self, path: &str) -> Vec<Value> {
        self.requests("POST", path).iter().map(body_of).collect()
    }

    /// A notification of a channel.
    fn ring(&self, channel: &Value, number: u32, token: Option<&str>) -> u16 {
        let call = self.notify(channel["address"].as_str().unwrap());
        let call = call.header("x-goog-channel-id", channel["id"].as_str().unwrap());
        let call = call.header("x-goog-resource-state", "exists");
        let call = call.header("x-goog-message-number", &number.to_string());
        let token = token.unwrap_or_else(|| channel["token"].as_str().unwrap());
        let call = if token.is_empty() { call } else { call.header("x-goog-channel-token", token) };
        call.body("").send().status
    }
}

#[test]
fn a_notification_of_a_channel_leads_to_a_read_and_its_first_one_does_not() {
    let (world, google) = google("workspace_calendar", &["api"]);
    google.lock().changes.push(event("before"));
    let id = on_primary(&world);
    assert_eq!(google.lock().first, [(200, String::new())]);
    let channels = world.channels("/api/calendars/primary/events/watch");
    let channel = &channels[0];
    assert_eq!((channels.len(), &channel["type"]), (1, &json!("web_hook")));
    assert_eq!((channel["id"].as_str().unwrap().len(), channel["token"].as_str().unwrap().len()), (36, 43));
    let milliseconds: u128 = channel["expiration"].as_str().unwrap().parse().unwrap();
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis();
    assert!((milliseconds - now) / 3_600_000 >= 167, "seven days");
    let reads = world.requests("GET", EVENTS).len();

    google.lock().changes.push(event("e1"));
    for token in ["guessed", ""] {
        assert_eq!(world.ring(channel, 2, Some(token)), 401);
    }
    world.settle();
    assert_eq!(world.requests("GET", EVENTS).len(), reads);
    assert_eq!(world.ring(channel, 2, None), 200);
    assert_eq!(world.data(&id), [event("e1")]);
    assert_eq!(world.ring(channel, 3, None), 200);
    assert_eq!(world.data(&id), [event("e1")]);
    let records = records(&world.gateway, "connector=workspace_calendar", 5);
    let expected = [
        ("ignored", "no-event"),
        ("rejected", "wrong-token"),
        ("rejected", "no-token"),
        ("stored", ""),
        ("stored", ""),
    ];
    assert_eq!(outcomes(&records), expected);
    let last = world.requests("GET", EVENTS).pop().unwrap();
    let selection = ["singleEvents", "showDeleted", "syncToken"].map(|name| last.parameter(name).unwrap());
    assert_eq!(selection, ["true", "true", "2"]);
}

#[test]
fn what_google_does_not_notify_of_is_read_within_an_hour() {
    let (world, google) = google("workspace_calendar", &["api"]);
    let id = on_primary(&world);
    google.lock().changes.push(event("e1"));
    world.pass(50);
    assert_eq!(world.data(&id), Vec::<Value>::new(), "the next read is not due yet");
    world.pass(10);
    assert_eq!(world.data(&id), [event("e1")]);
}

#[test]
fn another_channel_is_opened_before_the_former_one_is_closed() {
    let (world, google) = google("workspace_calendar", &["api"]);
    let id = on_primary(&world);
    world.work(", renew_at = 0");
    let channels = world.channels("/api/calendars/primary/events/watch");
    assert_eq!(channels.len(), 2);
    assert_ne!(channels[0]["id"], channels[1]["id"]);
    assert_eq!(world.channels("/api/channels/stop"), Vec::<Value>::new(), "the new one has not notified yet");
    google.lock().changes.push(event("e1"));
    assert_eq!(world.ring(&channels[1], 2, None), 200);
    assert_eq!(world.data(&id), [event("e1")]);
    let former = channels[0]["id"].as_str().unwrap();
    let closed = world.channels("/api/channels/stop");
    assert_eq!(closed, [json!({"id": former, "resourceId": format!("resource of {former}")})]);
    assert_eq!(world.delete(&id), true);
    assert_eq!(world.channels("/api/channels/stop")[1]["id"], channels[1]["id"]);
}

#[test]
fn a_sync_token_that_is_too_old_is_told_as_a_gap_once() {
    let (world, google) = google("workspace_calendar", &["api"]);
    let id = on_primary(&world);
    google.lock().changes.push(event("lost"));
    google.lock().has_forgotten = true;
    world.read(&id);
    world.read(&id);
    assert_eq!(world.kinds(&id), ["trigger.gap"]);
    google.lock().changes.push(event("after"));
    world.read(&id);
    assert_eq!(world.kinds(&id), ["trigger.gap", "workspace_calendar.event_changed"]);
    assert_eq!(world.told(&id, "/id")[1], "after");
}

#[test]
fn a_channel_of_a_drive_leads_to_a_read_of_the_changed_files() {
    let (world, google) = google("workspace_docs", &["drive"]);
    let change = |file: &str| json!({"changeType": "file", "fileId": file, "time": "2026-03-02T10:00:00.000Z"});
    google.lock().changes.push(change("before"));
    let all = world.trigger("ada", "workspace_docs.file_changed", &json!({}));
    let one = world.trigger("ada", "workspace_docs.file_changed", &json!({"document_id": "plan"}));
    let opened = world.requests("POST", "/drive/changes/watch");
    assert_eq!((opened.len(), opened[0].parameter("pageToken").unwrap().as_str()), (1, "1"));
    let channel = body_of(&opened[0]);
    google.lock().changes.extend([change("plan"), change("other")]);
    assert_eq!(world.ring(&channel, 2, Some("guessed")), 401);
    assert_eq!(world.data(&all), Vec::<Value>::new());
    assert_eq!(world.ring(&channel, 2, None), 200);
    assert_eq!(world.told(&all, "/fileId"), ["plan", "other"]);
    assert_eq!(world.told(&one, "/fileId"), ["plan"]);
    google.lock().has_forgotten = true;
    world.read(&all);
    assert_eq!(world.kinds(&one), ["workspace_docs.file_changed", "trigger.gap"]);
}

#[test]
fn messages_of_a_space_are_read_since_the_last_one() {
    let (world, _) = google("workspace_chat", &["api"]);
    let messages: Arc<Mutex<Vec<Value>>> = Arc::default();
    let shared = Arc::clone(&messages);
    world.service.on("/api/spaces/S1/spaceEvents", move |seen| {
        let filter = seen.parameter("filter").unwrap_or_default();
        let since = filter.split("start_time=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        let later = |event: &&Value| event["eventTime"].as_str().unwrap_or_default() > since;
        // Google's start is exclusive.
        Reply::json(json!({"spaceEvents": shared.lock().iter().filter(later).collect::<Vec<_>>()}))
    });
    let appears = |text: &str, second: usize| {
        let mut messages = messages.lock();
        let (number, time) = (messages.len(), format!("2026-03-02T10:00:{second:02}.5Z"));
        let message = json!({"name": format!("spaces/S1/messages/{number}"), "text": text, "createTime": time});
        messages.push(json!({"eventTime": time, "messageCreatedEventData": {"message": message}}));
    };
    let happens = |text: &str| {
        let second = messages.lock().len();
        appears(text, second);
    };
    happens("before");
    let refused = world.make("ada", "workspace_chat.message_created", &json!({"space_id": "spaces/S1"}));
    assert_eq!((refused.status, &refused.json()["errors"][0]["pointer"]), (422, &json!("/parameters/space_id")));
    let id = world.trigger("ada", "workspace_chat.message_created", &json!({"space_id": "S1"}));
    assert_eq!(world.record(&id)["mode"], "poll");
    world.check_reads(&id, "/text", happens);
    appears("of the time of the last one", 3);
    appears("listed after a later one", 2);
    for _ in 0..2 {
        world.read(&id);
        let told = world.told(&id, "/text");
        assert_eq!(told[3..], ["of the time of the last one", "listed after a later one"]);
    }
}

#[test]
fn conferences_that_end_and_their_transcripts_are_read_since_the_last_one() {
    let (world, _) = google("workspace_meet", &["api"]);
    let conferences: Arc<Mutex<Vec<Value>>> = Arc::default();
    let shared = Arc::clone(&conferences);
    world.service.on("*", move |seen| {
        let records = shared.lock();
        let filter = seen.parameter("filter").unwrap_or_default();
        let since = filter.split('"').nth(1).unwrap_or_default().to_owned();
        let later = |record: &&Value| record["endTime"].as_str().unwrap_or_default() >= since.as_str();
        match seen.path.strip_prefix("/api/conferenceRecords") {
            Some("") => {
                Reply::json(json!({"conferenceRecords": records.iter().filter(later).rev().collect::<Vec<_>>()}))
            }
            Some(path) if path.ends_with("/transcripts") => {
                let name = format!("conferenceRecords{path}/t1");
                Reply::json(json!({"transcripts": [{"name": name, "state": "FILE_GENERATED"}]}))
            }
            _ => Reply::empty(404),
        }
    });
    let appears = |space: &str, minute: usize| {
        let mut records = conferences.lock();
        let (number, time) = (records.len(), format!("2026-03-02T10:{minute:02}:00.123456Z"));
        records.push(json!({"name": format!("conferenceRecords/{number}"), "space": space, "endTime": time}));
    };
    let happens = |space: &str| {
        let minute = conferences.lock().len();
        appears(space, minute);
    };
    happens("before");
    let ended = world.trigger("ada", "workspace_meet.conference_ended", &json!({}));
    let ready = world.trigger("ada", "workspace_meet.transcript_ready", &json!({}));
    world.check_reads(&ended, "/space", happens);
    world.read(&ready);
    let names = ["1", "2", "3"].map(|number| format!("conferenceRecords/{number}/transcripts/t1"));
    assert_eq!(world.told(&ready, "/name"), names);
    world.read(&ready);
    assert_eq!(world.told(&ready, "/name"), names);
    appears("of the time of the last one", 3);
    appears("listed after a later one", 2);
    for _ in 0..2 {
        world.read(&ended);
        assert_eq!(world.told(&ended, "/space")[3..], ["listed after a later one", "of the time of the last one"]);
    }
    world.read(&ready);
    assert_eq!(world.told(&ready, "/name").len(), 5);
}
