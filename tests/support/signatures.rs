//! Verifies signatures of requests as a service does. It shares no code with the gateway, so that a
//! mistake of the gateway is not made here too.

use percent_encoding::percent_decode_str;
use ring::{digest, hmac};

use crate::encoding::percent;
use crate::upstream::Seen;

/// The key that the stand-in knows.
pub const KEY_ID: &str = "AKIDSTANDIN";
/// Its secret.
pub const SECRET: &str = "stand-in/secret+0123456789abcdefghij";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn sign(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

/// The text between two marks.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let rest = text.split_once(before).map_or("", |(_, rest)| rest);
    rest.split(after).next().unwrap_or_default()
}

/// The signature of a canonical request of S3 in `region`.
fn of_s3(seen: &Seen, query: &str, names: &str, hash: &str, time: &str, region: &str) -> String {
    let headers: String = names.split(';').map(|name| format!("{name}:{}\n", seen.header(name).trim())).collect();
    let path = percent_decode_str(&seen.path).collect::<Vec<u8>>();
    let path = percent(&String::from_utf8_lossy(&path)).replace("%2F", "/");
    let canonical = format!("{}\n{path}\n{query}\n{headers}\n{names}\n{hash}", seen.method);
    let date = &time[..8];
    let text = format!("AWS4-HMAC-SHA256\n{time}\n{date}/{region}/s3/aws4_request\n{}", sha256(canonical.as_bytes()));
    let mut key = format!("AWS4{SECRET}").into_bytes();
    for part in [date, region, "s3", "aws4_request"] {
        key = sign(&key, part);
    }
    hex(&sign(&key, &text))
}

/// The query without the signature, with sorted and encoded parameters.
fn canonical_query(seen: &Seen) -> String {
    let mut parameters: Vec<String> = seen
        .parameters()
        .iter()
        .filter(|(name, _)| name != "X-Amz-Signature")
        .map(|(name, value)| format!("{}={}", percent(name), percent(value)))
        .collect();
    parameters.sort();
    parameters.join("&")
}

/// Returns `true` if a request to S3 in `region` has a good signature in its header, and the hash
/// of its body.
pub fn is_signed_for_s3(seen: &Seen, region: &str) -> bool {
    let authorization = seen.header("authorization");
    let (names, signature) = (between(authorization, "SignedHeaders=", ","), between(authorization, "Signature=", ","));
    let time = seen.header("x-amz-date");
    let hash = seen.header("x-amz-content-sha256");
    let is_whole = hash == sha256(&seen.body) || hash == "UNSIGNED-PAYLOAD";
    let key = format!("AWS4-HMAC-SHA256 Credential={KEY_ID}/");
    is_whole
        && time.len() == 16
        && authorization.starts_with(&key)
        && names.split(';').any(|name| name == "host")
        && of_s3(seen, &canonical_query(seen), names, hash, time, region) == signature
}

/// Returns `true` if a link to S3 in `region` has a good signature in its query.
pub fn is_signed_link_of_s3(seen: &Seen, region: &str) -> bool {
    let parameter = |name: &str| seen.parameter(name).unwrap_or_default();
    let time = parameter("X-Amz-Date");
    time.len() == 16
        && parameter("X-Amz-Credential").starts_with(&format!("{KEY_ID}/"))
        && of_s3(seen, &canonical_query(seen), "host", "UNSIGNED-PAYLOAD", &time, region)
            == parameter("X-Amz-Signature")
}

/// Returns `true` if a request has the HMAC that the guest `account` declares.
pub fn is_signed_by_hmac(seen: &Seen) -> bool {
    use base64::Engine;
    let body = hex(digest::digest(&digest::SHA512, &seen.body).as_ref());
    let target = if seen.query.is_empty() { seen.path.clone() } else { format!("{}?{}", seen.path, seen.query) };
    let (time, host) = (seen.header("x-time"), seen.header("host"));
    let text = format!("{time}\n{}\n{host}\n{target}\n{KEY_ID}\n{body}\nend", seen.method);
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA512, SECRET.as_bytes()), text.as_bytes());
    let expected = base64::engine::general_purpose::STANDARD.encode(tag.as_ref());
    time.parse::<u64>().is_ok() && seen.header("x-key") == KEY_ID && seen.header("authorization") == expected
}
