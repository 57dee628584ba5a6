//! Sends requests that the test describes, and returns the result.

use serde_json::{Value, json};

use crate::bindings::gateway::connector::http::{self, Body, Error, Method, Request, Response, Target, TypedBytes};
use crate::bindings::gateway::connector::multipart::{self, Content, Part};
use crate::bindings::gateway::connector::outcome::{Fault, Outcome, UpstreamFault};
use crate::{Answer, reply, text};

/// Sends the request that the input describes, and replies with the response or the error. With
/// `as_fault` the error is the fault of the operation.
pub(crate) fn call(input: &Value) -> Answer {
    result(input, http::send(request(input)))
}

/// Sends the request that the input describes, follows a link in the response, and replies like
/// [`call`]. The link is in the header `header`, or at the JSON Pointer `pointer` of the body. The
/// request to the link names the upstream `through`, or the same upstream.
pub(crate) fn follow(input: &Value) -> Answer {
    result(input, link_request(input).and_then(http::send))
}

/// Forwards a request to the link that [`follow`] describes.
pub(crate) fn forward_link(input: &Value) -> Answer {
    link_request(input).map(Outcome::Forward).map_err(Fault::Http)
}

fn link_request(input: &Value) -> Result<Request, Error> {
    let response = http::send(request(input))?;
    let link = match input["header"].as_str() {
        Some(header) => response.header_link(header)?,
        None => response.body_link(text(input, "pointer"))?,
    };
    let upstream = input["through"].as_str().unwrap_or_else(|| upstream(input)).to_owned();
    Ok(Request {
        method: Method::Get,
        upstream,
        target: Target::Link(link.ok_or_else(|| Error::BadAnswer("the response has no link".to_owned()))?),
        headers: Vec::new(),
        body: None,
        omit_credential: false,
    })
}

fn result(input: &Value, result: Result<Response, Error>) -> Answer {
    match result {
        Ok(response) => reply(&json!({
            "status": response.status(),
            "headers": response.header(text(input, "header")),
            "text": response.text().unwrap_or_else(|error| named(&error).0.to_owned()),
        })),
        Err(error) if input["as_fault"] == true => Err(Fault::Http(error)),
        Err(error) => {
            let (name, detail) = named(&error);
            reply(&json!({"error": name, "detail": detail}))
        }
    }
}

/// Forwards the request that the input describes.
pub(crate) fn forward(input: &Value) -> Answer {
    Ok(Outcome::Forward(request(input)))
}

/// Builds a form of the list `parts`, and forwards it to `path`. Replies with a part that is
/// refused. A part is `[name, file name, media type, base64]`, in which all but the name may be
/// null; without base64 its content is `text`.
pub(crate) fn form(input: &Value) -> Answer {
    let optional = |value: &Value| value.as_str().map(str::to_owned);
    let part = |part: &Value| Part {
        name: optional(&part[0]).unwrap_or_default(),
        file_name: optional(&part[1]),
        content_type: optional(&part[2]),
        content: match optional(&part[3]) {
            Some(base64) => Content::Base64(base64),
            None => Content::Text(text(input, "text").to_owned()),
        },
    };
    let parts: Vec<Part> = input["parts"].as_array().into_iter().flatten().map(part).collect();
    match multipart::build(&parts) {
        Ok(content_type) => {
            let body = Some(Body::Bytes(TypedBytes { content_type, bytes: Vec::new() }));
            Ok(Outcome::Forward(Request { method: Method::Post, body, ..request(input) }))
        }
        Err(broken) => reply(&json!({"index": broken.index, "detail": broken.detail})),
    }
}

