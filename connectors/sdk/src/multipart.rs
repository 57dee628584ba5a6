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
use crate::input::File;
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

/// The body of a row, whose parts know their place in the input.
///
/// # Errors
/// [`Fault::InvalidInput`] with the place of a file that breaks a rule.
pub(crate) fn of_row(mut parts: Vec<rows::Part>) -> Result<Body, Fault> {
    let places: Vec<String> = parts.iter_mut().map(|part| std::mem::take(&mut part.place)).collect();
    let parts: Vec<Part> = parts.into_iter().map(Part::from).collect();
    body(&parts).map_err(|broken| {
        let place = usize::try_from(broken.index).ok().and_then(|index| places.get(index));
        Fault::invalid_input(place.cloned().unwrap_or_default(), broken.detail)
    })
}

impl From<rows::Part> for Part {
    fn from(part: rows::Part) -> Self {
        let rows::Part { name, file_name, content_type, content, place: _ } = part;
        let content = match content {
            rows::Content::Text(text) => Content::Text(text),
            rows::Content::Base64(text) => Content::Base64(text),
        };
        Self { name, file_name, content_type, content }
    }
}
