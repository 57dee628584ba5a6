//! Signatures of requests: the scheme of AWS, and schemes that compute an HMAC over parts of a
//! request.
//!
//! The gateway computes signatures, so that a connector does not see the secret. The types are
//! generic over texts and lists: a table of the SDK borrows them, and the gateway owns them.

use crate::{Broken, ensure, header};

/// The text that the gateway replaces by the id of the account's key, before a signature.
pub const KEY_ID: &str = "{key_id}";

/// Maximum number of parts of a signed text.
const TEXT_PARTS: usize = 32;

/// Maximum length of a literal part or of the text between parts, in bytes.
const LITERAL_BYTES: usize = 256;

/// Maximum length of the name of a service or region, in bytes.
const NAME_BYTES: usize = 64;

/// Maximum lifetime of a signed link: seven days, as AWS has it.
pub const LINK_SECONDS: u32 = 7 * 24 * 60 * 60;

/// AWS Signature Version 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AwsSignature<T> {
    /// Name of the service, for example `s3`.
    pub service: T,
    /// The region.
    pub region: Region<T>,
}

/// The region of a signature of AWS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region<T> {
    /// This region, for all accounts.
    Fixed(T),
    /// The part of the account's address with this name.
    Part(T),
}

/// A signature by HMAC (RFC 2104).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HmacSignature<T, P> {
    /// The hash function.
    pub hash: Hash,
    /// The form in which the account's secret is given.
    pub secret: SecretForm,
    /// The form in which the signature is sent.
    pub encoding: Encoding,
    /// The parts of the signed text, in their order.
    pub text: P,
    /// The text between the parts.
    pub separator: T,
    /// The time of the request, if the text has it.
    pub timestamp: Option<Timestamp<T>>,
    /// The header for the id of the account's key.
    pub key_header: Option<T>,
}

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// SHA-1, for services that have no better one.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

/// The form in which a secret is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretForm {
    /// The bytes of the text are the key.
    Text,
    /// The text is the key in base64.
    Base64,
}

/// The form in which a signature is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Lower-case hexadecimal digits.
    Hex,
    /// Base64 with padding (RFC 4648, section 4).
    Base64,
}

/// A part of the signed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPart<T> {
    /// The method in upper case.
    Method,
    /// The host, with the port if it is not the default one.
    Host,
    /// The path as it is sent.
    Path,
    /// The query as it is sent, without the question mark.
    Query,
    /// The path, and the query after a question mark if there is one.
    Target,
    /// The timestamp as its header has it.
    Timestamp,
    /// The id of the account's key.
    KeyId,
    /// The bytes of the body.
    Body,
    /// The hash of the body in lower-case hexadecimal digits.
    BodyHash,
    /// This text.
    Literal(T),
}

/// The time of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp<T> {
    /// The header that carries it.
    pub header: T,
    /// Its form.
    pub form: TimestampForm,
}

/// The form of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampForm {
    /// Seconds since 1970.
    Seconds,
    /// Milliseconds since 1970.
    Milliseconds,
    /// `2015-08-30T12:36:00Z` (RFC 3339).
    Rfc3339,
}

impl<T: AsRef<str>> AwsSignature<T> {
    /// The same declaration with borrowed texts.
    pub fn borrowed(&self) -> AwsSignature<&str> {
        let region = match &self.region {
            Region::Fixed(region) => Region::Fixed(region.as_ref()),
            Region::Part(part) => Region::Part(part.as_ref()),
        };
        AwsSignature { service: self.service.as_ref(), region }
    }

    /// # Errors
    /// The rule that the declaration breaks. The part that names the region is not looked up.
    pub fn check(&self) -> Result<(), Broken> {
        ensure(is_name(self.service.as_ref()), "a service has 1 to 64 characters of `a-z`, `0-9` and `-`")?;
        match &self.region {
            Region::Fixed(region) => {
                ensure(is_name(region.as_ref()), "a region has 1 to 64 characters of `a-z`, `0-9` and `-`")
            }
            Region::Part(_) => Ok(()),
        }
    }
}

