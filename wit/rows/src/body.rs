//! Bodies of requests, and the parts of forms with files.

use std::borrow::Cow;

use contract_rules::limit::PARTS;

use crate::form::Room;
use crate::reader::{self, Member};
use crate::refusal::Refusal;
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
        for member in reader::each_member(json) {
            let member = member.ok()?;
            if member.value == "null" {
                continue;
            }
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
///
/// # Errors
/// If there are more than [`PARTS`], if the fields take more memory than a form may, or if a file is
/// not one.
pub(crate) fn parts(row: &Row, given: &[Member<'_>], object: &str) -> Result<Vec<Part>, Refusal> {
    let mut parts = Vec::new();
    let mut room = Room::of(object);
    let mut add_field = |name: &str, value: &str| {
        room.take(name.len().saturating_add(value.len()))?;
        push(&mut parts, field(name, value))
    };
    for member in reader::each_member(object) {
        let member = member?;
        if member.value.starts_with('[') {
            for item in reader::each_item(member.value) {
                add_field(&member.name, item?)?;
            }
        } else {
            add_field(&member.name, member.value)?;
        }
    }
    for field in row.fields.iter() {
        let Location::File(name) = &field.location else { continue };
        let value = given.iter().find(|member| member.name == field.name).map(|member| member.value);
        let Some(value) = value.filter(|value| *value != "null") else { continue };
        let place = format!("/{}", field.name);
        if value.starts_with('[') {
            for (index, item) in reader::each_item(value).enumerate() {
                push(&mut parts, file(name, item?, format!("{place}/{index}"))?)?;
            }
        } else {
            push(&mut parts, file(name, value, place)?)?;
        }
    }
    Ok(parts)
}

/// Adds a part, unless there are as many as a body may have.
fn push(parts: &mut Vec<Part>, part: Part) -> Result<(), Refusal> {
    if parts.len() == PARTS {
        return Err(Refusal::input(part.place, format!("Give at most {PARTS} parts.")));
    }
    parts.push(part);
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declaration::Declaration;
    use crate::row::{BodyEncoding, Field, Lists, Method, Payload};

    /// A row with a list of files, and any members in its body.
    fn row() -> Row {
        let photos = Field::new("photos", Location::File("photo".into()));
        let declared = Declaration {
            fields: vec![Field { required: false, lists: Lists::AsTheyAre, ..photos }],
            encoding: BodyEncoding::Multipart,
            ..Declaration::new(Method::Post, "api", "")
        };
        Row { payload: Payload::None, ..Row::of(&declared) }
    }

    fn made(object: &str, photos: &str) -> Result<Vec<Part>, Refusal> {
        parts(&row(), &[Member { name: "photos".into(), value: photos }], object)
    }

    /// A list of as many items.
    fn list(item: &str, count: usize) -> String {
        format!("[{}]", vec![item; count].join(","))
    }

    #[test]
    fn no_more_parts_are_made_than_a_body_may_have() {
        let file = r#"{"file_name":"a","content_base64":"AA=="}"#;
        let tags = |count: usize| format!(r#"{{"tags":{}}}"#, list("0", count));
        assert_eq!(made(&tags(PARTS), "null").map(|parts| parts.len()), Ok(PARTS));
        assert_eq!(made(&tags(1), &list(file, PARTS - 1)).map(|parts| parts.len()), Ok(PARTS));
        let refused = |place: &str| Err(Refusal::input(place, "Give at most 1024 parts."));
        assert_eq!(made(&tags(1_000_000), "null"), refused(""));
        assert_eq!(made(&tags(1), &list(file, PARTS)), refused("/photos/1023"));
        // Files beyond the limit are not read.
        assert_eq!(made(&tags(PARTS), &list(file, 1).replace(']', ",7]")), refused("/photos/0"));
    }

    #[test]
    fn a_long_name_is_not_copied_for_each_item_of_a_long_list() {
        let name = "K".repeat(1_000_000);
        let object = format!(r#"{{"{name}":{}}}"#, list("0", 1000));
        let Err(Refusal::Input { detail, .. }) = made(&object, "null") else { panic!("it is refused") };
        assert!(detail.contains("Give fewer items"), "{detail}");
        assert_eq!(made(&format!(r#"{{"{name}":[0,1]}}"#), "null").map(|parts| parts.len()), Ok(2));
    }
}
