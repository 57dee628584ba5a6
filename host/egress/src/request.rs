//! What is to be sent.

use std::borrow::Cow;

use bytes::Bytes;
use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use secrecy::ExposeSecret;
use tokio::time::Instant;
use url::form_urlencoded;

use super::credential::Credential;
use super::error::EgressError;
use super::headers::Headers;

/// One request to an upstream.
#[derive(Clone, Debug)]
pub struct Request {
    /// Any, though only GET, HEAD, PUT and DELETE are tried again.
    pub method: Method,
    /// Appended to the upstream's base URL; may carry a query.
    pub path: String,
    /// Besides those that egress sets itself.
    pub headers: Headers,
    /// Held in memory, so that it can be sent again.
    pub body: Body,
    /// Added where the request goes to the upstream's own origin.
    pub credential: Option<Credential>,
    /// When everything has to be over, the reading of the answer's body included.
    pub deadline: Instant,
    /// Most bytes that the answer's body may have, after decompression.
    pub limit: u64,
}

/// The body of a request.
#[derive(Clone, Debug, Default)]
pub enum Body {
    /// None.
    #[default]
    Empty,
    /// JSON text.
    Json(Bytes),
    /// Fields, encoded as `application/x-www-form-urlencoded` when it is sent.
    Form(Vec<(String, String)>),
    /// Anything else, with its media type.
    Typed {
        /// For the header `Content-Type`.
        content_type: String,
        /// The content.
        bytes: Bytes,
    },
}

impl Body {
    /// The bytes to send, and the headers that belong to them.
    ///
    /// # Errors
    /// `InvalidRequest` when the media type is no header value, or a credential cannot be a field of this body.
    pub(super) fn encode(
        &self,
        headers: &mut HeaderMap,
        credential: Option<&Credential>,
    ) -> Result<Option<Bytes>, EgressError> {
        let field = credential.and_then(Credential::field);
        if field.is_some() && !matches!(self, Self::Empty | Self::Form(_)) {
            return Err(EgressError::invalid("a credential as form field needs a body that is a form, or none"));
        }
        match self {
            Self::Empty if field.is_none() => Ok(None),
            Self::Empty | Self::Form(_) => {
                let fields: Cow<'_, [(String, String)]> = match self {
                    Self::Form(fields) => fields.as_slice().into(),
                    _ => Cow::Borrowed(&[]),
                };
                let mut form = form_urlencoded::Serializer::new(String::new());
                form.extend_pairs(fields.iter());
                if let Some((name, value)) = field {
                    form.append_pair(name, value.expose_secret());
                }
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
                Ok(Some(form.finish().into()))
            }
            Self::Json(text) => {
                headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
                Ok(Some(text.clone()))
            }
            Self::Typed { content_type, bytes } => {
                let value = HeaderValue::from_str(content_type)
                    .map_err(|_| EgressError::invalid(format!("{content_type:?} is not a media type")))?;
                headers.insert(CONTENT_TYPE, value);
                Ok(Some(bytes.clone()))
            }
        }
    }
}
