//! Bodies of forms with files (`multipart/form-data`). The gateway builds them, so that no name or
//! media type of a caller can end a part.
//!
//! ```
//! # use connector_sdk::{Fault, Outcome, Request, testing::Gateway};
//! use connector_sdk::multipart::Part;
//!
//! # let gateway = Gateway::new();
//! # fn f() -> Result<Outcome, Fault> {
//! let parts = vec![
//!     Part::text("title", "Sea"),
//!     Part::file("photo", "sea.png", b"\x89PNG".to_vec()).content_type("image/png"),
//! ];
//! Ok(Outcome::Forward(Request::post("api", "/photos").multipart(parts)?))
//! # }
//! # let Ok(Outcome::Forward(request)) = f() else { panic!() };
//! # assert_eq!(gateway.parts(&request)[1].file_name.as_deref(), Some("sea.png"));
//! ```

use crate::bindings::gateway::connector::http::{Body, TypedBytes};
use crate::bindings::gateway::connector::multipart as wit;
use crate::input::{File, FromJson};
use crate::reader::{self, Member};
use crate::table::{Location, Row};
use crate::{Fault, host};

pub use wit::{BrokenPart, Content, Part};

impl Part {
    /// A field of the form.
    pub fn text(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), file_name: None, content_type: None, content: Content::Text(text.into()) }
    }

    /// A file.
    pub fn file(name: impl Into<String>, file_name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        let content = Content::Bytes(bytes.into());
        Self { name: name.into(), file_name: Some(file_name.into()), content_type: None, content }
    }

    /// A file of the caller. The gateway decodes its content.
    pub fn given(name: impl Into<String>, file: File) -> Self {
        let File { file_name, content_type, content_base64 } = file;
        let content = Content::Base64(content_base64);
        Self { name: name.into(), file_name: Some(file_name), content_type, content }
    }

    /// Sets the media type. Without one, a file is `application/octet-stream`, and a field is text.
    #[must_use]
    pub fn content_type(mut self, media_type: impl Into<String>) -> Self {
        self.content_type = Some(media_type.into());
        self
    }
}

/// A part breaks a rule because of a value of the caller. To name its field, map the error yourself.
impl From<BrokenPart> for Fault {
    fn from(broken: BrokenPart) -> Self {
        Self::invalid_input("", broken.detail)
    }
}

/// The body of these parts.
pub(crate) fn body(parts: &[Part]) -> Result<Body, BrokenPart> {
    let content_type = host::multipart::build(parts)?;
    Ok(Body::Bytes(TypedBytes { content_type, bytes: Vec::new() }))
}

/// The body of a row: the members of a JSON object as fields, then the row's files. Services that
/// read a form from its beginning need the fields first.
///
/// # Errors
/// [`Fault::InvalidInput`] with the place of a file that breaks a rule.
#[doc(hidden)]
pub fn row_body(row: &'static Row, given: &[Member<'_>], object: &str) -> Result<Body, Fault> {
    let mut parts = Vec::new();
    for member in reader::members(object)? {
        let values = if member.value.starts_with('[') { reader::items(member.value)? } else { vec![member.value] };
        parts.extend(values.into_iter().map(|value| field(&member.name, value)));
    }
    let mut places = vec![String::new(); parts.len()];
    for field in row.fields {
        let Location::File(name) = field.location else { continue };
        let value = given.iter().find(|member| member.name == field.name).map(|member| member.value);
        let Some(value) = value.filter(|value| *value != "null") else { continue };
        let place = format!("/{}", field.name);
        if value.starts_with('[') {
            for (index, item) in reader::items(value)?.into_iter().enumerate() {
                places.push(format!("{place}/{index}"));
                parts.push(file(name, item, &place)?);
            }
        } else {
            parts.push(file(name, value, &place)?);
            places.push(place);
        }
    }
    body(&parts).map_err(|broken| {
        let place = usize::try_from(broken.index).ok().and_then(|index| places.get(index));
        Fault::invalid_input(place.cloned().unwrap_or_default(), broken.detail)
    })
}

/// A value as a part: a scalar as text, and an object or a list as JSON (OpenAPI 3, "Encoding
/// Object").
fn field(name: &str, value: &str) -> Part {
    if value.starts_with(['{', '[']) {
        return Part::text(name, value).content_type("application/json");
    }
    // Null is empty: a form has no other value that means "none".
    Part::text(name, reader::scalar(value).unwrap_or_default())
}

fn file(name: &str, value: &str, place: &str) -> Result<Part, Fault> {
    let file = File::from_json(value)
        .ok_or_else(|| Fault::invalid_input(place, "Give a file: an object with `file_name` and `content_base64`."))?;
    Ok(Part::given(name, file))
}
