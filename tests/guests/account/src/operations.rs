//! The operations, which call the service as the user.

use serde_json::{Map, Value, json};

use crate::bindings::gateway::connector::http::{self, Body, Error, Method, Request, Response, Target};
use crate::bindings::gateway::connector::manifest::Effect;
use crate::bindings::gateway::connector::outcome::{Content, Fault, File, Outcome, UpstreamFault};
use crate::bindings::gateway::connector::signed_links::{self, LinkRequest};
use crate::bindings::gateway::connector::upstream_additions::declare_site;
use crate::bindings::gateway::connector::{auth_additions, log, progress, storage};
use crate::text;

type Answer = Result<Outcome, Fault>;

/// An operation.
pub(crate) struct Row {
    pub(crate) path: &'static str,
    pub(crate) immediate: bool,
    pub(crate) background: bool,
    pub(crate) effect: Effect,
    pub(crate) run: fn(&Value) -> Answer,
}

const fn row(path: &'static str, immediate: bool, run: fn(&Value) -> Answer) -> Row {
    Row { path, immediate, background: false, effect: Effect::Read, run }
}

const fn job(path: &'static str, effect: Effect, run: fn(&Value) -> Answer) -> Row {
    Row { path, immediate: false, background: true, effect, run }
}

pub(crate) const ALL: &[Row] = &[
    row("whoami", false, whoami),
    row("forward", true, forward),
    Row { effect: Effect::Destructive, ..row("erase", true, forward) },
    row("composed", false, composed),
    row("follow", false, follow),
    row("forward_link", false, forward_link),
    row("fan_out", false, fan_out),
    row("memory", false, memory),
    row("refused", true, refused),
    Row { effect: Effect::Write, ..row("refused_later", false, refused_later) },
    row("remember", false, remember),
    row("log", false, log_answer),
    row("declare", false, declare),
    row("signed_link", true, signed_link),
    row("declare_site", false, declare_a_site),
    job("collect", Effect::Read, collect),
    job("change", Effect::Write, collect),
    job("limited", Effect::Read, collect),
    job("fetch", Effect::Read, forward),
    job("burn", Effect::Read, burn),
];

/// Members of the input of all operations. The functions below say which they use.
const MEMBERS: &[&str] = &[
    "upstream",
    "path",
    "method",
    "body",
    "form",
    "credential",
    "header",
    "pointer",
    "through",
    "link_method",
    "link_body",
    "count",
    "status",
    "value",
];

/// `memory` changes each byte by this value, so that the gateway's masking does not find
/// credentials in the answer.
const VEIL: u8 = 0x5a;

/// Size of a page of linear memory.
#[cfg(target_arch = "wasm32")]
const PAGE_BYTES: usize = 64 << 10;

/// The JSON Schema of the input of an operation.
pub(crate) fn input_schema(row: &Row) -> String {
    let mut properties: Map<String, Value> = MEMBERS.iter().map(|name| ((*name).to_owned(), json!(true))).collect();
    if row.background {
        properties.insert("waiting".to_owned(), json!({"type": ["boolean", "null"]}));
        properties.insert("callback_urls".to_owned(), json!({"type": ["array", "null"], "items": {"type": "string"}}));
    }
    properties.insert("file".to_owned(), json!({"type": "string", "contentEncoding": "base64"}));
    json!({"type": "object", "additionalProperties": false, "properties": properties}).to_string()
}

/// Answers with the service's document about the user.
fn whoami(_: &Value) -> Answer {
    let response = http::send(request(&json!({"path": "/me"}))).map_err(Fault::Http)?;
    if response.status() != 200 {
        let detail = "The service does not say who this is.".to_owned();
        let fault = UpstreamFault { status: response.status(), detail, body: None, retry_after_seconds: None };
        return Err(Fault::Upstream(fault));
    }
    Ok(Outcome::ReplyDocument(response.document().map_err(Fault::Http)?))
}

