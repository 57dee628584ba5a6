//! The events of a trigger: list, show, send once more.

use std::time::Duration;

use hyper::Response;
use serde::Serialize;
use serde_json::json;

use super::{trigger_problem, unknown_trigger};
use body::Body;
use clock::timestamp;
use endpoint::answer::{private_answer, private_text};
use endpoint::authorize::AuthorizedCaller;
use endpoint::body::read_record;
use endpoint::page;
use endpoint::records::{ReplayBody, TriggerReplayedRecord};
use endpoint::route::HttpCall;
use problem::{self, Problem, invalid, read_query};
use triggers::{EventsQuery, Replay};

/// The longest time that a call waits for an event, in seconds.
const MAX_WAIT_S: u64 = 25;

/// The order that begins with the newest event.
const NEWEST: &str = "newest";

/// The orders of events, by the event that they begin with.
const ORDERS: [&str; 2] = ["oldest", NEWEST];

/// GET /triggers/{trigger_id}/events.
pub async fn list_events(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let id = call.arguments.trigger_id;
    let (triggers, of) = (&call.gateway.triggers, caller.triggers());
    let found = match parse_query(call.head.uri.query().unwrap_or_default())? {
        Asked::Oldest(query) => triggers.events(of, id, query).await,
        Asked::Newest { limit } => triggers.last_events(of, id, limit).await,
    };
    answer(&found.map_err(trigger_problem)?.ok_or_else(|| unknown_trigger(id))?)
}

/// GET /triggers/{trigger_id}/events/{event_id}.
pub async fn get_event(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let (triggers, of) = (&call.gateway.triggers, caller.triggers());
    let (id, event_id) = (call.arguments.trigger_id, call.arguments.event_id);
    if let Some(event) = triggers.event(of, id, event_id).await.map_err(trigger_problem)? {
        return answer(&event);
    }
    triggers.get(of, id).await.map_err(trigger_problem)?.ok_or_else(|| unknown_trigger(id))?;
    Err(problem::UNKNOWN_EVENT.with_detail(format!(
        "The trigger has no event `{event_id}`, or no longer: events are kept for `triggers.keep_h` hours. \
         GET /triggers/{id}/events lists them."
    )))
}

/// Events as they are stored: a number keeps all its digits.
fn answer(events: &impl Serialize) -> Result<Response<Body>, Problem> {
    let text = serde_json::to_vec(events).map_err(|error| trigger_problem(error.into()))?;
    Ok(private_text(text))
}

/// POST /triggers/{trigger_id}/replay.
pub async fn replay_events(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, head, body, arguments, .. } = call;
    let replay = chosen(read_record(&head.headers, body, gateway).await?)?;
    let id = arguments.trigger_id;
    let queued = gateway.triggers.replay(caller.triggers(), id, replay).await.map_err(trigger_problem)?;
    let queued = queued.ok_or_else(|| unknown_trigger(id))?;
    Ok(private_answer(&json!(TriggerReplayedRecord { queued })))
}

fn chosen(body: ReplayBody) -> Result<Replay, Problem> {
    match body {
        ReplayBody { since: Some(since), event_ids: None } => match timestamp::parse(&since) {
            Ok(since) => Ok(Replay::Since(since)),
            Err(error) => Err(invalid("/since", error.to_string())),
        },
        ReplayBody { since: None, event_ids: Some(ids) } => Ok(Replay::Events(ids)),
        _ => Err(invalid("", "Must have `since` or `event_ids`, and not both.".to_owned())),
    }
}

/// The events that a query asks for.
enum Asked {
    /// Those after a cursor, the oldest first.
    Oldest(EventsQuery),
    /// The last ones, the newest first.
    Newest { limit: u32 },
}

fn parse_query(query: &str) -> Result<Asked, Problem> {
    let mut read = EventsQuery { limit: page::SIZES.default, cursor: None, wait: Duration::ZERO };
    let mut is_newest_first = false;
    read_query(query, &["limit", "cursor", "wait_s", "order"], |name, value| {
        match name {
            "limit" => read.limit = page::limit(value, page::SIZES)?,
            "cursor" => read.cursor = Some(value.to_owned()),
            "order" => is_newest_first = page::one_of(value, &ORDERS)? == NEWEST,
            _ => {
                let seconds = value.parse().ok().filter(|seconds| *seconds <= MAX_WAIT_S);
                let seconds = seconds.ok_or_else(|| format!("Must be a whole number from 0 to {MAX_WAIT_S}."))?;
                read.wait = Duration::from_secs(seconds);
            }
        }
        Ok(())
    })?;
    if !is_newest_first {
        return Ok(Asked::Oldest(read));
    }
    // The newest events have none after them: there is nothing to continue from, and nothing to
    // wait for.
    if read.cursor.is_some() || !read.wait.is_zero() {
        return Err(invalid("/order", "`newest` has no `cursor` and no `wait_s`.".to_owned()));
    }
    Ok(Asked::Newest { limit: read.limit })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_of_events_is_read() {
        for order in ["", "&order=oldest"] {
            let Ok(Asked::Oldest(read)) = parse_query(&format!("wait_s=25&limit=3&cursor=x{order}")) else {
                panic!("not the oldest first: {order}")
            };
            assert_eq!((read.wait.as_secs(), read.limit, read.cursor.as_deref()), (25, 3, Some("x")));
        }
        assert!(matches!(parse_query("order=newest&limit=3"), Ok(Asked::Newest { limit: 3 })));
        for (query, pointers) in [
            ("wait_s=26&limit=0&since=now", &["/wait_s", "/limit", "/since"][..]),
            ("order=last", &["/order"]),
            ("order=newest&cursor=x", &["/order"]),
            ("order=newest&wait_s=1", &["/order"]),
        ] {
            assert_eq!(parse_query(query).err().unwrap().pointers(), pointers, "{query}");
        }
    }

    #[test]
    fn either_a_time_or_events_are_sent_once_more() {
        let body = |since: Option<&str>, ids: Option<&str>| {
            chosen(ReplayBody { since: since.map(str::to_owned), event_ids: ids.map(|id| vec![id.to_owned()]) })
        };
        assert!(matches!(body(Some("2026-11-27T12:00:00Z"), None), Ok(Replay::Since(_))));
        assert!(matches!(body(None, Some("evt_1")), Ok(Replay::Events(ids)) if ids == ["evt_1"]));
        assert_eq!(body(Some("yesterday"), None).unwrap_err().pointers(), ["/since"]);
        assert_eq!(body(None, None).unwrap_err().pointers(), [""]);
        assert_eq!(body(Some("2026-11-27T12:00:00Z"), Some("evt_1")).unwrap_err().pointers(), [""]);
    }
}