/// Sends the requests that the list `items` describes, one after the other. Passes on the first
/// error, the first response with a status of an error, and the first response that refuses in its
/// body: `{"ok": false, "code": 403}`.
pub(crate) fn send_steps(input: &Value) -> Answer {
    for step in input["items"].as_array().into_iter().flatten() {
        let response = http::send(request(step)).map_err(Fault::Http)?;
        let body = response.text().map_err(Fault::Http)?;
        let said: Value = serde_json::from_str(&body).unwrap_or_default();
        let status = match said["ok"] == false {
            true => said["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(400),
            false => response.status(),
        };
        if status >= 400 {
            return Err(Fault::Upstream(UpstreamFault {
                status,
                detail: "The service refused a step.".to_owned(),
                body: Some(body),
                retry_after_seconds: None,
            }));
        }
    }
    reply(&json!({"done": true}))
}

/// Sends `count` requests, one after the other.
pub(crate) fn many_requests(input: &Value) -> Answer {
    let results = (0..input["count"].as_u64().unwrap_or_default()).map(|_| http::send(request(input)));
    reply(&counted(results))
}

/// Sends `count` requests in parallel.
pub(crate) fn many_in_parallel(input: &Value) -> Answer {
    let requests: Vec<Request> = (0..input["count"].as_u64().unwrap_or_default()).map(|_| request(input)).collect();
    reply(&counted(http::send_all(requests).into_iter()))
}

/// Sends the request `count` times and keeps the responses unread. Then sends a request to the path
/// `text`, if there is one, while it keeps them. Replies with the results of the requests, and with
/// the last error.
pub(crate) fn hoard_responses(input: &Value) -> Answer {
    let count = input["count"].as_u64().unwrap_or_default();
    let kept: Vec<_> = (0..count).map(|_| http::send(request(input))).collect();
    if let Some(path) = input["text"].as_str() {
        drop(http::send(Request { target: Target::Path(path.to_owned()), ..request(input) }));
    }
    let detail = kept.iter().rev().find_map(|result| result.as_ref().err().map(|error| named(error).1));
    reply(&json!({"results": counted(kept.into_iter()), "detail": detail}))
}

fn counted(results: impl Iterator<Item = Result<Response, Error>>) -> Value {
    let mut counts = serde_json::Map::new();
    for result in results {
        let name = match result {
            Ok(response) => response.status().to_string(),
            Err(error) => named(&error).0.to_owned(),
        };
        let count = counts.get(&name).and_then(Value::as_u64).unwrap_or_default();
        counts.insert(name, json!(count + 1));
    }
    Value::Object(counts)
}

/// Reads a whole body in the form `form`: `document`, `text`, or any other text for bytes.
pub(crate) fn read_body(input: &Value) -> Answer {
    let response = http::send(request(input)).map_err(Fault::Http)?;
    let first = response.peek(4).map_err(Fault::Http)?;
    match text(input, "form") {
        "document" => Ok(Outcome::ReplyDocument(response.document().map_err(Fault::Http)?)),
        "text" => reply(&json!({"text": response.text().map_err(Fault::Http)?})),
        _ => {
            let size = response.bytes().map_err(Fault::Http)?.len();
            reply(&json!({"size": size, "first": first}))
        }
    }
}

/// The request that the input describes: `upstream` (default `api`), `path`, `method` (default
/// GET), `headers` (a list of pairs) and `body`. The body is `{"json": text}`, `{"form": pairs}` or
/// `{"content_type", "bytes"}`.
pub(crate) fn request(input: &Value) -> Request {
    Request {
        method: match text(input, "method") {
            "HEAD" => Method::Head,
            "POST" => Method::Post,
            "PUT" => Method::Put,
            "PATCH" => Method::Patch,
            "DELETE" => Method::Delete,
            _ => Method::Get,
        },
        upstream: upstream(input).to_owned(),
        target: Target::Path(text(input, "path").to_owned()),
        headers: pairs(&input["headers"]),
        body: body(&input["body"]),
        omit_credential: false,
    }
}

fn upstream(input: &Value) -> &str {
    input["upstream"].as_str().unwrap_or("api")
}

fn body(input: &Value) -> Option<Body> {
    if let Some(json) = input["json"].as_str() {
        return Some(Body::Json(json.to_owned()));
    }
    if let Some(content_type) = input["content_type"].as_str() {
        let bytes = text(input, "bytes").as_bytes().to_vec();
        return Some(Body::Bytes(TypedBytes { content_type: content_type.to_owned(), bytes }));
    }
    input["form"].is_array().then(|| Body::Form(pairs(&input["form"])))
}

fn pairs(list: &Value) -> Vec<(String, String)> {
    let pair = |pair: &Value| {
        (pair[0].as_str().unwrap_or_default().to_owned(), pair[1].as_str().unwrap_or_default().to_owned())
    };
    list.as_array().map(|list| list.iter().map(pair).collect()).unwrap_or_default()
}

fn named(error: &Error) -> (&'static str, String) {
    match error {
        Error::InvalidRequest(detail) => ("invalid-request", detail.clone()),
        Error::Denied(detail) => ("denied", detail.clone()),
        Error::Unreachable(detail) => ("unreachable", detail.clone()),
        Error::TimedOut => ("timed-out", String::new()),
        Error::RateLimited(seconds) => ("rate-limited", seconds.to_string()),
        Error::Busy(seconds) => ("busy", seconds.to_string()),
        Error::TooLarge(detail) => ("too-large", detail.clone()),
        Error::BadAnswer(detail) => ("bad-answer", detail.clone()),
        Error::TooManyRequests => ("too-many-requests", String::new()),
        Error::Failed(detail) => ("failed", detail.clone()),
    }
}