/// Returns `true` for a name of a service or of a region.
#[must_use]
pub fn is_name(text: &str) -> bool {
    (1..=NAME_BYTES).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

impl<T: AsRef<str>, P: AsRef<[TextPart<T>]>> HmacSignature<T, P> {
    /// The same declaration with borrowed texts.
    pub fn borrowed(&self) -> HmacSignature<&str, Vec<TextPart<&str>>> {
        HmacSignature {
            hash: self.hash,
            secret: self.secret,
            encoding: self.encoding,
            text: self.text.as_ref().iter().map(TextPart::borrowed).collect(),
            separator: self.separator.as_ref(),
            timestamp: self
                .timestamp
                .as_ref()
                .map(|timestamp| Timestamp { header: timestamp.header.as_ref(), form: timestamp.form }),
            key_header: self.key_header.as_ref().map(AsRef::as_ref),
        }
    }

    /// Returns `true` if requests have the id of the account's key. `prefix` is the text before the
    /// signature.
    pub fn needs_key_id(&self, prefix: &str) -> bool {
        let in_text = self.text.as_ref().iter().any(|part| matches!(part, TextPart::KeyId));
        in_text || self.key_header.is_some() || prefix.contains(KEY_ID)
    }

    /// Checks the declaration. `header` is the name of the header for the signature.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn check(&self, header: &str) -> Result<(), Broken> {
        let parts = self.text.as_ref();
        ensure((1..=TEXT_PARTS).contains(&parts.len()), "the signed text has 1 to 32 parts")?;
        let literals = parts.iter().filter_map(|part| match part {
            TextPart::Literal(text) => Some(text.as_ref()),
            _ => None,
        });
        for text in literals.chain([self.separator.as_ref()]) {
            ensure(text.len() <= LITERAL_BYTES, "a literal part or separator has at most 256 bytes")?;
        }
        let in_text = parts.iter().any(|part| matches!(part, TextPart::Timestamp));
        ensure(
            in_text == self.timestamp.is_some(),
            "the signed text has the timestamp as a part if, and only if, a header carries it",
        )?;
        let mut names = vec![header];
        let timestamp = self.timestamp.as_ref().map(|timestamp| timestamp.header.as_ref());
        for name in timestamp.into_iter().chain(self.key_header.as_ref().map(AsRef::as_ref)) {
            header::key(name)?;
            let is_new = names.iter().all(|known| !known.eq_ignore_ascii_case(name));
            ensure(is_new, "signature, timestamp and key id have different headers")?;
            names.push(name);
        }
        Ok(())
    }
}

impl<T: AsRef<str>> TextPart<T> {
    fn borrowed(&self) -> TextPart<&str> {
        match self {
            Self::Method => TextPart::Method,
            Self::Host => TextPart::Host,
            Self::Path => TextPart::Path,
            Self::Query => TextPart::Query,
            Self::Target => TextPart::Target,
            Self::Timestamp => TextPart::Timestamp,
            Self::KeyId => TextPart::KeyId,
            Self::Body => TextPart::Body,
            Self::BodyHash => TextPart::BodyHash,
            Self::Literal(text) => TextPart::Literal(text.as_ref()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hmac() -> HmacSignature<&'static str, Vec<TextPart<&'static str>>> {
        HmacSignature {
            hash: Hash::Sha256,
            secret: SecretForm::Text,
            encoding: Encoding::Hex,
            text: vec![TextPart::Timestamp, TextPart::Method, TextPart::Target, TextPart::Body],
            separator: "\n",
            timestamp: Some(Timestamp { header: "X-Time", form: TimestampForm::Seconds }),
            key_header: Some("X-Key"),
        }
    }

    #[test]
    fn names_of_services_and_regions_are_in_lower_case() {
        let of = |service, region| AwsSignature { service, region: Region::Fixed(region) }.check();
        assert_eq!(of("s3", "eu-central-1"), Ok(()));
        for (service, region) in [("", "eu"), ("S3", "eu"), ("s3", ""), ("s3", "eu/1"), ("s3", "e\n")] {
            assert!(of(service, region).is_err(), "{service} {region}");
        }
    }

    #[test]
    fn each_mistake_of_an_hmac_is_found() {
        assert_eq!(hmac().check("X-Signature"), Ok(()));
        let broken = |change: fn(&mut HmacSignature<&'static str, Vec<TextPart<&'static str>>>), words: &str| {
            let mut declared = hmac();
            change(&mut declared);
            let rule = declared.check("X-Signature").unwrap_err().to_string();
            assert!(rule.contains(words), "{rule}");
        };
        broken(|declared| declared.text.clear(), "1 to 32 parts");
        broken(|declared| declared.timestamp = None, "the timestamp as a part");
        broken(|declared| declared.text = vec![TextPart::Body], "the timestamp as a part");
        broken(|declared| declared.key_header = Some("x-time"), "different headers");
        broken(|declared| declared.key_header = Some("X-SIGNATURE"), "different headers");
        broken(|declared| declared.key_header = Some("Host"), "cannot hold a key");
    }

    #[test]
    fn a_key_id_is_needed_where_it_is_sent_or_signed() {
        assert!(hmac().needs_key_id(""));
        let without = HmacSignature { key_header: None, ..hmac() };
        assert!(!without.needs_key_id("HMAC ") && without.needs_key_id("HMAC {key_id}:"));
        assert!(HmacSignature { text: vec![TextPart::KeyId], ..without }.needs_key_id(""));
    }
}
