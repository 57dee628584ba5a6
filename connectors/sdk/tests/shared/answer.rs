//! The answer of a row of the shared table, as the shared files have it.

use connector_sdk::http::Body;
use connector_sdk::multipart::{Content, Part};
use connector_sdk::testing::Gateway;
use connector_sdk::{Fault, Outcome, Request};
use serde_json::{Value, json};

/// The request of a row, or the refusal of the input.
pub(crate) fn of(gateway: &Gateway, outcome: Result<Outcome, Fault>) -> Value {
    match outcome {
        Ok(Outcome::Forward(request)) => json!({"request": request_json(gateway, &request)}),
        Err(Fault::InvalidInput(found)) => {
            let found = found.iter().map(|violation| json!({"pointer": violation.pointer, "detail": violation.detail}));
            json!({"invalid": found.collect::<Vec<_>>()})
        }
        other => panic!("a row answered {other:?}"),
    }
}

fn request_json(gateway: &Gateway, request: &Request) -> Value {
    let body = match &request.body {
        Some(Body::Bytes(_)) => gateway.parts(request).iter().map(part).collect(),
        Some(Body::Json(text)) => json!(text),
        Some(Body::Form(pairs)) => json!(pairs),
        None => Value::Null,
    };
    json!({
        "method": format!("{:?}", request.method).replace("Method::", "").to_lowercase(),
        "upstream": request.upstream,
        "path": request.path,
        "headers": request.headers,
        "body": body,
    })
}

/// A part, with the members that a file has in an input.
fn part(part: &Part) -> Value {
    let mut json = json!({"name": part.name});
    for (name, value) in [("file_name", &part.file_name), ("content_type", &part.content_type)] {
        if let Some(value) = value {
            json[name] = json!(value);
        }
    }
    match &part.content {
        Content::Text(text) => json["text"] = json!(text),
        Content::Base64(text) => json["content_base64"] = json!(text),
        Content::Bytes(bytes) => panic!("a row has no {bytes:?}"),
    }
    json
}
