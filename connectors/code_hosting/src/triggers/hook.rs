//! The webhook of a repository. All types of events of a repository share it.

use std::collections::HashSet;

use connector_sdk::http::{self, Method};
use connector_sdk::triggers::{Recover, Renew, Subscribe, Subscription, Unsubscribe, Value};
use connector_sdk::{Document, Fault, Request, storage};
use serde::Serialize;

use crate::{CONNECTOR, github};

/// Maximum number of pages of webhooks that one call looks at.
const PAGES: usize = 5;

/// Maximum number of pages of failed deliveries that one call looks at. The newest deliveries are first.
const FAILED_PAGES: usize = 25;

/// Maximum number of deliveries that one call sends again, because the gateway allows 256 requests in an
/// invocation. The others follow in the next call.
const SENT_AGAIN: usize = 200;

/// Number of deliveries that are sent again at the same time.
const PARALLEL: usize = 16;

/// Maximum number of deliveries that are remembered: as many as [`FAILED_PAGES`] have. Their ids fit into a
/// stored value, which has at most 64 KiB.
const REMEMBERED: usize = 2500;

/// The time for which they are remembered. GitHub keeps deliveries for at most 30 days.
const REMEMBERED_SECONDS: u32 = 31 * 86_400;

#[derive(Serialize)]
struct Hook<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    active: bool,
    events: Vec<&'a str>,
    config: Config,
}

#[derive(Serialize)]
struct Config {
    url: &'static str,
    content_type: &'static str,
    secret: &'static str,
    insecure_ssl: &'static str,
}

/// Creates the webhook. GitHub refuses a second one with the same address, and has one if its answer to
/// an earlier call did not arrive.
pub(crate) fn create(input: Subscribe) -> Result<Subscription, Fault> {
    let request = hooks(Method::Post, &input.parameters)?.json(body(Some("web"), &input.kinds)?);
    let refusal = match github::send(request) {
        Ok(made) => {
            let id = github::id(&made.document()?);
            return id.map(Subscription::new).ok_or_else(|| github::not_understood("the webhook has no `id`"));
        }
        Err(refusal) => refusal,
    };
    if !matches!(&refusal, Fault::Upstream(refused) if refused.status == 422) {
        return Err(refusal);
    }
    let Some(upstream_id) = at_our_address(&input.parameters)? else { return Err(refusal) };
    update(Renew { upstream_id, state: None, parameters: input.parameters, kinds: input.kinds })
}

/// The id of the webhook with the gateway's address. The gateway masks the address in responses, so
/// the URL of this webhook has asterisks alone.
fn at_our_address(parameters: &Value) -> Result<Option<String>, Fault> {
    let mut path = hooks(Method::Get, parameters)?.query("per_page", github::MAX_PER_PAGE).path;
    for _ in 0..PAGES {
        let response = github::send(CONNECTOR.request(Method::Get, "api", path.as_str())?)?;
        for hook in response.document()?.items() {
            let url = hook.string("/config/url").unwrap_or_default();
            if !url.is_empty() && url.bytes().all(|byte| byte == b'*') {
                return Ok(github::id(&hook));
            }
        }
        match github::next_path(&path, &response) {
            Some(next) => path = next,
            None => break,
        }
    }
    Ok(None)
}

/// Changes the events of the webhook, and its address and secret.
pub(crate) fn update(input: Renew) -> Result<Subscription, Fault> {
    let request = hook(Method::Patch, &input.parameters, &input.upstream_id)?;
    github::send(request.json(body(None, &input.kinds)?))?;
    Ok(Subscription::new(input.upstream_id))
}

/// Deletes the webhook. One that is gone is no error.
pub(crate) fn delete(input: Unsubscribe) -> Result<(), Fault> {
    let response = http::send(hook(Method::Delete, &input.parameters, &input.upstream_id)?)?;
    if response.status() != 404 {
        response.successful()?;
    }
    Ok(())
}

