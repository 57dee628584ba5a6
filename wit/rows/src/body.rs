//! Bodies of requests, and the parts of forms with files.

use std::borrow::Cow;

use crate::reader::{self, Member};
use crate::request::Refusal;
use crate::row::{Location, Row};

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// JSON text.
    Json(String),
    /// `application/x-www-form-urlencoded`: names and values, which are not encoded yet.
    Form(Vec<(String, String)>),
    /// `multipart/form-data`.
    Parts(Vec<Part>),
}

/// A part of a form with files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Name of the field.
    pub name: String,
    /// Name of the file. `None` for a field that is not a file.
    pub file_name: Option<String>,
    /// Media type, if one is given.
    pub content_type: Option<String>,
    /// Its content.
    pub content: Content,
    /// JSON Pointer to the file in the input. Empty for a field that is not a file.
    pub place: String,
}

/// The content of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text.
    Text(String),
    /// Bytes in base64 (RFC 4648, section 4), which are not checked yet.
    Base64(String),
}

/// A file of the input, as it is written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenFile<'a> {
    /// Its name.
    pub file_name: Cow<'a, str>,
    /// Media type, if one is given.
    pub content_type: Option<Cow<'a, str>>,
    /// Its bytes in base64.
    pub content_base64: Cow<'a, str>,
}

impl<'a> GivenFile<'a> {
    /// Reads `{"file_name": …, "content_type": …, "content_base64": …}`. `None` if the text is
    /// something else.
    #[must_use]
    pub fn read(json: &'a str) -> Option<Self> {
        let (mut file_name, mut content_type, mut content_base64) = (None, None, None);
        for member in reader::members(json).ok()?.into_iter().filter(|member| member.value != "null") {
            let text = reader::scalar(member.value).filter(|_| member.value.starts_with('"'));
            match member.name.as_ref() {
                "file_name" => file_name = Some(text?),
                "content_type" => content_type = Some(text?),
                "content_base64" => content_base64 = Some(text?),
                _ => {}
            }
        }
        Some(Self { file_name: file_name?, content_type, content_base64: content_base64? })
    }
}

/// The parts of a row: the members of a JSON object as fields, then the row's files. Services that
/// read a form from its beginning need the fields first.
pub(crate) fn parts(row: &Row, given: &[Member<'_>], object: &str) -> Result<Vec<Part>, Refusal> {
    let mut parts = Vec::new();
    for member in reader::members(object)? {
        let values = if member.value.starts_with('[') { reader::items(member.value)? } else { vec![member.value] };
        parts.extend(values.into_iter().map(|value| field(&member.name, value)));
    }
    for field in row.fields.iter() {
        let Location::File(name) = &field.location else { continue };
        let value = given.iter().find(|member| member.name == field.name).map(|member| member.value);
        let Some(value) = value.filter(|value| *value != "null") else { continue };
        let place = format!("/{}", field.name);
        if value.starts_with('[') {
            for (index, item) in reader::items(value)?.into_iter().enumerate() {
                parts.push(file(name, item, format!("{place}/{index}"))?);
            }
        } else {
            parts.push(file(name, value, place)?);
        }
    }
    Ok(parts)
}

/// A value as a part: a scalar as text, and an object or a list as JSON (OpenAPI 3, "Encoding
/// Object").
fn field(name: &str, value: &str) -> Part {
    let is_json = value.starts_with(['{', '[']);
    // Null is empty: a form has no other value that means "none".
    let text = if is_json { value.to_owned() } else { reader::scalar(value).unwrap_or_default().into_owned() };
    Part {
        name: name.to_owned(),
        file_name: None,
        content_type: is_json.then(|| "application/json".to_owned()),
        content: Content::Text(text),
        place: String::new(),
    }
}

fn file(name: &str, value: &str, place: String) -> Result<Part, Refusal> {
    let Some(file) = GivenFile::read(value) else {
        return Err(Refusal::input(place, "Give a file: an object with `file_name` and `content_base64`."));
    };
    Ok(Part {
        name: name.to_owned(),
        file_name: Some(file.file_name.into_owned()),
        content_type: file.content_type.map(Cow::into_owned),
        content: Content::Base64(file.content_base64.into_owned()),
        place,
    })
}
