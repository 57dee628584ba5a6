//! AWS Signature Version 4.
//!
//! The signed text is built as the page "Create a signed AWS API request" of the AWS documentation
//! describes. S3 differs from other services: its paths are encoded once and not normalised, and
//! its requests carry the hash of the body.

use std::time::SystemTime;

use contract_rules::signature::{AwsSignature, Region};
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use ring::{digest, hmac};
use secrecy::{ExposeSecret, SecretSlice};
use url::{Position, Url};

use super::{KeyPair, Unsigned, header, hex, value_of};
use crate::error::EgressError;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// The hash of a body in the place of which none is signed.
const UNSIGNED: &str = "UNSIGNED-PAYLOAD";

/// Headers that the gateway or a proxy changes after the request was signed.
const NOT_SIGNED: [&str; 4] = ["authorization", "traceparent", "tracestate", "x-amzn-trace-id"];

/// Signs requests to one service in one region.
pub(crate) struct Aws {
    service: String,
    region: String,
    keys: KeyPair,
    /// The service S3 has its own rules.
    pub(super) paths: Paths,
    carries_hash: bool,
}

/// How a path is signed.
#[derive(Clone, Copy)]
pub(super) struct Paths {
    pub(super) are_normalized: bool,
    pub(super) are_encoded_again: bool,
}

impl Aws {
    /// # Errors
    /// `InvalidRequest` if a header cannot have a part of the key.
    pub(super) fn new(declared: &AwsSignature<String>, keys: KeyPair) -> Result<Self, EgressError> {
        let is_s3 = matches!(declared.service.as_str(), "s3" | "s3-object-lambda" | "s3express");
        let region = match &declared.region {
            Region::Fixed(region) => region,
            Region::Part(name) => {
                return Err(EgressError::invalid(format!(
                    "the account's address has no `{name}`, which is the region of signatures; connect the account again"
                )));
            }
        };
        let token = keys.session_token.as_ref();
        if !keys.id.bytes().all(|byte| byte.is_ascii_alphanumeric()) || keys.id.is_empty() {
            return Err(EgressError::invalid("the id of an access key of AWS has only letters and digits"));
        }
        token.map(|token| value_of(token.expose_secret())).transpose()?;
        Ok(Self {
            service: declared.service.clone(),
            region: region.clone(),
            keys,
            paths: Paths { are_normalized: !is_s3, are_encoded_again: !is_s3 },
            carries_hash: is_s3,
        })
    }

    /// The headers that sign a request.
    ///
    /// # Errors
    /// `InvalidRequest` if the body is not in memory, unless the service takes unsigned bodies.
    pub(super) fn headers(
        &self,
        request: &Unsigned<'_>,
        at: SystemTime,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, EgressError> {
        let hash = match request.body {
            Some(body) => hex(digest::digest(&digest::SHA256, body).as_ref()),
            None if self.carries_hash => UNSIGNED.to_owned(),
            None => return Err(super::needs_body()),
        };
        let time = timestamp(at);
        let mut added = vec![header("x-amz-date", &time)?];
        if self.carries_hash {
            added.push(header("x-amz-content-sha256", &hash)?);
        }
        if let Some(token) = &self.keys.session_token {
            added.push(header("x-amz-security-token", token.expose_secret())?);
        }
        let mut all: HeaderMap = request.headers.clone();
        for (name, value) in &added {
            all.insert(name.clone(), value.clone());
        }
        let (names, signed) = canonical_headers(&all, request.host)?;
        let path = canonical_path(request.path, self.paths);
        let query = canonical_query(request.query);
        let canonical = [request.method, &path, &query, &signed, &names, &hash].join("\n");
        let (scope, signature) = self.signature(&canonical, &time);
        let id = &self.keys.id;
        let authorization =
            format!("{ALGORITHM} Credential={id}/{scope}, SignedHeaders={names}, Signature={signature}");
        added.push((AUTHORIZATION, value_of(&authorization)?));
        Ok(added)
    }

    /// A link to a URL. Its signature is in its query, and it ends after this number of seconds.
    pub(crate) fn link(&self, method: &str, mut url: Url, seconds: u32, at: SystemTime) -> Result<Url, EgressError> {
        let host = &url[Position::BeforeHost..Position::AfterPort];
        let query = plain_query(url.query().unwrap_or_default());
        let query = self.link_query(method, host, (url.path(), &query), seconds, at)?;
        url.set_query(Some(&query));
        Ok(url)
    }

    /// The query of a link, with its signature.
    pub(super) fn link_query(
        &self,
        method: &str,
        host: &str,
        (path, query): (&str, &str),
        seconds: u32,
        at: SystemTime,
    ) -> Result<String, EgressError> {
        let time = timestamp(at);
        let scope = self.scope(time.get(..8).unwrap_or_default());
        let mut query = query.to_owned();
        let seconds = seconds.to_string();
        let credential = format!("{}/{scope}", self.keys.id);
        let token = self.keys.session_token.as_ref().map(ExposeSecret::expose_secret);
        let parameters = [
            ("X-Amz-Algorithm", Some(ALGORITHM)),
            ("X-Amz-Credential", Some(credential.as_str())),
            ("X-Amz-Date", Some(time.as_str())),
            ("X-Amz-Expires", Some(seconds.as_str())),
            ("X-Amz-SignedHeaders", Some("host")),
            ("X-Amz-Security-Token", token),
        ];
        for (name, value) in parameters {
            let Some(value) = value else { continue };
            if !query.is_empty() {
                query.push('&');
            }
            query.push_str(name);
            query.push('=');
            encode(value.as_bytes(), false, &mut query);
        }
        let (names, signed) = canonical_headers(&HeaderMap::new(), host)?;
        let path = canonical_path(path, self.paths);
        let hash = match self.carries_hash {
            true => UNSIGNED.to_owned(),
            false => hex(digest::digest(&digest::SHA256, b"").as_ref()),
        };
        let canonical = [method, &path, &canonical_query(&query), &signed, &names, &hash].join("\n");
        let (_, signature) = self.signature(&canonical, &time);
        Ok(format!("{query}&X-Amz-Signature={signature}"))
    }

    fn scope(&self, date: &str) -> String {
        [date, &self.region, &self.service, "aws4_request"].join("/")
    }

    /// The scope of the key, and the signature of a canonical request.
    fn signature(&self, canonical: &str, time: &str) -> (String, String) {
        let date = time.get(..8).unwrap_or_default();
        let scope = self.scope(date);
        let hash = hex(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref());
        let text = [ALGORITHM, time, &scope, &hash].join("\n");
        let secret = SecretSlice::from(["AWS4", self.keys.secret.expose_secret()].concat().into_bytes());
        let mut key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose_secret());
        for part in [date, &self.region, &self.service, "aws4_request"] {
            key = hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&key, part.as_bytes()).as_ref());
        }
        (scope, hex(hmac::sign(&key, text.as_bytes()).as_ref()))
    }
}