/// Lets GitHub send failed deliveries again, which it does not do by itself. GitHub still lists a
/// delivery as failed after it was sent again, so each is sent again once. A repetition that fails
/// is another delivery.
pub(crate) fn redeliver(input: Recover) -> Result<(), Fault> {
    let key = format!("redelivered/{}", input.upstream_id);
    let mut done = remembered(&key);
    let due = failed(&input, &done)?;
    for part in due.chunks(PARALLEL) {
        let requests = part.iter().map(|id| {
            let mut request = deliveries(Method::Post, &input)?.segment("id", id)?;
            request.path.push_str("/attempts");
            Ok(request)
        });
        let requests = requests.collect::<Result<Vec<Request>, Fault>>()?;
        for (id, response) in part.iter().zip(http::send_all(requests)) {
            // GitHub no longer has a delivery that it does not find or cannot repeat.
            let response = response?;
            if !matches!(response.status(), 400 | 404 | 422) {
                response.successful()?;
            }
            done.push(id.clone());
        }
        remember(&key, &mut done)?;
    }
    Ok(())
}

/// The ids of failed deliveries that are not done. Of a delivery that was repeated, only the last one
/// counts.
fn failed(input: &Recover, done: &[String]) -> Result<Vec<String>, Fault> {
    let done: HashSet<&str> = done.iter().map(String::as_str).collect();
    let first = deliveries(Method::Get, input)?.query("status", "failure").query("per_page", github::MAX_PER_PAGE);
    let mut path = first.path;
    let mut seen = HashSet::new();
    let mut failed = Vec::new();
    for _ in 0..FAILED_PAGES {
        let response = github::send(CONNECTOR.request(Method::Get, "api", path.as_str())?)?;
        let page = response.document()?;
        for delivery in page.items() {
            let (Some(guid), Some(id)) = (delivery.string("/guid"), github::id(&delivery)) else { continue };
            if seen.insert(guid) && !is_delivered(&delivery) && !done.contains(id.as_str()) {
                failed.push(id);
            }
        }
        match github::next_path(&path, &response) {
            Some(next) if failed.len() < SENT_AGAIN => path = next,
            _ => break,
        }
    }
    failed.truncate(SENT_AGAIN);
    Ok(failed)
}

fn is_delivered(delivery: &Document) -> bool {
    let status = delivery.pointer("/status_code").and_then(|status| status.text().parse::<u16>().ok());
    status.is_some_and(|status| (200..300).contains(&status))
}

fn remembered(key: &str) -> Vec<String> {
    let stored = storage::get(key).ok().flatten();
    stored.and_then(|ids| serde_json::from_slice(&ids).ok()).unwrap_or_default()
}

fn remember(key: &str, done: &mut Vec<String>) -> Result<(), Fault> {
    done.drain(..done.len().saturating_sub(REMEMBERED));
    let ids = serde_json::to_vec(done).map_err(|error| Fault::Failed(error.to_string()))?;
    Ok(storage::set(key, &ids, Some(REMEMBERED_SECONDS))?)
}

/// The body of a webhook with the events of these kinds. The gateway puts address and secret in.
fn body(name: Option<&str>, kinds: &[String]) -> Result<String, Fault> {
    let mut events: Vec<&str> =
        kinds.iter().map(|kind| kind.split_once('/').map_or(kind.as_str(), |(event, _)| event)).collect();
    events.sort_unstable();
    events.dedup();
    let config = Config { url: "{{hook.url}}", content_type: "json", secret: "{{hook.secret}}", insecure_ssl: "0" };
    let hook = Hook { name, active: true, events, config };
    serde_json::to_string(&hook).map_err(|error| Fault::Failed(error.to_string()))
}

fn hooks(method: Method, parameters: &Value) -> Result<Request, Fault> {
    let mut request = super::of_repository(method, parameters)?;
    request.path.push_str("/hooks");
    Ok(request)
}

fn hook(method: Method, parameters: &Value, id: &str) -> Result<Request, Fault> {
    hooks(method, parameters)?.segment("upstream_id", id)
}

fn deliveries(method: Method, input: &Recover) -> Result<Request, Fault> {
    let mut request = hook(method, &input.parameters, &input.upstream_id)?;
    request.path.push_str("/deliveries");
    Ok(request)
}
