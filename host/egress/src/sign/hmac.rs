//! HMAC over a text of parts of the request.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract_rules::signature::{Encoding, Hash, HmacSignature, KEY_ID, SecretForm, TextPart, TimestampForm};
use hyper::header::{HeaderName, HeaderValue};
use ring::{digest, hmac};
use secrecy::{ExposeSecret, SecretSlice};

use super::{KeyPair, Unsigned, hex, needs_body, value_of};
use crate::error::EgressError;

/// Signs requests by HMAC.
pub(crate) struct Hmac {
    declared: HmacSignature<String, Vec<TextPart<String>>>,
    header: HeaderName,
    /// The text before the signature, with the id of the key.
    prefix: String,
    id: String,
    key: hmac::Key,
    key_header: Option<HeaderName>,
    time_header: Option<HeaderName>,
}

impl Hmac {
    /// The header that has the signature.
    pub(super) fn header(&self) -> &HeaderName {
        &self.header
    }

    /// # Errors
    /// `InvalidRequest` if a header cannot have a part of the key, or if the secret has another form.
    pub(super) fn new(
        declared: HmacSignature<String, Vec<TextPart<String>>>,
        header: &str,
        prefix: &str,
        keys: KeyPair,
    ) -> Result<Self, EgressError> {
        let name = |name: &str| {
            HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| EgressError::invalid(format!("`{name}` is not a header name for a signature")))
        };
        value_of(&keys.id)?;
        let prefix = prefix.replace(KEY_ID, &keys.id);
        value_of(&prefix)?;
        let secret = keys.secret.expose_secret();
        let secret: SecretSlice<u8> = match declared.secret {
            SecretForm::Text => secret.as_bytes().to_vec().into(),
            SecretForm::Base64 => STANDARD
                .decode(secret)
                .map_err(|_| EgressError::invalid("the secret of the account is not base64 (RFC 4648, section 4)"))?
                .into(),
        };
        let algorithm = match declared.hash {
            Hash::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            Hash::Sha256 => hmac::HMAC_SHA256,
            Hash::Sha512 => hmac::HMAC_SHA512,
        };
        Ok(Self {
            header: name(header)?,
            prefix,
            key: hmac::Key::new(algorithm, secret.expose_secret()),
            key_header: declared.key_header.as_deref().map(name).transpose()?,
            time_header: declared.timestamp.as_ref().map(|timestamp| name(&timestamp.header)).transpose()?,
            id: keys.id,
            declared,
        })
    }

    /// The headers that sign a request.
    ///
    /// # Errors
    /// `InvalidRequest` if the body is signed and is not in memory.
    pub(super) fn headers(
        &self,
        request: &Unsigned<'_>,
        at: SystemTime,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, EgressError> {
        let time = self.declared.timestamp.as_ref().map(|timestamp| time_as(timestamp.form, at)).unwrap_or_default();
        let mut context = hmac::Context::with_key(&self.key);
        for (index, part) in self.declared.text.iter().enumerate() {
            if index > 0 {
                context.update(self.declared.separator.as_bytes());
            }
            match part {
                TextPart::Method => context.update(request.method.as_bytes()),
                TextPart::Host => context.update(request.host.as_bytes()),
                TextPart::Path => context.update(request.path.as_bytes()),
                TextPart::Query => context.update(request.query.as_bytes()),
                TextPart::Target => {
                    context.update(request.path.as_bytes());
                    if !request.query.is_empty() {
                        context.update(b"?");
                        context.update(request.query.as_bytes());
                    }
                }
                TextPart::Timestamp => context.update(time.as_bytes()),
                TextPart::KeyId => context.update(self.id.as_bytes()),
                TextPart::Body => context.update(request.body.ok_or_else(needs_body)?),
                TextPart::BodyHash => {
                    let hash = digest::digest(self.digest(), request.body.ok_or_else(needs_body)?);
                    context.update(hex(hash.as_ref()).as_bytes());
                }
                TextPart::Literal(text) => context.update(text.as_bytes()),
            }
        }
        let tag = context.sign();
        let signature = match self.declared.encoding {
            Encoding::Hex => hex(tag.as_ref()),
            Encoding::Base64 => STANDARD.encode(tag.as_ref()),
        };
        let mut headers = vec![(self.header.clone(), value_of(&[&*self.prefix, &*signature].concat())?)];
        if let Some(name) = &self.time_header {
            headers.push((name.clone(), value_of(&time)?));
        }
        if let Some(name) = &self.key_header {
            headers.push((name.clone(), value_of(&self.id)?));
        }
        Ok(headers)
    }

    fn digest(&self) -> &'static digest::Algorithm {
        match self.declared.hash {
            Hash::Sha1 => &digest::SHA1_FOR_LEGACY_USE_ONLY,
            Hash::Sha256 => &digest::SHA256,
            Hash::Sha512 => &digest::SHA512,
        }
    }
}

fn time_as(form: TimestampForm, at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    match form {
        TimestampForm::Seconds => since.as_secs().to_string(),
        TimestampForm::Milliseconds => since.as_millis().to_string(),
        TimestampForm::Rfc3339 => humantime::format_rfc3339_seconds(at).to_string(),
    }
}
