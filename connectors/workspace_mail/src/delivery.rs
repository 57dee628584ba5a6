//! How a request sends a message to Gmail: in JSON, or as an upload if it is large.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use connector_sdk::http::{Body, TypedBytes};
use connector_sdk::json::quoted;
use connector_sdk::{Fault, Request};

/// Maximum size of a message in JSON, in bytes.
pub(crate) const MAX_IN_JSON: usize = 5_242_880;

/// Maximum size of a message, in bytes.
pub(crate) const MAX: usize = 36_700_160;

/// The thing that an operation writes.
#[derive(Clone, Copy)]
pub(crate) enum Resource {
    /// A draft, which has a message.
    Draft,
    Message,
}

/// Adds a message to the request of an operation. A large message goes to the upstream for uploads.
///
/// # Errors
/// [`Fault::InvalidInput`] if the message is too large.
pub(crate) fn with_message(
    request: Request,
    resource: Resource,
    message: String,
    thread_id: Option<&str>,
) -> Result<Request, Fault> {
    let size = message.len();
    if size > MAX {
        let detail = format!(
            "The message has {size} bytes. Give a shorter body or smaller attachments: Gmail takes {MAX} bytes."
        );
        return Err(Fault::invalid_input("", detail));
    }
    if size <= MAX_IN_JSON {
        return Ok(request.json(json(resource, Some(&message), thread_id)));
    }
    let upload = Request { upstream: "upload".to_owned(), ..request };
    // Only the second form has a place for the thread.
    let Some(thread_id) = thread_id else {
        let body = Body::Bytes(TypedBytes { content_type: "message/rfc822".to_owned(), bytes: message.into_bytes() });
        return Ok(Request { body: Some(body), ..upload.query("uploadType", "media") });
    };
    let body = Body::Bytes(TypedBytes {
        content_type: "multipart/related; boundary=\"=_upload\"".to_owned(),
        bytes: with_resource(&json(resource, None, Some(thread_id)), message).into_bytes(),
    });
    Ok(Request { body: Some(body), ..upload.query("uploadType", "multipart") })
}

/// A resource with a message, or without one if it follows in an upload.
fn json(resource: Resource, message: Option<&str>, thread_id: Option<&str>) -> String {
    // Base64 adds a third.
    let mut json = String::with_capacity(message.map_or(0, str::len) / 3 * 4 + 1024);
    json.push_str(match resource {
        Resource::Draft => r#"{"message":{"#,
        Resource::Message => "{",
    });
    if let Some(message) = message {
        json.push_str(r#""raw":""#);
        URL_SAFE.encode_string(message, &mut json);
        json.push('"');
    }
    if let Some(id) = thread_id {
        json.push_str(if message.is_some() { r#","threadId":"# } else { r#""threadId":"# });
        json.push_str(&quoted(id));
    }
    json.push_str(match resource {
        Resource::Draft => "}}",
        Resource::Message => "}",
    });
    json
}

/// An upload with a resource and a message. No line of a message begins with the boundary.
fn with_resource(json: &str, mut message: String) -> String {
    let head = format!(
        "--=_upload\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{json}\r\n\
         --=_upload\r\nContent-Type: message/rfc822\r\n\r\n"
    );
    message.insert_str(0, &head);
    message.push_str("\r\n--=_upload--\r\n");
    message
}
