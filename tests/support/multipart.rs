//! Forms with files, as a service reads them.

use bytes::Bytes;
use futures_util::{FutureExt, stream};

use crate::upstream::Seen;

/// A part of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Name of the field.
    pub name: String,
    /// Name of the file.
    pub file_name: Option<String>,
    /// Media type.
    pub content_type: Option<String>,
    /// The content.
    pub content: Bytes,
}

impl Part {
    /// A field that is text.
    pub fn text(name: &str, text: &str) -> Self {
        let content = Bytes::copy_from_slice(text.as_bytes());
        Self { name: name.to_owned(), file_name: None, content_type: None, content }
    }

    /// A file.
    pub fn file(name: &str, file_name: &str, content_type: &str, content: &[u8]) -> Self {
        Self {
            name: name.to_owned(),
            file_name: Some(file_name.to_owned()),
            content_type: Some(content_type.to_owned()),
            content: Bytes::copy_from_slice(content),
        }
    }
}

impl Seen {
    /// The parts of the body, which is a form with files.
    ///
    /// # Panics
    /// If it is not.
    pub fn multipart(&self) -> Vec<Part> {
        let boundary = multer::parse_boundary(self.header("content-type")).unwrap();
        let body = stream::iter([Ok::<_, std::io::Error>(self.body.clone())]);
        let mut form = multer::Multipart::new(body, boundary);
        let read = async {
            let mut parts = Vec::new();
            while let Some(field) = form.next_field().await.unwrap() {
                parts.push(Part {
                    name: field.name().unwrap_or_default().to_owned(),
                    file_name: field.file_name().map(str::to_owned),
                    content_type: field.headers().get("content-type").map(|value| value.to_str().unwrap().to_owned()),
                    content: field.bytes().await.unwrap(),
                });
            }
            parts
        };
        // The whole body is there, so nothing waits.
        read.now_or_never().unwrap()
    }
}