/// Forwards the request that the input describes.
fn forward(input: &Value) -> Answer {
    Ok(Outcome::Forward(request(input)))
}

/// Sends the request that the input describes, and answers with everything that it can read of the
/// response.
fn composed(input: &Value) -> Answer {
    let response = http::send(request(input)).map_err(Fault::Http)?;
    reply(&seen(&response))
}

/// Follows the link in the response to a request, and answers with everything that it can read of
/// the second response.
fn follow(input: &Value) -> Answer {
    let response = http::send(link_request(input)?).map_err(Fault::Http)?;
    reply(&seen(&response))
}

/// Forwards the request that follows the link in the response to a request.
fn forward_link(input: &Value) -> Answer {
    link_request(input).map(Outcome::Forward)
}

/// Sends the request that the input describes and takes a link from the response: from the header
/// `header`, or from the JSON Pointer `pointer`. The request to the link has the method
/// `link_method` and the JSON text `link_body`, and names the upstream `through`, or the same one.
fn link_request(input: &Value) -> Result<Request, Fault> {
    let response = http::send(request(input)).map_err(Fault::Http)?;
    let link = match input["header"].as_str() {
        Some(header) => response.header_link(header),
        None => response.body_link(text(input, "pointer")),
    };
    let absent = Error::BadAnswer("the response has no link".to_owned());
    let target = Target::Link(link.and_then(|link| link.ok_or(absent)).map_err(Fault::Http)?);
    let upstream = input["through"].as_str().unwrap_or_else(|| upstream(input)).to_owned();
    let body = input["link_body"].as_str().map(|json| Body::Json(json.to_owned()));
    Ok(Request { method: method(text(input, "link_method")), upstream, target, body, ..request(input) })
}

/// Sends the request that the input describes `count` times in parallel.
fn fan_out(input: &Value) -> Answer {
    let count = input["count"].as_u64().unwrap_or(2);
    let requests: Vec<Request> = (0..count).map(|_| request(input)).collect();
    let statuses =
        http::send_all(requests).into_iter().map(|answer| answer.map(|response| response.status()).unwrap_or_default());
    reply(&json!({"statuses": statuses.collect::<Vec<u16>>()}))
}

/// Reads the response in every form, and then answers with its whole memory, veiled.
fn memory(input: &Value) -> Answer {
    let response = http::send(request(input)).map_err(Fault::Http)?;
    let document = response.document().map(|document| document.text()).unwrap_or_default();
    let held = (seen(&response).to_string(), document, response.bytes(), response.peek(4096));
    let bytes = whole_memory().map(|byte| byte ^ VEIL).collect();
    // Keeps the values in the memory until it has been read.
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

/// All bytes of the linear memory, in their order.
#[expect(
    unsafe_code,
    reason = "only raw reads can see memory without values; every address below the size is readable"
)]
fn whole_memory() -> impl Iterator<Item = u8> {
    // Native builds exist for the lints only.
    #[cfg(not(target_arch = "wasm32"))]
    let size = 0;
    #[cfg(target_arch = "wasm32")]
    let size = core::arch::wasm32::memory_size(0) * PAGE_BYTES;
    // Address 0 is skipped: a null pointer cannot be read, and Rust stores no value there.
    (1..size).map(|address| unsafe { std::ptr::with_exposed_provenance::<u8>(address).read_volatile() })
}

/// Answers like a connector whose service reports an invalid token in another way than by its
/// status.
fn refused(input: &Value) -> Answer {
    let status = input["status"].as_u64().and_then(|status| status.try_into().ok()).unwrap_or(401);
    let detail = "The service says that the token is no longer valid.".to_owned();
    Err(Fault::Upstream(UpstreamFault { status, detail, body: None, retry_after_seconds: None }))
}

/// Sends the request that the input describes `count` times, one after the other. Then answers as
/// [`refused`] does.
fn refused_later(input: &Value) -> Answer {
    for _ in 0..input["count"].as_u64().unwrap_or(2) {
        http::send(request(input)).map_err(Fault::Http)?;
    }
    refused(input)
}

