//! Requests by which a service proves that the address is the gateway's.

use super::*;

#[test]
fn a_challenge_is_repeated_only_if_the_service_has_signed_it() {
    let gateway = gateway("");
    let (inbox, client) = (Inbox::signed(&gateway), gateway.anonymous());
    let challenge = json!({"type": "url_verification", "challenge": "3eZbrw1a<b>"}).to_string();
    let answer = inbox.push(&client, &challenge, 0).send();
    assert_eq!((answer.status, answer.text().as_str()), (200, "3eZbrw1a<b>"));
    assert_eq!((answer.header("content-type"), answer.header("x-content-type-options")), ("text/plain", "nosniff"));
    let forged = inbox.forge(&client, &challenge).send();
    assert_eq!((forged.status, forged.text().as_str()), (401, "{}"));
    assert_eq!(outcomes(&inbox.records(&gateway, 2)), [("handshake", ""), ("rejected", "wrong-signature")]);
}

#[test]
fn a_query_value_is_signed_if_it_cannot_be_a_body() {
    let gateway = gateway("");
    let client = gateway.anonymous();
    let inbox = Inbox::of(&gateway, "challenged", Some(SECRET));
    let ask = |value: &str| client.get(&format!("{}?crc_token={value}", inbox.path));
    let answer = ask("aGVsbG8_-");
    let signed = hmac_base64(SECRET, b"aGVsbG8_-");
    assert_eq!(answer.ok(), json!({"response_token": format!("sha256={signed}")}));
    assert_eq!(answer.header("content-type"), "application/json");
    let long = "a".repeat(513);
    for value in ["%7B%22user%22%3A%221%22%7D", "", "a%20b", "a.b", &long] {
        let answer = ask(value);
        assert_eq!((answer.status, answer.text().as_str()), (401, "{}"), "{value}");
    }
    // The signature of a value proves no notification.
    let push = |body: &str, signature: &str| {
        let call = client.request("POST", &inbox.path).header("x-webhooks-signature", &format!("sha256={signature}"));
        call.header("x-event", "ping").body(body.to_owned()).send().status
    };
    assert_eq!(push("{\"user\": \"1\"}", &signed), 401);
    assert_eq!(push("{\"user\": \"1\"}", &hmac_base64(SECRET, b"{\"user\": \"1\"}")), 200);
}

#[test]
fn a_query_value_is_not_repeated_while_no_subscription_is_made() {
    let gateway = gateway("");
    let (inbox, client) = (Inbox::signed(&gateway), gateway.anonymous());
    for path in [inbox.path.as_str(), "/hooks/AAAAAAAAAAAAAAAAAAAAAA"] {
        for name in ["validationToken", "hub.challenge", "challenge", "crc_token"] {
            let answer = client.request("POST", &format!("{path}?{name}=echo-me")).body("").send();
            assert!([401, 404].contains(&answer.status) && answer.text() == "{}", "{path} {name}");
        }
    }
}
