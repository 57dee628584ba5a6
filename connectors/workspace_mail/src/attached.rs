//! The files of a message.

use connector_sdk::{Content, Fault, File, Outcome, Request, http};

use crate::GetAttachment;
use crate::base64url::Encoded;
use crate::decode::{list, object, response, string};
use crate::gmail::not_understood;

/// The media type of any bytes.
const OCTETS: &str = "application/octet-stream";

/// A part of a message that is a file.
struct Part {
    file_name: String,
    content_type: String,
    content: Source,
}

/// The place of a file's content.
enum Source {
    /// The content in base64url.
    Inline(String),
    /// The id for a separate request. It changes from answer to answer.
    Separate(String),
    Empty,
}

pub(crate) fn attachment(input: GetAttachment) -> Result<Outcome, Fault> {
    let message = || Request::get("api", "/users/me/messages").segment("message_id", &input.message_id);
    // The message is not kept, because its text may be as large as the file.
    let part = find(&response(message()?.query("format", "full"))?, &input.part_id)?;
    let Some(part) = part else {
        let detail = format!(
            "The message has no file with the part id {}. Take `partId` of a part with a file name from messages_get.",
            input.part_id
        );
        return Err(Fault::not_found(detail));
    };
    let content = match part.content {
        Source::Inline(data) => Encoded::read(data.into()).into_bytes()?,
        Source::Separate(id) => {
            let request = message()?.segment("message_id", "attachments")?.segment("part_id", &id)?;
            let document = http::send(request)?.successful()?.document()?;
            match document.pointer("/data") {
                Some(data) => {
                    let data = data.as_string().ok_or_else(|| not_understood("`data` is not text"))?;
                    Encoded::read(data.into()).into_bytes()?
                }
                None => Vec::new(),
            }
        }
        Source::Empty => Vec::new(),
    };
    Ok(Outcome::File(File {
        content: Content::Bytes(content),
        file_name: part.file_name,
        content_type: part.content_type,
        members: String::new(),
        digest: false,
        max_bytes: 0,
    }))
}

/// The part id of the only part of a message, to which Gmail gives an empty one.
const ONLY_PART: &str = "0";

