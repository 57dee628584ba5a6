//! The body of a request.

use std::borrow::Cow;

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use url::form_urlencoded;

use super::credential::SecretField;
use super::error::EgressError;
use super::multipart::Multipart;
use super::streamed_body::{OutgoingBody, StreamedBody};

/// The body of a request.
#[derive(Clone, Debug, Default)]
pub enum Body {
    /// No body.
    #[default]
    Empty,
    /// JSON text.
    Json(Bytes),
    /// Fields, sent as `application/x-www-form-urlencoded`.
    Form(Vec<(String, String)>),
    /// Bytes of another media type.
    Typed {
        /// The value of the header `Content-Type`.
        content_type: String,
        /// The content.
        bytes: Bytes,
    },
    /// A form with files, sent as `multipart/form-data`.
    Multipart(Multipart),
    /// A body that is sent while it is read. The request is not repeated once a part was sent.
    Streamed {
        /// The value of the header `Content-Type`.
        content_type: String,
        /// The content.
        content: StreamedBody,
    },
}

impl Body {
    /// Returns `true` if the request can be sent again.
    pub fn is_repeatable(&self) -> bool {
        !matches!(self, Self::Streamed { content, .. } if content.has_begun())
    }

    /// The number of bytes to encode at each attempt. Other bodies than forms are sent as they are.
    pub(super) fn bytes_to_encode(&self) -> usize {
        match self {
            Self::Form(fields) => {
                let text: usize = fields.iter().map(|(name, value)| name.len() + value.len()).sum();
                text + size_of_val(fields.as_slice())
            }
            Self::Empty | Self::Json(_) | Self::Typed { .. } | Self::Multipart(_) | Self::Streamed { .. } => 0,
        }
    }

    /// The body to send. Also sets the header `Content-Type`. `secret` is a further field of a
    /// form; the body is then a form or empty.
    ///
    /// # Errors
    /// `InvalidRequest` if the media type has a character that headers cannot have.
    pub(super) fn encode(
        &self,
        headers: &mut HeaderMap,
        secret: Option<SecretField<'_>>,
    ) -> Result<OutgoingBody, EgressError> {
        match self {
            Self::Empty if secret.is_none() => Ok(None.into()),
            Self::Empty | Self::Form(_) => {
                let fields: Cow<'_, [(String, String)]> = match self {
                    Self::Form(fields) => fields.as_slice().into(),
                    _ => Cow::Borrowed(&[]),
                };
                let mut form = form_urlencoded::Serializer::new(String::new());
                form.extend_pairs(fields.iter());
                if let Some(field) = secret {
                    field.append_to(&mut form);
                }
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
                Ok(Some(Bytes::from(form.finish())).into())
            }
            Self::Json(text) => {
                headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
                Ok(Some(text.clone()).into())
            }
            Self::Typed { content_type, bytes } => {
                headers.insert(CONTENT_TYPE, media_type(content_type)?);
                Ok(Some(bytes.clone()).into())
            }
            Self::Multipart(multipart) => {
                headers.insert(CONTENT_TYPE, media_type(multipart.content_type())?);
                Ok(Some(multipart.body().clone()).into())
            }
            Self::Streamed { content_type, content } => {
                headers.insert(CONTENT_TYPE, media_type(content_type)?);
                Ok(OutgoingBody::Streamed(content.clone()))
            }
        }
    }
}

fn media_type(text: &str) -> Result<HeaderValue, EgressError> {
    HeaderValue::from_str(text).map_err(|_| EgressError::invalid(format!("{text:?} is not a media type")))
}