/// Stores `value`, if the input has it, and answers with the value that was stored before.
fn remember(input: &Value) -> Answer {
    let failed = |error| Fault::Failed(format!("{error:?}"));
    let before = storage::get("value").map_err(failed)?.map(|value| String::from_utf8_lossy(&value).into_owned());
    if let Some(value) = input["value"].as_str() {
        storage::set("value", value.as_bytes(), None).map_err(failed)?;
    }
    reply(&json!({"before": before}))
}

/// Declares a site in `invoke`, which ends it.
fn declare_a_site(_: &Value) -> Answer {
    declare_site("api", "acme.example");
    reply(&json!({}))
}

/// Writes everything that it can read of a response to the operator's log.
fn log_answer(input: &Value) -> Answer {
    let response = http::send(request(input)).map_err(Fault::Http)?;
    log::write(log::Level::Warn, &seen(&response).to_string());
    reply(&json!({}))
}

/// Sends the request that the input describes `count` times, one after the other, and reports the
/// progress before each. Answers with the number of requests and the last text.
fn collect(input: &Value) -> Answer {
    let count = input["count"].as_u64().unwrap_or(1);
    let mut last = String::new();
    for number in 0..count {
        progress::report(number as f64 / count as f64, &format!("{number} of {count}"));
        last = http::send(request(input)).map_err(Fault::Http)?.text().map_err(Fault::Http)?;
    }
    reply(&json!({"count": count, "last": last, "input": input}))
}

/// Answers with a signed link to `path`, for GET and `count` seconds.
fn signed_link(input: &Value) -> Answer {
    let seconds = input["count"].as_u64().and_then(|count| count.try_into().ok()).unwrap_or(60);
    let request = LinkRequest {
        method: method(text(input, "method")),
        upstream: upstream(input).to_owned(),
        path: text(input, "path").to_owned(),
        seconds,
    };
    let link = signed_links::make(&request).map_err(Fault::Http)?;
    reply(&json!({"link": link}))
}

/// Declares a way to authorize, which only `describe` may do.
fn declare(_: &Value) -> Answer {
    auth_additions::client_credentials();
    Err(Fault::Failed("the declaration was accepted".to_owned()))
}

/// Computes until the gateway ends it.
fn burn(_: &Value) -> Answer {
    let mut number = 0_u64;
    loop {
        number = std::hint::black_box(number.wrapping_add(1));
    }
}

fn seen(response: &Response) -> Value {
    let headers = ["x-echo", "x-request-token", "content-type"].map(|name| json!([name, response.header(name)]));
    json!({"status": response.status(), "headers": headers, "text": response.text().unwrap_or_default()})
}

/// The request that the input describes: `upstream` (default `api`), `path`, `method` (default
/// GET), and `body` (JSON text) or `form` (a list of pairs). `"credential": "omitted"` leaves out
/// the credential.
fn request(input: &Value) -> Request {
    let json = input["body"].as_str().map(|json| Body::Json(json.to_owned()));
    let file = input["file"].as_str().map(|file| Body::Json(json!({"file": file}).to_string()));
    let form = input["form"].as_array().map(|_| Body::Form(crate::scheme::pairs(&input["form"])));
    Request {
        method: method(text(input, "method")),
        upstream: upstream(input).to_owned(),
        target: Target::Path(text(input, "path").to_owned()),
        headers: Vec::new(),
        body: json.or(form).or(file),
        omit_credential: text(input, "credential") == "omitted",
    }
}

fn upstream(input: &Value) -> &str {
    input["upstream"].as_str().unwrap_or("api")
}

fn method(name: &str) -> Method {
    match name {
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        _ => Method::Get,
    }
}

fn reply(document: &Value) -> Answer {
    Ok(Outcome::Reply(document.to_string()))
}
