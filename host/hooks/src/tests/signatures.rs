//! Signatures, with the vectors that providers publish.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// `v0:{time}:{body}`, in hexadecimal digits.
fn signed_time() -> HmacCheck {
    HmacCheck {
        text: vec![CheckPart::Literal("v0".to_owned()), CheckPart::Timestamp, CheckPart::Body],
        separator: ":".to_owned(),
        signature: header("x-signature"),
        prefix: "v0=".to_owned(),
        timestamp: Some(header("x-request-timestamp")),
        ..signed_body()
    }
}

/// Standard Webhooks: `{id}.{time}.{body}` in base64, and several signatures.
fn standard_webhooks() -> HmacCheck {
    HmacCheck {
        secret: CheckSecret::Base64,
        encoding: CheckEncoding::Base64,
        text: vec![CheckPart::Header("webhook-id".to_owned()), CheckPart::Timestamp, CheckPart::Body],
        separator: ".".to_owned(),
        signature: header("webhook-signature"),
        prefix: "v1,".to_owned(),
        list_separator: Some(" ".to_owned()),
        timestamp: Some(header("webhook-timestamp")),
        ..signed_body()
    }
}

/// `t=…,v1=…`: time and signatures are fields of one header.
fn fields() -> HmacCheck {
    let field = |key: &str| Place::HeaderField(("webhook-fields".to_owned(), key.to_owned()));
    HmacCheck {
        text: vec![CheckPart::Timestamp, CheckPart::Body],
        separator: ".".to_owned(),
        signature: field("v1"),
        prefix: String::new(),
        timestamp: Some(field("t")),
        ..signed_body()
    }
}

#[test]
fn a_signature_of_the_body_is_the_published_one() {
    let inbox = inbox(Check::Hmac(signed_body()));
    let digits = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    for signature in [format!("sha256={digits}"), format!("sha256={}", digits.to_uppercase())] {
        let request = Request::post("Hello, World!").header("x-hub-signature-256", &signature);
        assert!(request.verify(&inbox, &[SECRET]).is_ok(), "{signature}");
        assert_eq!(request.verify(&inbox, &["another"]), Err(Rejection::WrongSignature));
        assert!(request.verify(&inbox, &["newer", SECRET]).is_ok(), "each secret is tried");
        assert_eq!(request.verify(&inbox, &[]), Err(Rejection::NoSecret));
        assert_eq!(request.verify(&inbox, &[""]), Err(Rejection::UnusableSecret));
    }
    for signature in [digits.to_owned(), "sha256=".to_owned(), format!("sha1={digits}"), format!("Sha256={digits}")] {
        let request = Request::post("Hello, World!").header("x-hub-signature-256", &signature);
        assert_eq!(request.verify(&inbox, &[SECRET]), Err(Rejection::NoSignature), "{signature}");
    }
    for wrong in [&digits[..62], &digits[..63], &format!("{digits}00"), &format!("{}zz", &digits[..62]), "é"] {
        let mut request = Request::post("Hello, World!");
        let value = HeaderValue::from_bytes(format!("sha256={wrong}").as_bytes()).unwrap();
        request.headers.insert("x-hub-signature-256", value);
        assert_eq!(request.verify(&inbox, &[SECRET]), Err(Rejection::WrongSignature), "{wrong}");
    }
    assert_eq!(Request::post("Hello, World!").verify(&inbox, &[SECRET]), Err(Rejection::NoSignature));
}

#[test]
fn an_empty_key_signs_nothing() {
    let inbox = inbox(Check::Hmac(signed_body()));
    let request = Request::post("x").header("x-hub-signature-256", format!("sha256={}", hmac_hex("", b"x")));
    assert_eq!(request.verify(&inbox, &[""]), Err(Rejection::UnusableSecret));
    assert_eq!(request.verify(&inbox, &["", SECRET]), Err(Rejection::WrongSignature));
}

#[test]
fn a_signed_time_is_near() {
    let inbox = inbox(Check::Hmac(signed_time()));
    // The example of the provider's documentation, in which the body is a form.
    let secret = "8f742231b10e8888abcd99yyyzzz85a5";
    let body = include_str!("signed_form.txt");
    let request = Request::post(body)
        .header("x-request-timestamp", "1531420618")
        .header("x-signature", "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503");
    assert!(request.verify_at(&inbox, &[secret], 1_531_420_618).is_ok());
    assert!(request.verify_at(&inbox, &[secret], 1_531_420_918).is_ok());
    assert_eq!(request.verify_at(&inbox, &[secret], 1_531_420_919), Err(Rejection::TooOld));
    assert!(request.verify_at(&inbox, &[secret], 1_531_420_318).is_ok());
    assert_eq!(request.verify_at(&inbox, &[secret], 1_531_420_317), Err(Rejection::TooNew));

    let without_time = Request { headers: HeaderMap::new(), ..Request::post(body) }
        .header("x-signature", "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503");
    assert_eq!(without_time.verify_at(&inbox, &[secret], 1_531_420_618), Err(Rejection::NoTimestamp));
    for time in ["", "now", "-1531420618", "+1531420618", "1531420618.0", "9999999999999"] {
        let request = Request::post(body).header("x-request-timestamp", time).header("x-signature", "v0=00");
        assert_eq!(request.verify_at(&inbox, &[secret], 1_531_420_618), Err(Rejection::NoTimestamp), "{time}");
    }
    // The signed time cannot be replaced by a nearer one.
    let mut moved = request;
    moved.headers.insert("x-request-timestamp", HeaderValue::from_static("1531420700"));
    assert_eq!(moved.verify_at(&inbox, &[secret], 1_531_420_700), Err(Rejection::WrongSignature));
}

