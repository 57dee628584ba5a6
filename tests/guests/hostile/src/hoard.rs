//! Makes the gateway hold more data, or compute longer, than an invocation is allowed.

use serde_json::{Value, json};

use crate::bindings::gateway::connector::http::{self, Response};
use crate::bindings::gateway::connector::json::Document;
use crate::bindings::gateway::connector::multipart::{self, Content, Part};
use crate::bindings::gateway::connector::outcome::Fault;
use crate::network::request;
use crate::{Answer, reply, text};

/// Parses `count` texts of the size `bytes`. `keep` says whether the guest keeps each document
/// (`all`), a small part (`part`), or nothing.
pub(crate) fn documents(input: &Value) -> Answer {
    let text = format!("[\"{}\", 1]", "x".repeat(size(input, "bytes")));
    let kept: Vec<_> = (0..size(input, "count")).map(|_| keep(input, parse(&text))).collect();
    reply(&json!({"documents": kept.len()}))
}

fn keep(input: &Value, document: Document) -> Option<Document> {
    match input["keep"].as_str() {
        Some("all") => Some(document),
        Some("part") => document.pointer("/1"),
        _ => None,
    }
}

/// Makes the gateway find the children of a document with `items` children. The document is an
/// object if `named` is true, else an array.
pub(crate) fn children(input: &Value) -> Answer {
    let (open, item, close) = if input["named"] == true { ("{", "\"a\":0,", "}") } else { ("[", "0,", "]") };
    let items = item.repeat(size(input, "items"));
    let document = parse(&format!("{open}{}{close}", items.trim_end_matches(',')));
    reply(&json!({"length": document.length()}))
}

/// Sends the request `count` times and reads each body in the form `form`. Keeps the responses if
/// `keep` is true.
pub(crate) fn bodies(input: &Value) -> Answer {
    let mut kept = Vec::new();
    for _ in 0..size(input, "count") {
        let response = http::send(request(input)).map_err(Fault::Http)?;
        let document = read(&response, text(input, "form")).map_err(Fault::Http)?;
        if input["keep"] == true {
            kept.push((response, document));
        }
    }
    reply(&json!({"kept": kept.len()}))
}

fn read(response: &Response, form: &str) -> Result<Option<Document>, http::Error> {
    Ok(match form {
        "document" => Some(response.document()?),
        "text" => response.text().map(|_| None)?,
        _ => response.bytes().map(|_| None)?,
    })
}

/// Builds `count` forms with a file of the size `bytes`.
pub(crate) fn forms(input: &Value) -> Answer {
    let file = Part {
        name: "file".to_owned(),
        file_name: Some("file".to_owned()),
        content_type: None,
        content: Content::Bytes(vec![0; size(input, "bytes")]),
    };
    let parts = [file];
    let built: Vec<_> = (0..size(input, "count")).map_while(|_| multipart::build(&parts).ok()).collect();
    reply(&json!({"forms": built.len()}))
}

/// Parses one text again and again. The gateway computes, and the guest hardly does.
pub(crate) fn parse_without_end(input: &Value) -> Answer {
    let text = format!("[{}0]", "0,".repeat(size(input, "bytes") / 2));
    loop {
        drop(parse(&text));
    }
}

/// Looks up the innermost of `depth` nested arrays.
pub(crate) fn deep_pointer(input: &Value) -> Answer {
    let depth = size(input, "depth");
    let document = parse(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
    reply(&json!({"found": document.pointer(&"/0".repeat(depth - 1)).is_some()}))
}

#[expect(clippy::expect_used, reason = "the text is JSON")]
fn parse(text: &str) -> Document {
    Document::parse(text).expect("JSON")
}

fn size(input: &Value, name: &str) -> usize {
    input[name].as_u64().and_then(|size| usize::try_from(size).ok()).unwrap_or_default()
}
