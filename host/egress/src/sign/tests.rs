use std::time::{Duration, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract_rules::signature::{Encoding, Hash, Region, SecretForm, Timestamp, TimestampForm};
use hyper::header::AUTHORIZATION;
use proptest::prelude::*;
use secrecy::ExposeSecret;
use serde_json::Value;

use super::*;
use crate::Credential;

/// 2015-08-30T12:36:00Z, the time of AWS's suite.
const AT: u64 = 1_440_938_160;

/// 2013-05-24T00:00:00Z, the time of the examples of S3.
const AT_S3: u64 = 1_369_353_600;

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

fn aws(service: &str, secret: &str, id: &str, token: Option<&str>) -> Aws {
    let declared = AwsSignature { service: service.to_owned(), region: Region::Fixed("us-east-1".to_owned()) };
    let keys = KeyPair { id: id.to_owned(), secret: secret.into(), session_token: token.map(SecretString::from) };
    Aws::new(&declared, keys).unwrap()
}

/// A request as the suite writes it: lines of the head, and a body after an empty line.
struct Written {
    method: String,
    path: String,
    query: String,
    headers: HeaderMap,
    body: String,
}

fn written(text: &str) -> Written {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    // A line that begins with white space belongs to the header before it.
    let head = head.replace("\n ", " ");
    let mut lines = head.lines();
    let (method, rest) = lines.next().unwrap().split_once(' ').unwrap();
    let target = rest.rsplit_once(' ').unwrap().0;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut headers = HeaderMap::new();
    for line in lines.filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').unwrap();
        if !name.eq_ignore_ascii_case("host") {
            headers.append(HeaderName::try_from(name).unwrap(), HeaderValue::from_str(value.trim()).unwrap());
        }
    }
    Written {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers,
        body: body.to_owned(),
    }
}

impl Written {
    fn unsigned<'a>(&'a self, host: &'a str) -> Unsigned<'a> {
        let Self { method, path, query, headers, body } = self;
        Unsigned { method, host, path, query, headers, body: Some(body.as_bytes()) }
    }
}

#[test]
fn signatures_are_those_of_the_suite_of_aws() {
    let vectors: Vec<Value> = serde_json::from_str(include_str!("vectors/aws.json")).unwrap();
    assert_eq!(vectors.len(), 37);
    let mut links = 0;
    for vector in &vectors {
        let name = vector["name"].as_str().unwrap();
        let mut request = written(vector["request"].as_str().unwrap());
        let mut aws =
            aws("service", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "AKIDEXAMPLE", vector["token"].as_str());
        aws.paths.are_normalized = vector["normalize"].as_bool().unwrap();
        if let Some(expected) = vector["link_signature"].as_str() {
            let (path, query) = (&*request.path, &*request.query);
            let query = aws.link_query(&request.method, "example.amazonaws.com", (path, query), 3600, at(AT)).unwrap();
            assert_eq!(query.rsplit_once("X-Amz-Signature=").unwrap().1, expected, "link of {name}");
            links += 1;
        }
        if vector["sign_body"].as_bool().unwrap() {
            let hash = hex(ring::digest::digest(&ring::digest::SHA256, request.body.as_bytes()).as_ref());
            request.headers.insert("x-amz-content-sha256", hash.parse().unwrap());
        }
        let headers = aws.headers(&request.unsigned("example.amazonaws.com"), at(AT)).unwrap();
        let authorization = headers.iter().find(|(name, _)| name == AUTHORIZATION).unwrap();
        assert_eq!(authorization.1.to_str().unwrap(), vector["authorization"], "{name}");
        assert!(headers.iter().all(|(_, value)| value.is_sensitive()), "{name}");
    }
    assert_eq!(links, 29);
}

