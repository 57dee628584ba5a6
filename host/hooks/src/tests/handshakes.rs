//! Requests by which a service proves that the address is the gateway's.

use super::*;
use crate::{HandshakeAnswer, answer_after_verification, answer_before_verification};
use contract::trigger_types::{EchoMember, Handshake, HmacQuery};

fn with(handshake: Handshake) -> Inbox {
    Inbox { handshakes: vec![handshake], ..inbox(Check::Hmac(signed_body())) }
}

fn before(inbox: &Inbox, request: &Request, secrets: &[&str], waiting: bool) -> Option<HandshakeAnswer> {
    answer_before_verification(inbox, &request.notification(), &secrets_of(secrets), waiting)
}

#[test]
fn a_query_value_is_repeated_only_while_a_subscription_is_made() {
    let inbox = with(Handshake::EchoQuery("validationToken".to_owned()));
    let request = Request::post("").query("validationToken=Validation%3a+Test+%3cb%3e");
    assert_eq!(before(&inbox, &request, &[], true), Some(HandshakeAnswer::Text("Validation: Test <b>".to_owned())));
    assert_eq!(before(&inbox, &request, &[], false), None);
    for query in ["validationToken=", "validationtoken=a", "other=a", ""] {
        assert_eq!(before(&inbox, &Request::post("").query(query), &[], true), None, "{query}");
    }
    let long = format!("validationToken={}", "a".repeat(5000));
    assert_eq!(before(&inbox, &Request::post("").query(&long), &[], true), None);
    let verified = verified(&inbox, &signed("{}"));
    assert_eq!(answer_after_verification(&inbox, &request.notification(), &verified), None);
}

#[test]
fn a_member_is_repeated_only_after_the_checks() {
    let inbox = with(Handshake::EchoMember(EchoMember {
        when: ("/type".to_owned(), "url_verification".to_owned()),
        member: "/challenge".to_owned(),
    }));
    let answer = |body: &str| {
        let request = signed(body);
        assert_eq!(before(&inbox, &request, &[SECRET], true), None);
        answer_after_verification(&inbox, &request.notification(), &verified(&inbox, &request))
    };
    let challenge = r#"{"type": "url_verification", "challenge": "3eZbrw1aB\u00e9"}"#;
    assert_eq!(answer(challenge), Some(HandshakeAnswer::Text("3eZbrw1aBé".to_owned())));
    for body in [
        r#"{"type": "event_callback", "challenge": "3eZ"}"#,
        r#"{"type": "url_verification"}"#,
        r#"{"type": "url_verification", "challenge": {}}"#,
        "no json",
    ] {
        assert_eq!(answer(body), None, "{body}");
    }
    assert_eq!(answer(&challenge.replace("3eZ", &"a".repeat(5000))), None);
}

/// The query of a webhook is signed with the key of its notifications.
fn signing() -> Inbox {
    with(Handshake::HmacQuery(HmacQuery {
        parameter: "crc_token".to_owned(),
        hash: CheckHash::Sha256,
        secret: CheckSecret::Text,
        encoding: CheckEncoding::Base64,
        member: "response_token".to_owned(),
        prefix: "sha256=".to_owned(),
    }))
}

#[test]
fn a_query_value_is_signed_with_the_newest_secret() {
    let inbox = signing();
    let request = Request::get("crc_token=aGVsbG8_-/%2B%3D&nonce=1");
    // `printf %s 'aGVsbG8_-/+=' | openssl dgst -sha256 -hmac consumer -binary | base64`
    let expected = r#"{"response_token":"sha256=qITXscCqeszHL1EWST2gt79x6c4q0Lq89pIEf6bznvw="}"#;
    assert_eq!(before(&inbox, &request, &["old", "consumer"], false), Some(HandshakeAnswer::Json(expected.to_owned())));
    assert_eq!(before(&inbox, &request, &[], true), None);
    assert_eq!(before(&inbox, &request, &[""], true), None, "an empty secret signs nothing");
}

#[test]
fn nothing_that_could_be_a_body_is_signed() {
    let inbox = signing();
    for value in ["", "%7B%22id%22%3A1%7D", "a+b", "a%0Ab", "a.b", "%22a%22", "é", &"a".repeat(513)] {
        let request = Request::get(&format!("crc_token={value}"));
        assert_eq!(before(&inbox, &request, &["consumer"], true), None, "{value}");
    }
    let longest = Request::get(&format!("crc_token={}", "a".repeat(512)));
    assert!(before(&inbox, &longest, &["consumer"], false).is_some());
}

#[test]
fn an_inbox_without_handshakes_repeats_nothing() {
    let inbox = inbox(Check::Hmac(signed_body()));
    let request = signed(r#"{"type": "url_verification", "challenge": "x"}"#).query("validationToken=a&crc_token=b");
    assert_eq!(before(&inbox, &request, &[SECRET], true), None);
    assert_eq!(answer_after_verification(&inbox, &request.notification(), &verified(&inbox, &request)), None);
}
