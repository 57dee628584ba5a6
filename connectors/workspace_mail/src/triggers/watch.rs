//! Lets Gmail notify the gateway. A mailbox has one watch for the whole application, so that each
//! subscription of the account is noted, and the watch ends with the last one.

use connector_sdk::input::FromJson;
use connector_sdk::json::{members, quoted};
use connector_sdk::triggers::{Renew, Subscribe, Subscription, Unsubscribe};
use connector_sdk::{Fault, Request, clock, http, random, storage};

use crate::settings;

/// The key of the subscriptions of the account, in the storage.
const NOTED: &str = "watch";

/// The time after which a subscription that was not renewed no longer counts. Subscriptions are
/// renewed daily.
const FORGOTTEN_MS: u64 = 3 * 86_400_000;

/// The subscriptions of the account, each with the time at which it was last renewed.
struct Noted(Vec<(String, u64)>);

/// Begins a watch.
pub(crate) fn begin(_: Subscribe) -> Result<Subscription, Fault> {
    watch(random::uuid())
}

/// Begins a watch again, which Google asks for daily.
pub(crate) fn renew(input: Renew) -> Result<Subscription, Fault> {
    watch(input.upstream_id)
}

/// Ends the watch, unless another subscription of the account needs it.
pub(crate) fn end(input: Unsubscribe) -> Result<(), Fault> {
    let mut noted = Noted::load()?;
    noted.0.retain(|(id, _)| *id != input.upstream_id);
    if noted.0.is_empty() {
        http::send(Request::post("api", "/users/me/stop"))?.successful()?;
    }
    noted.store()
}

fn watch(id: String) -> Result<Subscription, Fault> {
    let Some(topic) = settings::pubsub_topic()? else {
        let detail = "The operator has not set `pubsub_topic`, the topic to which Gmail publishes.";
        return Err(Fault::Failed(detail.to_owned()));
    };
    let body = format!(r#"{{"topicName":{}}}"#, quoted(&topic));
    http::send(Request::post("api", "/users/me/watch").json(body))?.successful()?;
    let mut noted = Noted::load()?;
    noted.0.retain(|(known, _)| *known != id);
    noted.0.push((id.clone(), clock::now()));
    noted.store()?;
    Ok(Subscription::new(id))
}

impl Noted {
    fn load() -> Result<Self, Fault> {
        let stored = storage::get(NOTED)?.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
        let stored = members(&stored).unwrap_or_default();
        let times = stored.into_iter().filter_map(|(id, time)| {
            let time = u64::try_from(i64::from_json(time)?).ok()?;
            (time.saturating_add(FORGOTTEN_MS) > clock::now()).then(|| (id.into_owned(), time))
        });
        Ok(Self(times.collect()))
    }

    fn store(&self) -> Result<(), Fault> {
        if self.0.is_empty() {
            return Ok(storage::delete(NOTED)?);
        }
        let members: Vec<String> = self.0.iter().map(|(id, time)| format!("{}:{time}", quoted(id))).collect();
        Ok(storage::set(NOTED, format!("{{{}}}", members.join(",")).as_bytes(), None)?)
    }
}
