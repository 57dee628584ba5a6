//! The secret of a user, as requests carry it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use url::{Url, form_urlencoded};

use super::error::EgressError;
use super::mask::Masker;
use super::request_body::Body;
use super::sign::{self, KeyPair, NO_LINKS, SignatureScheme, Signer, Unsigned};

/// A credential, prepared for requests once and cheap to clone.
///
/// A request carries it only to the origin of its upstream. It can mask itself in responses, so
/// that an upstream that echoes requests does not reveal it.
#[derive(Clone)]
pub struct Credential(Arc<Prepared>);

struct Prepared {
    placement: Placement,
    /// The secrets to mask. The secret of the user is the first one.
    secrets: Vec<SecretString>,
    masker: OnceLock<Arc<Masker>>,
}

enum Placement {
    Header {
        name: HeaderName,
        value: HeaderValue,
    },
    Query {
        name: String,
        value: SecretString,
    },
    /// Requests carry no secret. Each is signed.
    Signature(Box<Signer>),
}

impl Credential {
    /// `Authorization: Bearer …` (RFC 6750).
    ///
    /// # Errors
    /// `InvalidRequest` if the token has a character that headers cannot have.
    pub fn bearer(token: SecretString) -> Result<Self, EgressError> {
        Self::header("authorization", "Bearer ", token)
    }

