//! Signs requests with the secret of a user, so that they carry a signature in place of the secret.
//!
//! - `aws`: AWS Signature Version 4, in a header or in the query of a link
//! - `hmac`: HMAC over a text of parts of the request
//!
//! The functions compute only. They take the time and the request as it is about to be sent, and
//! return the headers to add. A request is signed again for each attempt, because a signature holds
//! for some minutes and for one address.

mod aws;
mod hmac;

use std::time::SystemTime;

use contract_rules::signature::{AwsSignature, HmacSignature, TextPart};
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use secrecy::SecretString;
use url::Url;

use super::error::EgressError;

pub(super) use self::aws::Aws;
pub(super) use self::hmac::Hmac;

/// The rule for links that carry a signature.
pub(super) const NO_LINKS: &str = "signed links need a connector that declares `aws-signature-v4`";

/// A key of a user: its id and its secret.
#[derive(Clone)]
pub struct KeyPair {
    /// The id, which requests show. Empty if the service needs none.
    pub id: String,
    /// The secret, which no request carries.
    pub secret: SecretString,
    /// The token of a session, which requests carry with the signature.
    pub session_token: Option<SecretString>,
}

/// How requests are signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignatureScheme {
    /// AWS Signature Version 4. The region is [fixed](contract_rules::signature::Region::Fixed).
    Aws(AwsSignature<String>),
    /// HMAC.
    Hmac {
        /// The declaration of the connector.
        declared: HmacSignature<String, Vec<TextPart<String>>>,
        /// The header for the signature.
        header: String,
        /// The text before the signature.
        prefix: String,
    },
}

/// Signs the requests of one user.
#[expect(clippy::large_enum_variant, reason = "a credential holds it in a box")]
pub(super) enum Signer {
    Aws(Aws),
    Hmac(Hmac),
}

/// A request that is about to be sent.
pub(super) struct Unsigned<'a> {
    pub(super) method: &'a str,
    /// The host, with the port if it is not the default one of the scheme.
    pub(super) host: &'a str,
    /// The path as it is sent.
    pub(super) path: &'a str,
    /// The query as it is sent.
    pub(super) query: &'a str,
    /// All headers that the request has.
    pub(super) headers: &'a HeaderMap,
    /// The body. `None` if it is not in memory.
    pub(super) body: Option<&'a [u8]>,
}

impl Signer {
    /// # Errors
    /// `InvalidRequest` if a header cannot have a part of the key, or if the key cannot be used.
    pub(super) fn new(scheme: &SignatureScheme, keys: KeyPair) -> Result<Self, EgressError> {
        Ok(match scheme {
            SignatureScheme::Aws(declared) => Self::Aws(Aws::new(declared, keys)?),
            SignatureScheme::Hmac { declared, header, prefix } => {
                Self::Hmac(Hmac::new(declared.clone(), header, prefix, keys)?)
            }
        })
    }

    /// The query as it must be sent, so that the service reads what was signed. `None` if it may stay.
    pub(super) fn query(&self, query: &str) -> Option<String> {
        match self {
            Self::Aws(_) if query.contains('+') => Some(aws::plain_query(query)),
            Self::Aws(_) | Self::Hmac(_) => None,
        }
    }

    /// A link to a URL with a signature in its query.
    ///
    /// # Errors
    /// `InvalidRequest` if the scheme has no such links.
    pub(super) fn link(&self, method: &str, url: Url, seconds: u32, at: SystemTime) -> Result<Url, EgressError> {
        match self {
            Self::Aws(aws) => aws.link(method, url, seconds, at),
            Self::Hmac(_) => Err(EgressError::invalid(NO_LINKS)),
        }
    }

    /// The headers that sign a request.
    ///
    /// # Errors
    /// `InvalidRequest` if the body must be in memory and is not.
    pub(super) fn headers(
        &self,
        request: &Unsigned<'_>,
        at: SystemTime,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, EgressError> {
        match self {
            Self::Aws(aws) => aws.headers(request, at),
            Self::Hmac(hmac) => hmac.headers(request, at),
        }
    }

    /// The header that has the signature, perhaps after other text.
    pub(super) fn header(&self) -> &HeaderName {
        match self {
            Self::Aws(_) => &AUTHORIZATION,
            Self::Hmac(hmac) => hmac.header(),
        }
    }
}

/// The time of a signature. The service compares it with the present time.
pub(super) fn now() -> SystemTime {
    SystemTime::now()
}

/// The error of a request whose body has not been read, although the signature needs it.
fn needs_body() -> EgressError {
    EgressError::invalid(
        "the body is sent while it arrives, so it cannot be signed: send it with a `Content-Length` and within the limit of bodies that the \
         gateway keeps in memory",
    )
}

/// A header whose value is made of the user's key.
fn header(name: &'static str, value: &str) -> Result<(HeaderName, HeaderValue), EgressError> {
    Ok((HeaderName::from_static(name), value_of(value)?))
}

fn value_of(text: &str) -> Result<HeaderValue, EgressError> {
    let mut value = HeaderValue::try_from(text)
        .map_err(|_| EgressError::invalid("the account's key has a character that headers cannot have"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
