use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use proptest::prelude::*;

use super::super::testing::{Stub, TOKEN, answer, egress, get, upstream, with_token};
use super::super::{Credential, EgressError};
use super::{MaskStream, Masker};

fn masker(secrets: &[&str]) -> Arc<Masker> {
    let secrets: Vec<_> = secrets.iter().map(|secret| (*secret).into()).collect();
    Arc::new(Masker::new(&secrets))
}

fn mask(secret: &str, text: &str) -> String {
    String::from_utf8(masker(&[secret]).mask(Bytes::copy_from_slice(text.as_bytes())).to_vec()).unwrap()
}

fn percent_all(secret: &str) -> String {
    secret.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// Encodes everything but letters and digits, roughly as `encodeURIComponent` does.
fn percent_some(secret: &str, upper: bool) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ if upper => format!("%{byte:02X}"),
        _ => format!("%{byte:02x}"),
    };
    secret.bytes().map(encode).collect()
}

/// As PHP writes it.
fn json_slashes(secret: &str) -> String {
    json(secret).replace('/', "\\/")
}

fn json(secret: &str) -> String {
    let escape = |character: char| match character {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        other => other.to_string(),
    };
    secret.chars().map(escape).collect()
}

fn unicode_escaped(secret: &str) -> String {
    let mut units = [0; 2];
    let mut escape = |character: char| -> String {
        character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04X}")).collect()
    };
    secret.chars().map(&mut escape).collect()
}

/// With the number of characters that may remain. The edges of base64 hold bits of the neighbours.
/// A few more remain where the preceding text happens to look like a part of the secret.
fn spellings(secret: &str) -> Vec<(String, usize)> {
    let at = |prefix: &str| format!("{prefix}{secret}zz");
    vec![
        (secret.to_owned(), 6),
        (percent_all(secret), 6),
        (percent_some(secret, true), 6),
        (percent_some(secret, false), 6),
        (json_slashes(secret), 6),
        (json(secret), 6),
        (unicode_escaped(secret), 12),
        (STANDARD.encode(at("")), 8),
        (STANDARD.encode(at("a")), 9),
        (URL_SAFE_NO_PAD.encode(at("ab")), 9),
        (STANDARD.encode(secret).replace('/', "\\/"), 6),
        (percent_some(&STANDARD.encode(at("a")), true), 27),
        (secret.bytes().map(|byte| format!("{byte:02x}")).collect(), 6),
        (secret.bytes().map(|byte| format!("{byte:02X}")).collect(), 6),
    ]
}

#[test]
fn a_secret_becomes_as_many_asterisks() {
    assert_eq!(mask("s3cr3t-token", "{\"t\":\"s3cr3t-token\",\"n\":1}"), "{\"t\":\"************\",\"n\":1}");
    assert_eq!(mask("s3cr3t-token", "s3cr3t%2Dtokens3cr3t-token"), "**************************");
    assert_eq!(mask("s3cr3t/token", "\"s3cr3t\\/token\""), "\"*************\"");
}

#[test]
fn innocent_text_passes_unchanged_and_uncopied() {
    let text = Bytes::from_static(b"s3cr3t is not s3cr3t-toke n, nor %73 \\u0073, nor \\");
    let masked = masker(&["s3cr3t-token"]).mask(text.clone());
    assert_eq!(masked, text);
    let text = Bytes::from_static(b"{\"nothing\": \"to see\"}");
    let mut stream = MaskStream::new(masker(&["s3cr3t-token"]));
    assert_eq!(stream.push(text.clone()).as_ptr(), text.as_ptr());
}

#[test]
fn short_secrets_and_none_are_passed_over() {
    assert!(masker(&[]).is_empty());
    assert!(masker(&["1234567"]).is_empty());
    assert!(!masker(&["12345678"]).is_empty());
    assert_eq!(mask("1234567", "1234567"), "1234567");
}

#[test]
fn the_longest_of_several_secrets_is_masked() {
    let masker = masker(&["password", "password-long", "other-secret"]);
    let text = "password password-long other-secret password-lon";
    assert_eq!(masker.mask(text.into()), "******** ************* ************ ********-lon");
}

/// A text of beginnings of a secret, each of which differs from it in its last character.
fn beginnings(secret: &str, bytes: usize) -> Bytes {
    format!("{}-", &secret[..secret.len() - 1]).repeat(bytes / secret.len()).into()
}

#[test]
fn the_search_takes_linear_time_whatever_the_secret() {
    let secrets = ["a".repeat(4096), "ab".repeat(2048), "41".to_owned() + &"A".repeat(4000), "\\".repeat(300) + "%41%"];
    for secret in secrets {
        for spelling in [secret.clone(), percent_all(&secret), json(&secret)] {
            let text = beginnings(&spelling, 1 << 20);
            let mut stream = MaskStream::new(masker(&[&secret]));
            let mut masked = Vec::new();
            for piece in text.chunks(1000) {
                masked.extend_from_slice(&stream.push(text.slice_ref(piece)));
            }
            masked.extend_from_slice(&stream.finish());
            let most = super::MIN_WASTED_BUDGET + super::MAX_WASTED_PER_BYTE * text.len() as u64;
            let (wasted, longest) = (stream.cost.wasted, 6 * secret.len() as u64);
            assert!(wasted <= most + masked_bytes(&masked) + longest, "{wasted} bytes were wasted");
            assert_eq!(masked, masker(&[&secret]).mask(text), "split or not is the same");
        }
    }
}

