//! The messages of a channel.

use connector_microsoft::delta::Delta;
use connector_microsoft::subscription;
use connector_sdk::triggers::{Events, Read, Subscribe, Subscription, Value};
use connector_sdk::{Fault, Request};

/// Subscribes to the messages of a channel.
pub(crate) fn subscribe(input: Subscribe) -> Result<Subscription, Fault> {
    let (team, channel) = ids(&input.parameters)?;
    subscription::subscribe(&format!("teams/{team}/channels/{channel}/messages"), "created", super::MINUTES)
}

/// Reads the messages that were written in a channel since the cursor.
pub(crate) fn read(input: Read) -> Result<Events, Fault> {
    let (team, channel) = ids(&input.parameters)?;
    let mut request = Request::get("graph", "/teams").segment("parameters/team_id", &team)?;
    request.path.push_str("/channels");
    let path = request.segment("parameters/channel_id", &channel)?.path + "/messages/delta";
    Delta { path: &path, first: "$top=50", made: Some("/createdDateTime") }.read(&input, super::message)
}

fn ids(parameters: &Value) -> Result<(String, String), Fault> {
    Ok((parameters.required("team_id")?, parameters.required("channel_id")?))
}
