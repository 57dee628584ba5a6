//! Bodies of `multipart/form-data` (RFC 7578).

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use contract_rules::multipart::{self as rules, quoted_file_name, quoted_name};

/// Base64 takes four characters for three bytes.
const BASE64_GROUP: usize = 4;
const DECODED_GROUP: usize = 3;

/// Bytes of a part around its names and its content, at most.
const AROUND: usize = 160;

/// A part of a body.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// Name of the field.
    pub name: &'a str,
    /// Name of the file. `None` for a field that is not a file.
    pub file_name: Option<&'a str>,
    /// Media type. Without one, a file is `application/octet-stream`, and a field is text.
    pub content_type: Option<&'a str>,
    /// The content.
    pub content: PartContent<'a>,
}

/// The content of a part.
#[derive(Clone, Copy, Debug)]
pub enum PartContent<'a> {
    /// Bytes as they are.
    Bytes(&'a [u8]),
    /// Bytes in base64 (RFC 4648, section 4).
    Base64(&'a str),
}

/// A body that was built. Clones share its bytes.
#[derive(Clone)]
pub struct Multipart {
    content_type: String,
    body: Bytes,
    parts: Vec<SentPart>,
}

/// A part of a body that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentPart {
    /// Name of the field.
    pub name: String,
    /// Name of the file. `None` for a field that is not a file.
    pub file_name: Option<String>,
    /// Media type, if the part has one.
    pub content_type: Option<String>,
    /// The content, a slice of the body.
    pub content: Bytes,
}

/// A part that breaks a rule.
#[derive(Debug, thiserror::Error)]
#[error("part {index}: {detail}")]
pub struct BrokenPart {
    /// Its index among the parts.
    pub index: usize,
    /// The rule, as a sentence that says what to do.
    pub detail: String,
}

impl Part<'_> {
    /// The most bytes that the part takes in a body. Encoded names have at most three times their
    /// size.
    fn most_bytes(&self, boundary: &str) -> usize {
        let text = |text: Option<&str>| text.map_or(0, str::len);
        let content = match self.content {
            PartContent::Bytes(bytes) => bytes.len(),
            PartContent::Base64(text) => text.len().div_ceil(BASE64_GROUP).saturating_mul(DECODED_GROUP),
        };
        let names = self.name.len().saturating_add(text(self.file_name)).saturating_mul(3);
        content
            .saturating_add(names)
            .saturating_add(text(self.content_type))
            .saturating_add(boundary.len())
            .saturating_add(AROUND)
    }

    /// Appends the part. Returns its content's place in the body.
    fn write(&self, boundary: &str, body: &mut Vec<u8>) -> Result<std::ops::Range<usize>, String> {
        let mut head = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"", quoted_name(self.name));
        if let Some(file_name) = self.file_name {
            rules::file_name(file_name).map_err(|broken| broken.to_string())?;
            head.push_str(&format!("; filename=\"{}\"", quoted_file_name(file_name)));
        }
        if let Some(content_type) = self.sent_type() {
            rules::media_type(content_type).map_err(|broken| broken.to_string())?;
            head.push_str(&format!("\r\nContent-Type: {content_type}"));
        }
        head.push_str("\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        let start = body.len();
        match self.content {
            PartContent::Bytes(bytes) => body.extend_from_slice(bytes),
            PartContent::Base64(text) => STANDARD
                .decode_vec(text, body)
                .map_err(|_| "Give the content in base64 (RFC 4648, section 4).".to_owned())?,
        }
        let end = body.len();
        body.extend_from_slice(b"\r\n");
        Ok(start..end)
    }

    fn sent_type(&self) -> Option<&str> {
        self.content_type.or_else(|| self.file_name.map(|_| rules::OF_FILE))
    }
}

