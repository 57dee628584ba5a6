//! The file objects that callers attach: `{file_name, content_type?, content_base64, content_id?}`.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use connector_sdk::input::Json;
use connector_sdk::{Violation, json};

use crate::gmail::Object;

/// Part of the base64 text that is decoded at a time, to check it without a copy of the whole
/// content. A multiple of 4.
const CHECKED: usize = 4096;

/// Maximum length of a media type. RFC 6838 allows 127 bytes for each of its two names.
const MAX_CONTENT_TYPE: usize = 500;

/// A file of a caller. The content stays in base64, because a message carries it so.
pub(crate) struct Attachment<'a> {
    pub(crate) file_name: Cow<'a, str>,
    pub(crate) content_type: Cow<'a, str>,
    /// Valid base64 without padding.
    pub(crate) content: Cow<'a, str>,
    /// The name by which HTML refers to the file, without angle brackets.
    pub(crate) content_id: Option<String>,
}

impl<'a> Attachment<'a> {
    /// Reads a file object, which the input has at `pointer`. Other members are ignored, so that
    /// the gateway's own file objects can be attached.
    ///
    /// # Errors
    /// The first member that is wrong.
    pub(crate) fn read(file: &'a Json, pointer: &str) -> Result<Self, Violation> {
        let wrong =
            |member: &str, detail: &str| Violation { pointer: format!("{pointer}{member}"), detail: detail.to_owned() };
        let file = Object::read(&file.0);
        let text = |member: &str| {
            let text = file.as_ref()?.get(member)?;
            Some(json::string(text).ok_or_else(|| wrong(&format!("/{member}"), "Give text.")))
        };
        let file_name = text("file_name").unwrap_or_else(|| Err(wrong("", "Give a `file_name`.")))?;
        let content =
            text("content_base64").unwrap_or_else(|| Err(wrong("", "Give the content as `content_base64`.")))?;
        let (content_type, content_id) = (text("content_type").transpose()?, text("content_id").transpose()?);
        if file_name.contains(['\r', '\n']) {
            return Err(wrong("/file_name", "Give a name without line breaks."));
        }
        let content_type = match content_type {
            Some(given) if is_media_type(&given) => given,
            Some(_) => return Err(wrong("/content_type", "Give a media type such as `text/plain`, in one line.")),
            None => Cow::Borrowed(mime_guess::from_path(&*file_name).first_raw().unwrap_or(OCTETS)),
        };
        // A message or a multipart content cannot be in base64 (RFC 2046, sections 5.1 and 5.2.1).
        let type_name = content_type.split('/').next().unwrap_or_default();
        let is_composite = ["message", "multipart"].iter().any(|name| type_name.eq_ignore_ascii_case(name));
        let content_id = match content_id.as_deref().map(without_brackets) {
            Some(id) if id.is_empty() || !id.bytes().all(is_id) => {
                return Err(wrong(
                    "/content_id",
                    "Give ASCII characters without blanks, line breaks and angle brackets.",
                ));
            }
            id => id.map(str::to_owned),
        };
        let content = without_padding(content);
        if !content.as_bytes().chunks(CHECKED).all(is_base64) {
            return Err(wrong("/content_base64", "Give the content in base64 (RFC 4648, section 4)."));
        }
        let content_type = if is_composite { Cow::Borrowed(OCTETS) } else { content_type };
        Ok(Self { file_name, content_type, content, content_id })
    }
}

/// The media type of any bytes.
const OCTETS: &str = "application/octet-stream";

/// A media type, optionally with parameters (RFC 2045, section 5.1).
fn is_media_type(text: &str) -> bool {
    let (names, parameters) = text.split_once(';').unwrap_or((text, ""));
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?=".contains(&byte))
    };
    let are_names = names.trim_end().split_once('/').is_some_and(|(kind, subtype)| is_name(kind) && is_name(subtype));
    are_names
        && text.len() <= MAX_CONTENT_TYPE
        && parameters.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
}

fn without_brackets(id: &str) -> &str {
    id.strip_prefix('<').and_then(|id| id.strip_suffix('>')).unwrap_or(id)
}

fn is_id(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>')
}