/// A time such as `20150830T123600Z`.
fn timestamp(at: SystemTime) -> String {
    humantime::format_rfc3339_seconds(at).to_string().replace(['-', ':'], "")
}

/// The names of the signed headers, and their lines with the line of the host. Both are sorted.
fn canonical_headers(headers: &HeaderMap, host: &str) -> Result<(String, String), EgressError> {
    let mut names: Vec<&str> =
        headers.keys().map(HeaderName::as_str).filter(|name| !NOT_SIGNED.contains(name)).collect();
    if !names.contains(&"host") {
        names.push("host");
    }
    names.sort_unstable();
    let mut lines = String::new();
    for name in &names {
        lines.push_str(name);
        lines.push(':');
        if *name == "host" {
            lines.push_str(host);
        } else {
            for (index, value) in headers.get_all(*name).iter().enumerate() {
                let value = std::str::from_utf8(value.as_bytes()).map_err(|_| {
                    EgressError::invalid(format!("the header `{name}` is no text, so it cannot be signed"))
                })?;
                if index > 0 {
                    lines.push(',');
                }
                let words: Vec<&str> = value.split_ascii_whitespace().collect();
                lines.push_str(&words.join(" "));
            }
        }
        lines.push('\n');
    }
    Ok((names.join(";"), lines))
}

fn canonical_path(path: &str, paths: Paths) -> String {
    let path = match paths.are_normalized {
        true => normalized(path),
        false => path.to_owned(),
    };
    let mut canonical = String::with_capacity(path.len());
    match paths.are_encoded_again {
        true => encode(path.as_bytes(), true, &mut canonical),
        false => encode(&decoded(&path), true, &mut canonical),
    }
    if canonical.is_empty() { "/".to_owned() } else { canonical }
}

/// A path without empty segments and dot segments.
fn normalized(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    let is_folder = ["/", "/.", "/.."].iter().any(|end| path.ends_with(end)) && !segments.is_empty();
    format!("/{}{}", segments.join("/"), if is_folder { "/" } else { "" })
}

/// A query in which a space is `%20`. Services read a plus sign as a space or as itself, and AWS
/// signs the space as `%20`.
pub(super) fn plain_query(query: &str) -> String {
    query.replace('+', "%20")
}

/// The parameters of a query, encoded anew and sorted.
fn canonical_query(query: &str) -> String {
    let mut parameters: Vec<(String, String)> = query
        .split('&')
        .filter(|parameter| !parameter.is_empty())
        .map(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let encoded = |text: &str| {
                let mut encoded = String::with_capacity(text.len());
                encode(&decoded(text), false, &mut encoded);
                encoded
            };
            (encoded(name), encoded(value))
        })
        .collect();
    parameters.sort_unstable();
    parameters.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

/// Decodes percent-encoded bytes. Other bytes stay as they are.
fn decoded(text: &str) -> Vec<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if let (b'%', [high, low, after @ ..]) = (first, after)
            && let (Some(high), Some(low)) = (digit(high), digit(low))
        {
            decoded.push((high << 4) | low);
            rest = after;
        } else {
            decoded.push(*first);
        }
    }
    decoded
}

/// Encodes all bytes but the unreserved characters of RFC 3986.
fn encode(bytes: &[u8], keeps_slash: bool, into: &mut String) {
    for &byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => into.push(char::from(byte)),
            b'/' if keeps_slash => into.push('/'),
            _ => into.push_str(&format!("%{byte:02X}")),
        }
    }
}