/// Finds the part with an id. `None` if there is no such part, or if it has parts itself and no
/// content. Parts within parts need no stack.
fn find(message: &str, id: &str) -> Result<Option<Part>, Fault> {
    let message = object(message)?;
    let mut parts: Vec<&str> = message.get("payload").into_iter().collect();
    while let Some(text) = parts.pop() {
        let part = object(text)?;
        let member = |name: &str| part.get(name).map(string).transpose();
        let within = list(part.get("parts").unwrap_or("[]"))?;
        let part_id = match member("partId")? {
            Some(part_id) if part_id.is_empty() && within.is_empty() => Some(ONLY_PART.into()),
            part_id => part_id,
        };
        if part_id.as_deref() != Some(id) {
            parts.extend(within);
            continue;
        }
        let content_type = member("mimeType")?.filter(|kind| !kind.is_empty());
        let content_type = content_type.map_or_else(|| OCTETS.to_owned(), |kind| kind.to_ascii_lowercase());
        if content_type.starts_with("multipart/") {
            return Ok(None);
        }
        let body = part.get("body").map(object).transpose()?;
        let body = |name: &str| body.as_ref().and_then(|body| body.get(name));
        let content = match (body("attachmentId"), body("data")) {
            (Some(id), _) => Source::Separate(string(id)?.into_owned()),
            (None, Some(data)) => Source::Inline(string(data)?.into_owned()),
            // A mail within the mail. Gmail has its parts and not its text.
            (None, None) if !within.is_empty() => return Ok(None),
            (None, None) => Source::Empty,
        };
        let file_name = member("filename")?.filter(|name| !name.is_empty());
        let file_name = file_name.map_or_else(|| format!("part-{id}"), |name| name.into_owned());
        return Ok(Some(Part { file_name, content_type, content }));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use connector_sdk::testing::{Answer, Gateway, invoke};
    use connector_sdk::{Content, Fault, Outcome};

    use crate::CONNECTOR;

    const MESSAGE: &str = r#"{"id":"18c","payload":{"partId":"","mimeType":"multipart/mixed","parts":[
        {"partId":"0","mimeType":"multipart/alternative","body":{"size":0},"parts":[
            {"partId":"0.0","mimeType":"text/plain","filename":"","body":{"size":2,"data":"aGk"}}]},
        {"partId":"1","mimeType":"Image/PNG","filename":"Größe.png","body":{"attachmentId":"a/1 ","size":4}},
        {"partId":"2","filename":"empty.bin","body":{"size":0}},
        {"partId":"3","mimeType":"text/csv","filename":"t.csv"}]}}"#;

    fn file(part: &str, answers: &[&str]) -> Result<(String, String, Vec<u8>, Vec<String>), Fault> {
        let gateway = answers.iter().fold(Gateway::new(), |gateway, text| gateway.answer(Answer::json(200, text)));
        let input = format!(r#"{{"message_id":"18c","part_id":"{part}"}}"#);
        let Outcome::File(file) = invoke(&CONNECTOR, "get_attachment", &input)? else { panic!("a file") };
        let Content::Bytes(bytes) = file.content else { panic!("bytes") };
        let paths = gateway.requests().iter().map(|request| request.path.clone()).collect();
        Ok((file.file_name, file.content_type, bytes, paths))
    }

    #[test]
    fn a_file_is_read_by_a_separate_request() {
        let (name, kind, bytes, paths) = file("1", &[MESSAGE, r#"{"size":4,"data":"iVBORw=="}"#]).expect("a file");
        assert_eq!((name.as_str(), kind.as_str(), &*bytes), ("Größe.png", "image/png", &b"\x89PNG"[..]));
        assert_eq!(paths, ["/users/me/messages/18c?format=full", "/users/me/messages/18c/attachments/a%2F1%20"]);
    }

    #[test]
    fn content_in_the_message_needs_one_request() {
        for (part, expected) in [
            ("0.0", ("part-0.0", "text/plain", &b"hi"[..])),
            ("2", ("empty.bin", "application/octet-stream", b"")),
            ("3", ("t.csv", "text/csv", b"")),
        ] {
            let (name, kind, bytes, paths) = file(part, &[MESSAGE]).expect("a file");
            assert_eq!((name.as_str(), kind.as_str(), &*bytes), expected);
            assert_eq!(paths.len(), 1);
        }
    }

    #[test]
    fn a_part_without_a_file_is_not_found() {
        for part in ["0", "9", "1.0"] {
            assert!(matches!(file(part, &[MESSAGE]), Err(Fault::NotFound(_))), "{part}");
        }
        assert!(matches!(file("1", &[r#"{"id":"18c"}"#]), Err(Fault::NotFound(_))));
    }

    #[test]
    fn a_message_of_one_part_has_the_part_0() {
        let message = r#"{"id":"18c","payload":{"partId":"","mimeType":"application/pdf","filename":"scan.pdf","body":{"attachmentId":"a1","size":4}}}"#;
        let (name, kind, bytes, paths) = file("0", &[message, r#"{"size":2,"data":"aGk"}"#]).expect("a file");
        assert_eq!((name.as_str(), kind.as_str(), &*bytes), ("scan.pdf", "application/pdf", &b"hi"[..]));
        assert_eq!(paths[1], "/users/me/messages/18c/attachments/a1");
        assert!(matches!(file("1", &[message]), Err(Fault::NotFound(_))));
    }

    #[test]
    fn a_mail_within_a_mail_is_a_file_only_if_gmail_has_its_text() {
        let message = |body: &str| {
            format!(
                r#"{{"id":"18c","payload":{{"partId":"","mimeType":"multipart/report","body":{{"size":0}},"parts":[
                {{"partId":"0","mimeType":"message/rfc822","filename":"","body":{body},"parts":[
                {{"partId":"0.0","mimeType":"text/plain","filename":"","body":{{"size":2,"data":"aGk"}}}}]}}]}}}}"#
            )
        };
        assert!(matches!(file("0", &[&message(r#"{"size":0}"#)]), Err(Fault::NotFound(_))));
        let (_, kind, bytes, _) = file("0", &[&message(r#"{"size":2,"data":"aGk"}"#)]).expect("a file");
        assert_eq!((kind.as_str(), &*bytes), ("message/rfc822", &b"hi"[..]));
        assert_eq!(file("0.0", &[&message(r#"{"size":0}"#)]).expect("a part of it").2, b"hi");
    }
}
