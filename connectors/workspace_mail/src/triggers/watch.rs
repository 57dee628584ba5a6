//! Lets Gmail notify the gateway. A mailbox has one watch for the whole application, whichever account,
//! user or tenant has asked for it, and `stop` ends it for all of them. So all subscriptions have one id:
//! the gateway knows from it that they are one at Gmail, and calls [`end`] only for the last trigger of
//! a mailbox. A watch that no one renews ends by itself after seven days.

use connector_sdk::json::quoted;
use connector_sdk::triggers::{Renew, Subscribe, Subscription, Unsubscribe};
use connector_sdk::{Fault, Request, http};

use crate::settings;

/// The id of the watch of a mailbox.
const WATCH: &str = "watch";

/// Begins a watch.
pub(crate) fn begin(_: Subscribe) -> Result<Subscription, Fault> {
    watch()
}

/// Begins a watch again, which Google asks for daily.
pub(crate) fn renew(_: Renew) -> Result<Subscription, Fault> {
    watch()
}

/// Ends the watch. A subscription of an earlier version has another id, and does not know who else
/// needs the watch, which ends by itself when nobody renews it.
pub(crate) fn end(input: Unsubscribe) -> Result<(), Fault> {
    if input.upstream_id != WATCH {
        return Ok(());
    }
    http::send(Request::post("api", "/users/me/stop"))?.successful()?;
    Ok(())
}

fn watch() -> Result<Subscription, Fault> {
    let Some(topic) = settings::pubsub_topic()? else {
        let detail = "The operator has not set `pubsub_topic`, the topic to which Gmail publishes.";
        return Err(Fault::Failed(detail.to_owned()));
    };
    let body = format!(r#"{{"topicName":{}}}"#, quoted(&topic));
    http::send(Request::post("api", "/users/me/watch").json(body))?.successful()?;
    Ok(Subscription::new(WATCH))
}