/// Padding is optional. If there is padding, it is the right amount.
fn without_padding(text: Cow<'_, str>) -> Cow<'_, str> {
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
    if !matches!(padding, 1 | 2) || !text.len().is_multiple_of(4) {
        return text;
    }
    let length = text.len() - padding;
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.get(..length).unwrap_or(text)),
        Cow::Owned(mut text) => {
            text.truncate(length);
            Cow::Owned(text)
        }
    }
}

fn is_base64(part: &[u8]) -> bool {
    let mut decoded = [0; CHECKED];
    STANDARD_NO_PAD.decode_slice(part, &mut decoded).is_ok()
}

#[cfg(test)]
mod tests {
    use connector_sdk::input::Json;

    use super::{Attachment, CHECKED};

    fn pointer(json: &str) -> String {
        match Attachment::read(&Json(json.to_owned()), "") {
            Ok(_) => "accepted".to_owned(),
            Err(violation) => violation.pointer,
        }
    }

    #[test]
    fn the_media_type_is_the_given_one_or_that_of_the_extension() {
        for (members, expected) in [
            (r#""file_name":"a.PDF""#, "application/pdf"),
            (r#""file_name":"a""#, "application/octet-stream"),
            (r#""file_name":"a.pdf","content_type":"text/plain; charset=\"utf-8\"""#, "text/plain; charset=\"utf-8\""),
            (r#""file_name":"a.eml""#, "application/octet-stream"),
            (r#""file_name":"a","content_type":"Message/RFC822""#, "application/octet-stream"),
            (r#""file_name":"a","content_type":"multipart/mixed""#, "application/octet-stream"),
        ] {
            let json = Json(format!(r#"{{{members},"content_base64":""}}"#));
            let Ok(attachment) = Attachment::read(&json, "") else { panic!("{members}") };
            assert_eq!(attachment.content_type, expected, "{members}");
        }
    }

    #[test]
    fn a_file_object_of_the_gateway_can_be_attached() {
        let json = Json(
            r#"{"file_name":"a.txt","content_type":"text/plain","size":5,"content_base64":"SGVsbG8="}"#.to_owned(),
        );
        let Ok(attachment) = Attachment::read(&json, "") else { panic!("an attachment") };
        assert_eq!(attachment.content, "SGVsbG8");
    }

    #[test]
    fn content_is_base64_with_or_without_padding() {
        for content in ["", "SGVsbG8=", "SGVsbG8", "SGk=", "SA==", r"\/\/\/\/"] {
            assert_eq!(
                pointer(&format!(r#"{{"file_name":"a","content_base64":"{content}"}}"#)),
                "accepted",
                "{content}"
            );
        }
        let broken_late = format!("{}*", "A".repeat(CHECKED));
        for content in ["S", "SGVs=bG8", "SGVsbG8==", "SGV sbG8", "SGVsbG8-", "SGVs====", "SH", "é", &broken_late] {
            assert_eq!(
                pointer(&format!(r#"{{"file_name":"a","content_base64":"{content}"}}"#)),
                "/content_base64",
                "{content}"
            );
        }
    }

    #[test]
    fn a_member_that_could_break_a_header_is_refused() {
        for (members, expected) in [
            (r#""file_name":"a\nX: y""#, "/file_name"),
            (r#""file_name":"a\rX: y""#, "/file_name"),
            (r#""file_name":"a","content_type":"text/plain\r\nX: y""#, "/content_type"),
            (r#""file_name":"a","content_type":"text/plain; a=b\nX: y""#, "/content_type"),
            (r#""file_name":"a","content_type":"text""#, "/content_type"),
            (r#""file_name":"a","content_type":"text/a b""#, "/content_type"),
            (r#""file_name":"a","content_id":"a\r\nX: y""#, "/content_id"),
            (r#""file_name":"a","content_id":"<>""#, "/content_id"),
            (r#""file_name":"a","content_id":"a>b""#, "/content_id"),
            (r#""file_name":1"#, "/file_name"),
            (r#""file_name":null"#, ""),
            (r#""file_name":"a","content_type":1"#, "/content_type"),
            (r#""content_type":"text/plain""#, ""),
        ] {
            assert_eq!(pointer(&format!(r#"{{{members},"content_base64":""}}"#)), expected, "{members}");
        }
        assert_eq!(pointer(r#"{"file_name":"a"}"#), "");
    }
}
