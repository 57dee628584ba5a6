//! The command `triggers listen`: pulls the events of a trigger, and posts each to a URL on this
//! machine, as its webhooks would be. The signature is one of a secret that the command makes.

use std::slice;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use authoring::gateway::{RunningGateway, client_for};
use authoring::output::{print, remark};
use connector_gateway::{SigningSecret, signatures};
use reqwest::Client;
use serde_json::Value;
use tokio::time::sleep;
use url::Url;

use super::arguments::ListenArguments;
use super::error::OperatorError;

/// The longest time that one request waits for an event, in seconds.
const WAIT_S: &str = "25";

/// Time between two attempts while the gateway does not answer.
const PAUSE: Duration = Duration::from_secs(2);

/// Runs the command. It ends when the process does.
///
/// # Errors
/// If the gateway refuses. A gateway that does not answer is asked again.
pub(super) async fn listen(arguments: &ListenArguments) -> Result<(), OperatorError> {
    let ListenArguments { id, forward, all, gateway } = arguments;
    let gateway = RunningGateway::at(gateway)?;
    let receiver = Receiver::new(forward)?;
    let mut cursor = if *all { None } else { Some(end(&gateway, id).await?) };
    remark(format_args!(
        "Events of {id} go to {forward}. Their signatures are of this secret, which this command has made:"
    ));
    print(receiver.secret.to_text().shown())?;
    loop {
        let page = match page(&gateway, id, cursor.as_deref(), WAIT_S).await {
            Err(OperatorError::Gateway(error)) if error.is_unreachable() => {
                remark(format_args!("{error}"));
                sleep(PAUSE).await;
                continue;
            }
            page => page?,
        };
        if page["truncated"] == true {
            remark("Some events are no longer kept, and were left out.");
        }
        for event in page["events"].as_array().into_iter().flatten() {
            receiver.forward(event).await?;
        }
        cursor = page["next_cursor"].as_str().map(str::to_owned);
    }
}

/// The cursor after the last event.
async fn end(gateway: &RunningGateway, id: &str) -> Result<String, OperatorError> {
    let mut cursor = None;
    loop {
        let page = page(gateway, id, cursor.as_deref(), "0").await?;
        let next = page["next_cursor"].as_str().unwrap_or_default().to_owned();
        if page["events"].as_array().is_none_or(Vec::is_empty) {
            return Ok(next);
        }
        cursor = Some(next);
    }
}

async fn page(gateway: &RunningGateway, id: &str, cursor: Option<&str>, wait_s: &str) -> Result<Value, OperatorError> {
    let mut query = vec![("limit", "200"), ("wait_s", wait_s)];
    query.extend(cursor.map(|cursor| ("cursor", cursor)));
    Ok(gateway.get(&["triggers", id, "events"], &query).await?)
}

/// The program that gets the events.
struct Receiver {
    url: Url,
    client: Client,
    secret: SigningSecret,
}

impl Receiver {
    fn new(url: &Url) -> Result<Self, OperatorError> {
        let failed = |error: &dyn std::error::Error| OperatorError::Forward(error.to_string());
        let client = client_for(url, None).map_err(|error| failed(&error))?;
        let secret = SigningSecret::random().map_err(|error| failed(&error))?;
        Ok(Self { url: url.clone(), client, secret })
    }

    /// Posts an event, and prints what became of it. An event is posted once.
    async fn forward(&self, event: &Value) -> Result<(), OperatorError> {
        let id = event["event"]["id"].as_str().unwrap_or_default();
        let kind = event["type"].as_str().unwrap_or_default();
        let body = event.to_string();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let request = self
            .client
            .post(self.url.clone())
            .header("content-type", "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", now)
            .header("webhook-signature", signatures(slice::from_ref(&self.secret), id, now, body.as_bytes()))
            .body(body);
        let outcome = match request.send().await {
            Ok(response) => response.status().as_u16().to_string(),
            Err(error) => format!("not delivered: {}", error.without_url()),
        };
        Ok(print(format_args!("{id}  {kind}  {outcome}"))?)
    }
}
