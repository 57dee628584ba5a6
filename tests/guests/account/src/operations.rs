//! What the connector does as the user.

use serde_json::{Value, json};

use crate::bindings::gateway::connector::http::{self, Body, Credential, Method, Request, Response};
use crate::bindings::gateway::connector::outcome::{Content, Fault, File, Outcome, UpstreamFault};
use crate::bindings::gateway::connector::{log, storage};
use crate::text;

type Answer = Result<Outcome, Fault>;

/// Path, whether the manifest calls it immediate, and what it does.
pub(crate) type Row = (&'static str, bool, fn(&Value) -> Answer);

pub(crate) const ALL: &[Row] = &[
    ("whoami", false, whoami),
    ("forward", true, forward),
    ("composed", false, composed),
    ("fan_out", false, fan_out),
    ("memory", false, memory),
    ("refused", true, refused),
    ("remember", false, remember),
    ("log", false, log_answer),
];

/// Every byte is changed by this, so that what the gateway may look for in answers is not there to be found.
const VEIL: u8 = 0x5a;

/// A page of linear memory.
#[cfg(target_arch = "wasm32")]
const PAGE_BYTES: usize = 64 << 10;

/// Who the service says the user is.
fn whoami(_: &Value) -> Answer {
    let response = http::send(&request(&json!({"path": "/me"}))).map_err(Fault::Http)?;
    if response.status() != 200 {
        let detail = "The service does not say who this is.".to_owned();
        let fault = UpstreamFault { status: response.status(), detail, body: None, retry_after_seconds: None };
        return Err(Fault::Upstream(fault));
    }
    Ok(Outcome::ReplyDocument(response.document().map_err(Fault::Http)?))
}

/// Has the gateway send the request that the input describes.
fn forward(input: &Value) -> Answer {
    Ok(Outcome::Forward(request(input)))
}

/// Sends the request that the input describes and tells everything it can see of the answer.
fn composed(input: &Value) -> Answer {
    let response = http::send(&request(input)).map_err(Fault::Http)?;
    reply(&seen(&response))
}

/// Sends that request as often as the input says, all at once.
fn fan_out(input: &Value) -> Answer {
    let count = input["count"].as_u64().unwrap_or(2);
    let requests: Vec<Request> = (0..count).map(|_| request(input)).collect();
    let statuses = http::send_all(&requests)
        .into_iter()
        .map(|answer| answer.map(|response| response.status()).unwrap_or_default());
    reply(&json!({"statuses": statuses.collect::<Vec<u16>>()}))
}

/// Reads all it can of an answer, and then hands out its whole memory, veiled.
fn memory(input: &Value) -> Answer {
    let response = http::send(&request(input)).map_err(Fault::Http)?;
    let document = response.document().map(|document| document.text()).unwrap_or_default();
    let held = (seen(&response).to_string(), document, response.bytes(), response.peek(4096));
    let bytes = whole_memory().map(|byte| byte ^ VEIL).collect();
    // Until here, so that nothing of it was given back before.
    std::hint::black_box(&held);
    Ok(Outcome::ReplyFile(File {
        content: Content::Bytes(bytes),
        file_name: "memory".to_owned(),
        content_type: "application/octet-stream".to_owned(),
        members: String::new(),
        digest: false,
        max_bytes: 0,
    }))
}

/// Every byte of the linear memory, in order.
#[expect(
    unsafe_code,
    reason = "nothing else reads memory that holds no value; every address below its size can be read"
)]
fn whole_memory() -> impl Iterator<Item = u8> {
    // Elsewhere only the lints read this.
    #[cfg(not(target_arch = "wasm32"))]
    let size = 0;
    #[cfg(target_arch = "wasm32")]
    let size = core::arch::wasm32::memory_size(0) * PAGE_BYTES;
    // Address 0 is no place for a Rust value, and its byte is nobody's.
    (1..size).map(|address| unsafe { std::ptr::with_exposed_provenance::<u8>(address).read_volatile() })
}

/// What a connector says whose service answers such things otherwise than by its status.
fn refused(input: &Value) -> Answer {
    let status = input["status"].as_u64().and_then(|status| status.try_into().ok()).unwrap_or(401);
    let detail = "The service says that the token is no longer good.".to_owned();
    Err(Fault::Upstream(UpstreamFault { status, detail, body: None, retry_after_seconds: None }))
}

/// Keeps `value`, if there is one, and tells what was kept before.
fn remember(input: &Value) -> Answer {
    let kept = |error| Fault::Failed(format!("{error:?}"));
    let before = storage::get("value").map_err(kept)?.map(|value| String::from_utf8_lossy(&value).into_owned());
    if let Some(value) = input["value"].as_str() {
        storage::set("value", value.as_bytes(), None).map_err(kept)?;
    }
    reply(&json!({"before": before}))
}

/// Writes all it sees of an answer to the operator's log.
fn log_answer(input: &Value) -> Answer {
    let response = http::send(&request(input)).map_err(Fault::Http)?;
    log::write(log::Level::Warn, &seen(&response).to_string());
    reply(&json!({}))
}

fn seen(response: &Response) -> Value {
    let headers = ["x-echo", "x-request-token", "content-type"].map(|name| json!([name, response.header(name)]));
    json!({"status": response.status(), "headers": headers, "text": response.text().unwrap_or_default()})
}

fn request(input: &Value) -> Request {
    Request {
        method: match text(input, "method") {
            "POST" => Method::Post,
            "PUT" => Method::Put,
            "DELETE" => Method::Delete,
            _ => Method::Get,
        },
        upstream: input["upstream"].as_str().unwrap_or("api").to_owned(),
        path: text(input, "path").to_owned(),
        headers: Vec::new(),
        body: input["body"].as_str().map(|json| Body::Json(json.to_owned())),
        credential: match text(input, "credential") {
            "" => Credential::Standard,
            "omitted" => Credential::Omitted,
            name => Credential::FormField(name.to_owned()),
        },
    }
}

fn reply(document: &Value) -> Answer {
    Ok(Outcome::Reply(document.to_string()))
}