fn masked_bytes(text: &[u8]) -> u64 {
    text.iter().filter(|byte| **byte == b'*').count() as u64
}

#[test]
fn pieces_of_one_byte_are_not_compared_again_with_each_piece() {
    let (secret, mut decided) = ("a".repeat(4096), 0);
    let mut stream = MaskStream::new(masker(&[&secret]));
    for _ in 0..4000 {
        let enough = stream.enough;
        assert!(stream.push(Bytes::from_static(b"a")).is_empty());
        decided += usize::from(stream.enough != enough);
    }
    assert!(decided < 20, "compared {decided} times");
    assert_eq!(stream.finish().len(), 4000);
}

#[test]
fn texts_that_begin_like_the_secret_pass_unchanged() {
    let header = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEyMyJ9.".repeat(12);
    let others: String = (0..500).map(|number| format!("{header}{}.{number}\n", "another-token-".repeat(40))).collect();
    assert_eq!(mask(&format!("{header}{}", "this-token-".repeat(40)), &others), others);
}

#[test]
fn credentials_mask_what_they_send() {
    let sent = STANDARD.encode("ada:a-password");
    let basic = Credential::basic("ada", "a-password".into()).unwrap();
    assert_eq!(basic.masker().mask(format!("Basic {sent}").into()), format!("Basic {}", "*".repeat(sent.len())));
    assert_eq!(basic.masker().mask("ada a-password".into()), "ada **********");
    let keyed = Credential::basic("key-as-username", "".into()).unwrap();
    assert_eq!(keyed.masker().mask("key-as-username".into()), "***************");
}

#[tokio::test]
async fn an_echo_is_masked_in_headers_and_body() {
    let stub = Stub::start(|seen, _| {
        let authorization = seen.header("authorization").unwrap().to_owned();
        answer(200, &[("x-echo", &authorization)], format!("{{\"echo\":\"{authorization}\"}}"))
    })
    .await;
    let mut response = egress().send(&upstream(&stub.url(), &[]), &with_token(get("/"))).await.unwrap();
    let stars = "*".repeat(TOKEN.len());
    assert_eq!(response.headers["x-echo"], format!("Bearer {stars}"));
    assert_eq!(response.body.peek(4096).await.unwrap(), format!("{{\"echo\":\"Bearer {stars}\"}}").as_bytes());
    let length: usize = response.headers["content-length"].to_str().unwrap().parse().unwrap();
    assert_eq!(response.body.collect(1000).await.unwrap().len(), length);
}

#[tokio::test]
async fn an_encoding_that_cannot_be_searched_is_refused_where_a_credential_was_sent() {
    let stub = Stub::start(|_, _| answer(200, &[("content-encoding", "br")], "compressed")).await;
    let error = egress().send(&upstream(&stub.url(), &[]), &with_token(get("/"))).await.err().unwrap();
    assert!(matches!(error, EgressError::BadResponse { .. }), "{error}");
    assert!(egress().send(&upstream(&stub.url(), &[]), &get("/")).await.is_ok());
}

fn secrets() -> impl Strategy<Value = String> {
    prop_oneof!["[A-Za-z0-9._~+/=-]{8,60}", "[ -~]{8,20}", "\\PC{8,12}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_spelling_is_masked_however_it_is_split(
        secret in secrets(), before in "[ -~]{0,12}", after in "[ -~]{0,12}", cuts in prop::collection::vec(0usize..400, 0..12),
    ) {
        for (spelling, tolerance) in spellings(&secret) {
            let text = Bytes::from(format!("{before}{spelling}{after}"));
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let masker = masker(&[&secret]);
            let mut stream = MaskStream::new(Arc::clone(&masker));
            let mut masked = Vec::new();
            for pair in cuts.windows(2) {
                masked.extend_from_slice(&stream.push(text.slice(pair[0]..pair[1])));
                prop_assert!(stream.held() <= 6 * spelling.len() + 64);
            }
            masked.extend_from_slice(&stream.finish());

            prop_assert_eq!(masked.len(), text.len());
            prop_assert_eq!(&masked[..], &masker.mask(text.clone())[..], "split or not is the same");
            let stars = masked.iter().zip(&text).filter(|(now, then)| **now == b'*' && **then != b'*').count();
            // Asterisks that are part of the secret do not count.
            let own = spelling.bytes().filter(|byte| *byte == b'*').count();
            prop_assert!(stars + own + tolerance >= spelling.len(), "{} -> {}", spelling, String::from_utf8_lossy(&masked));
        }
    }

    #[test]
    fn text_without_the_secret_passes_unchanged(text in "[a-z0-9%\\\\u/\"]{0,200}") {
        prop_assert_eq!(mask("THE-SECRET-IS-UPPER", &text), text);
    }
}
