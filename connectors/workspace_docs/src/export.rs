//! A document as a file.

use connector_sdk::{Content, Fault, File, Outcome, Request, http};

use crate::ExportDocument;

/// Google exports at most 10 MB.
const MAX_BYTES: u64 = 10 << 20;

pub(crate) fn document(input: ExportDocument) -> Result<Outcome, Fault> {
    let mut request = Request::get("drive", "/files").segment("document_id", &input.document_id)?;
    request.path.push_str("/export");
    let response = http::send(request.query("mimeType", &input.mime_type))?.successful()?;
    let members = if input.mime_type.starts_with("text/") { text_member(&response.text()?) } else { String::new() };
    Ok(Outcome::File(File {
        content: Content::Response(response),
        file_name: format!("{}.{}", input.document_id, extension(&input.mime_type)),
        content_type: input.mime_type,
        members,
        digest: false,
        max_bytes: MAX_BYTES,
    }))
}

/// The text without a byte order mark, as a member of the file.
fn text_member(text: &str) -> String {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    // Allocated once: a text of the maximum size fits into the memory of an invocation twice, but
    // not more often.
    let mut members = Vec::with_capacity(text.len() + text.len() / 16 + 16);
    members.extend_from_slice(b"{\"text\":");
    match serde_json::to_writer(&mut members, text) {
        Ok(()) => members.push(b'}'),
        Err(_) => members.clear(),
    }
    String::from_utf8(members).unwrap_or_default()
}

fn extension(mime_type: &str) -> &'static str {
    match mime_type {
        "application/pdf" => "pdf",
        "text/plain" => "txt",
        "text/markdown" => "md",
        "text/html" => "html",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document" => "docx",
        "application/epub+zip" => "epub",
        _ => "zip",
    }
}