#[test]
fn one_of_several_signatures_must_hold() {
    let inbox = inbox(Check::Hmac(standard_webhooks()));
    let request = |signature: &str| {
        Request::post(r#"{"test": 2432232314}"#)
            .header("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek")
            .header("webhook-timestamp", "1614265330")
            .header("webhook-signature", signature)
    };
    let verify = |signature: &str, secret: &str| request(signature).verify_at(&inbox, &[secret], 1_614_265_331);
    let right = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    for secret in ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] {
        assert!(verify(right, secret).is_ok());
        assert!(verify(&format!("v1a,AAAA v1,AAAA {right}"), secret).is_ok());
        assert_eq!(verify("v1,AAAA v1,****", secret), Err(Rejection::WrongSignature));
        assert_eq!(verify(&right.replace("v1,", "v2,"), secret), Err(Rejection::NoSignature));
    }
    assert_eq!(verify(right, "whsec_no base64"), Err(Rejection::UnusableSecret));
    // Comparing many signatures would cost the gateway much and its sender little.
    let many = "v1,AAAA ".repeat(8);
    assert_eq!(verify(&format!("{many}{right}"), "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), Err(Rejection::WrongSignature));
    let mut other_id = request(right);
    other_id.headers.insert("webhook-id", HeaderValue::from_static("msg_other"));
    let secret = ["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"];
    assert_eq!(other_id.verify_at(&inbox, &secret, 1_614_265_331), Err(Rejection::WrongSignature));
    other_id.headers.remove("webhook-id");
    assert_eq!(other_id.verify_at(&inbox, &secret, 1_614_265_331), Err(Rejection::NoHeader));
}

#[test]
fn time_and_signatures_are_fields_of_one_header() {
    let inbox = inbox(Check::Hmac(fields()));
    let body = r#"{"id":"evt_1","type":"payment"}"#;
    let signature = hmac_hex(SECRET, format!("{NOW}.{body}").as_bytes());
    for fields in [
        format!("t={NOW},v1={signature}"),
        format!("t={NOW}, v1=00, v1={signature}, v0=00"),
        format!("v1={signature},t={NOW}"),
    ] {
        let request = Request::post(body).header("webhook-fields", &fields);
        assert!(request.verify(&inbox, &[SECRET]).is_ok(), "{fields}");
        assert_eq!(request.verify_at(&inbox, &[SECRET], NOW + 301), Err(Rejection::TooOld));
    }
    // The first time is the one that is signed and compared.
    let twice = Request::post(body).header("webhook-fields", format!("t={},t={NOW},v1={signature}", NOW + 1));
    assert_eq!(twice.verify(&inbox, &[SECRET]), Err(Rejection::WrongSignature));
    let without = Request::post(body).header("webhook-fields", format!("t={NOW},v0={signature}"));
    assert_eq!(without.verify(&inbox, &[SECRET]), Err(Rejection::NoSignature));
}

#[test]
fn a_signature_may_be_base64_of_each_hash() {
    let text = b"{}";
    for (hash, algorithm) in [
        (CheckHash::Sha1, hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY),
        (CheckHash::Sha256, hmac::HMAC_SHA256),
        (CheckHash::Sha512, hmac::HMAC_SHA512),
    ] {
        let check = HmacCheck { hash, encoding: CheckEncoding::Base64, prefix: String::new(), ..signed_body() };
        let tag = hmac::sign(&hmac::Key::new(algorithm, SECRET.as_bytes()), text);
        let request = Request::post("{}").header("x-hub-signature-256", STANDARD.encode(tag));
        assert!(request.verify(&inbox(Check::Hmac(check)), &[SECRET]).is_ok(), "{hash:?}");
    }
}

#[test]
fn all_checks_must_hold_and_an_inbox_without_checks_accepts_nothing() {
    let mut both = inbox(Check::Hmac(signed_body()));
    both.checks.push(Check::Token(header("x-token")));
    let request = signed("{}");
    assert_eq!(request.verify(&both, &[SECRET]), Err(Rejection::NoToken));
    assert!(request.header("x-token", SECRET).verify(&both, &[SECRET]).is_ok());
    both.checks.clear();
    assert_eq!(signed("{}").verify(&both, &[SECRET]), Err(Rejection::NoCheck));
}

#[test]
fn a_notification_is_a_post() {
    let inbox = inbox(Check::Hmac(signed_body()));
    let request = Request { method: Method::GET, ..signed("{}") };
    assert_eq!(request.verify(&inbox, &[SECRET]), Err(Rejection::NotPost));
}