    /// A header with a secret after a fixed prefix, which may be empty.
    ///
    /// # Errors
    /// `InvalidRequest` if the name is not a header name, or prefix or secret has a character that
    /// headers cannot have.
    pub fn header(name: &str, prefix: &str, secret: SecretString) -> Result<Self, EgressError> {
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| EgressError::invalid(format!("`{name}` is not a header name for a credential")))?;
        let value = sensitive(&[prefix, secret.expose_secret()], &name)?;
        Ok(Self::prepare(Placement::Header { name, value }, vec![secret]))
    }

    /// HTTP Basic (RFC 7617). If the password is empty, the username is the secret. Some services
    /// require this.
    ///
    /// # Errors
    /// `InvalidRequest` if the username contains a colon.
    pub fn basic(username: &str, password: SecretString) -> Result<Self, EgressError> {
        if username.contains(':') {
            return Err(EgressError::invalid("a username for HTTP Basic cannot contain a colon"));
        }
        let [joined, encoded] = basic_texts(username, &password);
        let value = sensitive(&["Basic ", encoded.expose_secret()], &AUTHORIZATION)?;
        let own = if password.expose_secret().is_empty() { SecretString::from(username) } else { password };
        Ok(Self::prepare(Placement::Header { name: AUTHORIZATION, value }, vec![own, joined, encoded]))
    }

    /// HTTP Basic of an OAuth client, whose id and secret are form-encoded (RFC 6749, section 2.3.1).
    ///
    /// # Errors
    /// As [`Credential::basic`].
    pub fn client(id: &str, secret: Option<&SecretString>) -> Result<Self, EgressError> {
        let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let secret = secret.map(|secret| encode(secret.expose_secret())).unwrap_or_default();
        Self::basic(&encode(id), secret.into())
    }

    /// A query parameter.
    pub fn query(name: &str, secret: SecretString) -> Self {
        Self::prepare(Placement::Query { name: name.to_owned(), value: secret.clone() }, vec![secret])
    }

    /// A signature of each request.
    ///
    /// # Errors
    /// `InvalidRequest` if a header cannot have a part of the key, or if the key has a form that the
    /// scheme cannot use.
    pub fn signature(scheme: &SignatureScheme, keys: KeyPair) -> Result<Self, EgressError> {
        let secrets = std::iter::once(keys.secret.clone()).chain(keys.session_token.clone()).collect();
        Ok(Self::prepare(Placement::Signature(Box::new(Signer::new(scheme, keys)?)), secrets))
    }

    /// Returns `true` if this is a clone of the other credential. Equal secrets are not enough.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns `true` if both hold the same secrets. Not constant-time: the caller already holds
    /// both.
    pub fn holds_the_same(&self, other: &Self) -> bool {
        let (own, others) = (&self.0.secrets, &other.0.secrets);
        own.iter().map(ExposeSecret::expose_secret).eq(others.iter().map(ExposeSecret::expose_secret))
    }

    fn prepare(placement: Placement, secrets: Vec<SecretString>) -> Self {
        Self(Arc::new(Prepared { placement, secrets, masker: OnceLock::new() }))
    }

    /// Masks this credential in responses. Built on first use.
    pub fn masker(&self) -> &Arc<Masker> {
        self.0.masker.get_or_init(|| Arc::new(Masker::new(&self.0.secrets)))
    }

    /// As [`Credential::masker`], for the response to a request with this signature and these secrets
    /// too. A service that echoes a signature would sign whatever a connector likes.
    pub(super) fn masker_with(&self, signature: Option<&Signature>, further: &[SecretString]) -> Arc<Masker> {
        let signature = signature.map(|signature| &signature.0[..]).unwrap_or_default();
        Arc::new(Masker::new(&[&self.0.secrets[..], signature, further].concat()))
    }

    /// Returns `true` if a URL contains the credential. A secret that is too short to be
    /// distinguished from ordinary text counts only as a whole parameter.
    pub(super) fn is_in(&self, url: &Url) -> bool {
        let parameters = || url.query_pairs().flat_map(|(name, value)| [name, value]);
        self.masker().finds(url.as_str().as_bytes())
            || parameters().any(|text| self.masker().finds(text.as_bytes()))
            || parameters().any(|text| self.0.secrets.iter().any(|secret| secret.expose_secret() == text))
    }

    /// Sets the header of the credential, if it is for a header, and replaces earlier values.
    pub fn apply_header(&self, headers: &mut HeaderMap) {
        if let Placement::Header { name, value } = &self.0.placement {
            headers.insert(name.clone(), value.clone());
        }
    }

    /// The query parameter, if the credential is for one.
    pub(super) fn query_parameter(&self) -> Option<SecretField<'_>> {
        match &self.0.placement {
            Placement::Query { name, value } => Some(SecretField { name, value }),
            Placement::Header { .. } | Placement::Signature(_) => None,
        }
    }

    /// The query as it must be sent with a signature. `None` if it may stay as it is.
    pub(super) fn query_to_sign(&self, query: &str) -> Option<String> {
        match &self.0.placement {
            Placement::Signature(signer) => signer.query(query),
            Placement::Header { .. } | Placement::Query { .. } => None,
        }
    }

    /// The headers of the signature, and the signature itself, if the credential signs requests.
    ///
    /// # Errors
    /// `InvalidRequest` if the request cannot be signed.
    pub(super) fn signature_of<'a>(
        &self,
        request: impl FnOnce() -> Unsigned<'a>,
    ) -> Result<Option<SignedHeaders>, EgressError> {
        let Placement::Signature(signer) = &self.0.placement else { return Ok(None) };
        let headers = signer.headers(&request(), sign::now())?;
        let signature = headers.iter().find(|(name, _)| name == signer.header());
        let signature = Signature::in_header(signature.and_then(|(_, value)| value.to_str().ok()).unwrap_or_default());
        Ok(Some(SignedHeaders { headers, signature }))
    }

    /// A link to a URL with a signature in its query.
    ///
    /// # Errors
    /// `InvalidRequest` if the credential makes no links.
    pub(super) fn link_to(&self, method: &Method, url: Url, seconds: u32) -> Result<Url, EgressError> {
        match &self.0.placement {
            Placement::Signature(signer) => signer.link(method.as_str(), url, seconds, sign::now()),
            Placement::Header { .. } | Placement::Query { .. } => Err(EgressError::invalid(NO_LINKS)),
        }
    }

    /// The secret of the user in a form field of this name.
    pub(super) fn form_field<'a>(&'a self, name: &'a str) -> Option<SecretField<'a>> {
        self.0.secrets.first().map(|value| SecretField { name, value })
    }
}

/// A parameter of a query, or a field of a form, that has the secret of the user.
#[derive(Clone, Copy)]
pub(super) struct SecretField<'a> {
    pub(super) name: &'a str,
    value: &'a SecretString,
}

impl SecretField<'_> {
    pub(super) fn append_to(self, fields: &mut form_urlencoded::Serializer<'_, impl form_urlencoded::Target>) {
        fields.append_pair(self.name, self.value.expose_secret());
    }
}