impl Multipart {
    /// The most bytes that a body of these parts takes. Reserve them before you build it.
    pub fn most_bytes(parts: &[Part<'_>], boundary: &str) -> usize {
        parts.iter().fold(AROUND, |sum, part| sum.saturating_add(part.most_bytes(boundary)))
    }

    /// Builds a body. `boundary` is a text of letters and digits that no content has, so it must
    /// be random and secret. `keep` gets the bytes, so that the caller can tie something to them.
    ///
    /// # Errors
    /// The first part that breaks a rule.
    pub fn build(parts: &[Part<'_>], boundary: &str, keep: impl FnOnce(Bytes) -> Bytes) -> Result<Self, BrokenPart> {
        let mut body = Vec::with_capacity(Self::most_bytes(parts, boundary));
        let mut places = Vec::with_capacity(parts.len());
        for (index, part) in parts.iter().enumerate() {
            let place = part.write(boundary, &mut body).map_err(|detail| BrokenPart { index, detail })?;
            places.push(place);
        }
        body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        let body = keep(body.into());
        let sent = |(part, place): (&Part<'_>, std::ops::Range<usize>)| SentPart {
            name: part.name.to_owned(),
            file_name: part.file_name.map(str::to_owned),
            content_type: part.sent_type().map(str::to_owned),
            content: body.slice(place),
        };
        let parts = parts.iter().zip(places).map(sent).collect();
        Ok(Self { content_type: format!("multipart/form-data; boundary={boundary}"), body, parts })
    }

    /// The value of the header `Content-Type`.
    pub fn content_type(&self) -> &str {
        &self.content_type
    }

    /// The parts.
    pub fn parts(&self) -> &[SentPart] {
        &self.parts
    }

    /// The bytes to send.
    pub(super) fn body(&self) -> &Bytes {
        &self.body
    }
}

/// The content of the parts may be secret.
impl fmt::Debug for Multipart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Multipart({} parts, {} bytes)", self.parts.len(), self.body.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDARY: &str = "x7";

    fn text<'a>(name: &'a str, content: &'a str) -> Part<'a> {
        Part { name, file_name: None, content_type: None, content: PartContent::Bytes(content.as_bytes()) }
    }

    fn file<'a>(file_name: &'a str, content: &'a str) -> Part<'a> {
        Part { name: "f", file_name: Some(file_name), content_type: None, content: PartContent::Base64(content) }
    }

    fn built(parts: &[Part<'_>]) -> String {
        let built = Multipart::build(parts, BOUNDARY, |bytes| bytes).unwrap();
        assert_eq!(built.content_type(), "multipart/form-data; boundary=x7");
        assert!(built.body().len() <= Multipart::most_bytes(parts, BOUNDARY));
        String::from_utf8(built.body().to_vec()).unwrap()
    }

    #[test]
    fn fields_and_files_are_parts_with_their_names_and_types() {
        let typed = Part { content_type: Some("application/json"), ..text("about", "{}") };
        assert_eq!(
            built(&[text("title", "ü\r\n"), typed, file("a.txt", "SGk=")]),
            "--x7\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nü\r\n\r\n\
             --x7\r\nContent-Disposition: form-data; name=\"about\"\r\nContent-Type: application/json\r\n\r\n{}\r\n\
             --x7\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\nContent-Type: application/octet-stream\r\n\r\nHi\r\n\
             --x7--\r\n"
        );
        assert_eq!(built(&[]), "--x7--\r\n");
    }

    #[test]
    fn no_name_begins_another_header_or_parameter() {
        let body = built(&[text("a\"; filename=\"b\r\nX-Y: z\r\n\r\n", ""), file("say \"hi\".txt", "")]);
        assert!(body.contains("name=\"a%22; filename%3D%22b%0D%0AX-Y: z%0D%0A%0D%0A\"\r\n"), "{body}");
        assert!(body.contains("; filename=\"say %22hi%22.txt\"\r\n"), "{body}");
        for (index, part) in [
            (0, file("../a", "")),
            (1, file("a\r\nX: y", "")),
            (2, file("a", "%%%")),
            (3, Part { content_type: Some("a/b\r\nX: y"), ..text("a", "") }),
        ] {
            let mut parts = vec![text("a", ""); index];
            parts.push(part);
            let broken = Multipart::build(&parts, BOUNDARY, |bytes| bytes).unwrap_err();
            assert_eq!(broken.index, index, "{broken}");
            assert!(broken.detail.starts_with("Give "), "{broken}");
        }
    }

    #[test]
    fn the_parts_of_a_body_are_known_after_it_was_built() {
        let built = Multipart::build(&[text("a", "1"), file("b.bin", "/w==")], BOUNDARY, |bytes| bytes).unwrap();
        let parts: Vec<_> = built.parts().iter().map(|part| (part.name.as_str(), &part.content[..])).collect();
        assert_eq!(parts, [("a", &b"1"[..]), ("f", &[0xff][..])]);
        assert_eq!(built.parts()[1].content_type.as_deref(), Some("application/octet-stream"));
        assert_eq!(format!("{built:?}"), format!("Multipart(2 parts, {} bytes)", built.body().len()));
    }
}