#[test]
fn signatures_are_those_of_the_examples_of_s3() {
    let aws = aws("s3", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "AKIAIOSFODNN7EXAMPLE", None);
    let host = "examplebucket.s3.amazonaws.com";
    for (request, signature) in [
        (
            "GET /test.txt HTTP/1.1\nRange: bytes=0-9\n",
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            "PUT /test$file.text HTTP/1.1\nDate: Fri, 24 May 2013 00:00:00 GMT\nx-amz-storage-class: REDUCED_REDUNDANCY\n\nWelcome to Amazon S3.",
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
        ("GET /?lifecycle HTTP/1.1\n", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        ("GET /?max-keys=2&prefix=J HTTP/1.1\n", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ] {
        let headers = aws.headers(&written(request).unsigned(host), at(AT_S3)).unwrap();
        let authorization = headers.last().unwrap().1.to_str().unwrap();
        assert!(authorization.ends_with(&format!("Signature={signature}")), "{request}: {authorization}");
    }
    let url = Url::parse("https://examplebucket.s3.amazonaws.com/test.txt").unwrap();
    let link = aws.link("GET", url, 86_400, at(AT_S3)).unwrap();
    assert_eq!(
        link.as_str(),
        "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524\
         %2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host\
         &X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    );
}

#[test]
fn only_s3_takes_a_body_that_is_not_in_memory() {
    let request = written("PUT /a HTTP/1.1\n");
    let streamed = Unsigned { body: None, ..request.unsigned("example.com") };
    let headers = aws("s3", "a-long-secret", "AKID", None).headers(&streamed, at(AT)).unwrap();
    assert!(headers.iter().any(|(_, value)| value == "UNSIGNED-PAYLOAD"));
    let error = aws("execute-api", "a-long-secret", "AKID", None).headers(&streamed, at(AT)).unwrap_err();
    assert!(error.to_string().contains("cannot be signed"), "{error}");
}

type Declared = HmacSignature<String, Vec<TextPart<String>>>;

fn declared() -> Declared {
    HmacSignature {
        hash: Hash::Sha256,
        secret: SecretForm::Text,
        encoding: Encoding::Hex,
        text: vec![TextPart::Literal("what do ya want for nothing?".to_owned())],
        separator: String::new(),
        timestamp: None,
        key_header: None,
    }
}

fn signed(declared: Declared, prefix: &str, secret: &str, request: &str) -> Vec<(String, String)> {
    let keys = KeyPair { id: "key-1".to_owned(), secret: secret.into(), session_token: None };
    let hmac = Hmac::new(declared, "X-Signature", prefix, keys).unwrap();
    let headers = hmac.headers(&written(request).unsigned("example.com:8443"), at(AT)).unwrap();
    headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect()
}

/// RFC 2202 and RFC 4231, test case 2: the key is `Jefe`.
#[test]
fn hmacs_are_those_of_the_test_cases_of_the_standards() {
    let sha512 = "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737";
    for (hash, expected) in [
        (Hash::Sha1, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
        (Hash::Sha256, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        (Hash::Sha512, sha512),
    ] {
        let headers = signed(Declared { hash, ..declared() }, "HMAC ", "Jefe", "GET / HTTP/1.1\n");
        assert_eq!(headers, [("x-signature".to_owned(), format!("HMAC {expected}"))]);
    }
    let in_base64 = Declared { secret: SecretForm::Base64, ..declared() };
    let headers = signed(in_base64, "", &STANDARD.encode("Jefe"), "GET / HTTP/1.1\n");
    assert!(headers[0].1.starts_with("5bdcc146"));
}

#[test]
fn each_part_of_the_text_is_signed_in_its_order() {
    let declared = Declared {
        text: vec![
            TextPart::Timestamp,
            TextPart::Method,
            TextPart::Host,
            TextPart::Path,
            TextPart::Query,
            TextPart::Target,
            TextPart::KeyId,
            TextPart::Body,
            TextPart::BodyHash,
        ],
        separator: "\n".to_owned(),
        timestamp: Some(Timestamp { header: "X-Time".to_owned(), form: TimestampForm::Seconds }),
        key_header: Some("X-Key".to_owned()),
        ..declared()
    };
    let text = format!(
        "{AT}\nPOST\nexample.com:8443\n/a%20b\nc=d\n/a%20b?c=d\nkey-1\nhi\n8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"
    );
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, b"a-long-secret");
    let expected = hex(ring::hmac::sign(&key, text.as_bytes()).as_ref());
    let headers = signed(declared.clone(), "{key_id}:", "a-long-secret", "POST /a%20b?c=d HTTP/1.1\n\nhi");
    let header = |name: &str, value: String| (name.to_owned(), value);
    assert_eq!(
        headers,
        [
            header("x-signature", format!("key-1:{expected}")),
            header("x-time", AT.to_string()),
            header("x-key", "key-1".to_owned())
        ]
    );
    for (form, time) in
        [(TimestampForm::Milliseconds, "1440938160000"), (TimestampForm::Rfc3339, "2015-08-30T12:36:00Z")]
    {
        let timestamp = Some(Timestamp { header: "X-Time".to_owned(), form });
        let headers = signed(Declared { timestamp, ..declared.clone() }, "", "a-long-secret", "GET / HTTP/1.1\n");
        assert_eq!(headers[1].1, time);
    }
}

#[test]
fn keys_that_cannot_be_sent_or_used_are_refused() {
    let keys = |id: &str, secret: &str| KeyPair { id: id.to_owned(), secret: secret.into(), session_token: None };
    let scheme = SignatureScheme::Hmac {
        declared: Declared { secret: SecretForm::Base64, ..declared() },
        header: "X-Signature".to_owned(),
        prefix: String::new(),
    };
    let error = Credential::signature(&scheme, keys("a", "no base64!")).unwrap_err().to_string();
    assert!(error.contains("is not base64") && !error.contains("no base64!"), "{error}");
    assert!(Credential::signature(&scheme, keys("a\nb", "YQ==")).is_err());
    let aws = SignatureScheme::Aws(AwsSignature { service: "s3".to_owned(), region: Region::Fixed("eu".to_owned()) });
    assert!(Credential::signature(&aws, keys("AK ID", "a-long-secret")).is_err());
    let good = Credential::signature(&aws, keys("AKID", "a-long-secret")).unwrap();
    assert_eq!(format!("{good:?}"), "Credential(signature, [redacted])");
}

proptest! {
    #[test]
    fn any_request_is_signed_and_no_header_has_the_secret(
        path in "(/[ -~]{0,10}){0,4}", query in "[ -~]{0,30}", value in "[ -~]{0,20}", body in any::<Option<Vec<u8>>>(),
    ) {
        let mut headers = HeaderMap::new();
        headers.insert("x-value", value.parse().unwrap());
        let request = Unsigned { method: "PUT", host: "a", path: &path, query: &query, headers: &headers, body: body.as_deref() };
        let secret = SecretString::from("wJalrXUtnFEMI/K7MDENG");
        let signed = aws("s3", secret.expose_secret(), "AKID", None).headers(&request, at(AT)).unwrap();
        prop_assert!(signed.iter().all(|(_, value)| !value.to_str().unwrap().contains(secret.expose_secret())));
    }
}