/// A field with a secret, for [`Body::Form`].
pub fn secret_field(name: &str, secret: &SecretString) -> (String, String) {
    (name.to_owned(), secret.expose_secret().to_owned())
}

/// A JSON object whose only member is a secret.
pub fn secret_document(name: &str, secret: &SecretString) -> Body {
    Body::Json(json!({ (name): secret.expose_secret() }).to_string().into())
}

impl Body {
    /// The body with secrets in the places of their placeholders: in the whole text of JSON, and in
    /// the values of a form. No secret has a character that JSON escapes. Other bodies stay.
    pub fn with_secrets(self, secrets: &[(&str, &SecretString)]) -> Self {
        let filled = |text: &str| {
            secrets
                .iter()
                .fold(text.to_owned(), |text, (placeholder, secret)| text.replace(placeholder, secret.expose_secret()))
        };
        let is_to_fill = |text: &str| secrets.iter().any(|(placeholder, _)| text.contains(placeholder));
        match self {
            Self::Json(bytes) => match std::str::from_utf8(&bytes) {
                Ok(text) if is_to_fill(text) => Self::Json(filled(text).into()),
                _ => Self::Json(bytes),
            },
            Self::Form(fields) => Self::Form(fields.into_iter().map(|(name, value)| (name, filled(&value))).collect()),
            other => other,
        }
    }
}

/// The value of a header that is a secret, marked as sensitive.
///
/// # Errors
/// `InvalidRequest` if the secret has a character that headers cannot have.
pub fn secret_header(secret: &SecretString) -> Result<HeaderValue, EgressError> {
    let mut value = HeaderValue::try_from(secret.expose_secret())
        .map_err(|_| EgressError::invalid("the secret has a character that headers cannot have"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// The value of `Authorization` with a bearer token (RFC 6750), marked as sensitive.
///
/// # Errors
/// `InvalidRequest` if the token is empty, or has a blank or a character that is not ASCII.
pub fn bearer_header(token: &SecretString) -> Result<HeaderValue, EgressError> {
    let text = token.expose_secret();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(EgressError::invalid("a bearer token is not empty, and has only visible characters of ASCII"));
    }
    sensitive(&["Bearer ", text], &AUTHORIZATION)
}

/// The value of `Authorization` with HTTP Basic (RFC 7617), marked as sensitive.
///
/// # Errors
/// As [`secret_header`]. Base64 has no character that headers cannot have.
pub fn basic_header(username: &str, password: &SecretString) -> Result<HeaderValue, EgressError> {
    let [_, encoded] = basic_texts(username, password);
    sensitive(&["Basic ", encoded.expose_secret()], &AUTHORIZATION)
}

/// A name and a password as HTTP Basic joins them, and in base64.
fn basic_texts(username: &str, password: &SecretString) -> [SecretString; 2] {
    let joined = SecretString::from(format!("{username}:{}", password.expose_secret()));
    let encoded = SecretString::from(STANDARD.encode(joined.expose_secret()));
    [joined, encoded]
}

/// The headers that sign a request, and the signature in one of them.
pub(super) struct SignedHeaders {
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) signature: Signature,
}

/// The signature of one request, as texts to mask in its response.
#[derive(Clone)]
pub(super) struct Signature(Vec<SecretString>);

impl Signature {
    /// The whole value of a header, and the part after the words in front of the signature.
    fn in_header(value: &str) -> Self {
        let last = value.trim_end_matches('=').rsplit(['=', ':', ',', ' ']).next().unwrap_or_default();
        Self([value, last].map(SecretString::from).to_vec())
    }
}

fn sensitive(parts: &[&str], name: &HeaderName) -> Result<HeaderValue, EgressError> {
    let mut value = HeaderValue::try_from(parts.concat()).map_err(|_| {
        EgressError::invalid(format!("the credential for the header `{name}` has a character that headers cannot have"))
    })?;
    value.set_sensitive(true);
    Ok(value)
}

impl fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let placement = match &self.0.placement {
            Placement::Header { .. } => "header",
            Placement::Query { .. } => "query",
            Placement::Signature(_) => "signature",
        };
        write!(formatter, "Credential({placement}, [redacted])")
    }
}
