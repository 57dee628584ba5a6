//! What is added to a request at the last moment, and only for the origin it belongs to.

use std::fmt;
use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::error::EgressError;
use super::mask::Masker;

/// A credential, made ready for requests once and cheap to clone: keep it as long as the secret it holds is good.
///
/// It knows how to mask itself in answers, so that an upstream that echoes its requests gives nothing away.
#[derive(Clone)]
pub struct Credential(Arc<Ready>);

struct Ready {
    placement: Placement,
    /// All that is to be masked; the user's own secret comes first.
    secrets: Vec<SecretString>,
    masker: OnceLock<Arc<Masker>>,
}

enum Placement {
    Header { name: HeaderName, value: HeaderValue },
    Query { name: String, value: SecretString },
    FormField { name: String, value: SecretString },
}

impl Credential {
    /// `Authorization: Bearer …` (RFC 6750).
    ///
    /// # Errors
    /// `InvalidRequest` when the token cannot stand in a header.
    pub fn bearer(token: SecretString) -> Result<Self, EgressError> {
        Self::header("authorization", "Bearer ", token)
    }

    /// A header that holds a secret behind a fixed prefix, which may be empty.
    ///
    /// # Errors
    /// `InvalidRequest` when name, prefix or secret cannot stand in a header.
    pub fn header(name: &str, prefix: &str, secret: SecretString) -> Result<Self, EgressError> {
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| EgressError::invalid(format!("`{name}` is no header name for a credential")))?;
        let value = sensitive(&[prefix, secret.expose_secret()], &name)?;
        Ok(Self::ready(Placement::Header { name, value }, vec![secret]))
    }

    /// HTTP Basic (RFC 7617). Where the password is empty the username is the secret, as some services have it.
    ///
    /// # Errors
    /// `InvalidRequest` when the username holds a colon.
    pub fn basic(username: &str, password: SecretString) -> Result<Self, EgressError> {
        if username.contains(':') {
            return Err(EgressError::invalid("a username for HTTP Basic cannot hold a colon"));
        }
        let joined = SecretString::from(format!("{username}:{}", password.expose_secret()));
        let encoded = SecretString::from(STANDARD.encode(joined.expose_secret()));
        let value = sensitive(&["Basic ", encoded.expose_secret()], &AUTHORIZATION)?;
        let own = if password.expose_secret().is_empty() { SecretString::from(username) } else { password };
        Ok(Self::ready(Placement::Header { name: AUTHORIZATION, value }, vec![own, joined, encoded]))
    }

    /// A query parameter.
    pub fn query(name: &str, secret: SecretString) -> Self {
        Self::ready(Placement::Query { name: name.to_owned(), value: secret.clone() }, vec![secret])
    }

    /// A field of the form body; the request's body must be a form or empty.
    pub fn form_field(name: &str, secret: SecretString) -> Self {
        Self::ready(Placement::FormField { name: name.to_owned(), value: secret.clone() }, vec![secret])
    }

    /// The same secret as a form field, for services that want a token itself as an argument.
    #[must_use]
    pub fn as_form_field(&self, name: &str) -> Self {
        let secrets = self.0.secrets.clone();
        let value = secrets.first().cloned().unwrap_or_default();
        let placement = Placement::FormField { name: name.to_owned(), value };
        // It is masked in the same way, and that was costly to prepare.
        Self(Arc::new(Ready { placement, secrets, masker: OnceLock::from(Arc::clone(self.masker())) }))
    }

    /// Whether this is a clone of the other, and not merely equal.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether both hold the same secrets, wherever they put them. Takes no care of the time it takes: whoever asks knows both.
    pub fn holds_the_same(&self, other: &Self) -> bool {
        let (own, others) = (&self.0.secrets, &other.0.secrets);
        own.iter().map(ExposeSecret::expose_secret).eq(others.iter().map(ExposeSecret::expose_secret))
    }

    fn ready(placement: Placement, secrets: Vec<SecretString>) -> Self {
        Self(Arc::new(Ready { placement, secrets, masker: OnceLock::new() }))
    }

    /// What hides this credential in answers; built when first needed.
    pub fn masker(&self) -> &Arc<Masker> {
        self.0.masker.get_or_init(|| Arc::new(Masker::new(&self.0.secrets)))
    }

    /// Whether a URL gives it away. What is too short to be told from innocent text counts as a whole parameter only.
    pub(super) fn is_in(&self, url: &Url) -> bool {
        let parameters = || url.query_pairs().flat_map(|(name, value)| [name, value]);
        self.masker().finds(url.as_str().as_bytes())
            || parameters().any(|text| self.masker().finds(text.as_bytes()))
            || parameters().any(|text| self.0.secrets.iter().any(|secret| secret.expose_secret() == text))
    }

    /// Puts a header credential in place of whatever stood there.
    pub(super) fn apply_header(&self, headers: &mut HeaderMap) {
        if let Placement::Header { name, value } = &self.0.placement {
            headers.insert(name.clone(), value.clone());
        }
    }

    pub(super) fn query_parameter(&self) -> Option<(&str, &SecretString)> {
        match &self.0.placement {
            Placement::Query { name, value } => Some((name, value)),
            _ => None,
        }
    }

    pub(super) fn field(&self) -> Option<(&str, &SecretString)> {
        match &self.0.placement {
            Placement::FormField { name, value } => Some((name, value)),
            _ => None,
        }
    }
}

fn sensitive(parts: &[&str], name: &HeaderName) -> Result<HeaderValue, EgressError> {
    let mut value = HeaderValue::try_from(parts.concat()).map_err(|_| {
        EgressError::invalid(format!("the credential for the header `{name}` holds a character no header may hold"))
    })?;
    value.set_sensitive(true);
    Ok(value)
}

impl fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let placement = match &self.0.placement {
            Placement::Header { .. } => "header",
            Placement::Query { .. } => "query",
            Placement::FormField { .. } => "form field",
        };
        write!(formatter, "Credential({placement}, [redacted])")
    }
}
