//! The request of the row, and the answer of `token_info`.

use connector_sdk::auth::Auth;
use connector_sdk::http::Method;
use connector_sdk::table::CredentialUse;
use connector_sdk::testing::{Answer, Gateway, forwarded, invoke};
use connector_sdk::{Fault, Outcome};

use crate::CONNECTOR;

#[test]
fn userinfo_is_googles_answer() {
    let request = forwarded(&CONNECTOR, "userinfo", "{}");
    assert_eq!((request.method, request.upstream.as_str(), request.path.as_str()), (Method::Get, "userinfo", ""));
    assert!(request.headers.is_empty() && request.body.is_none());
    let bases: Vec<_> = CONNECTOR.upstreams.iter().map(|upstream| (upstream.name, upstream.base_url)).collect();
    assert_eq!(bases, [("oauth2", "https://www.googleapis.com/oauth2/v2"), ("userinfo", "{oauth2}/userinfo")]);
}

#[test]
fn token_info_does_not_show_the_token() {
    let gateway = Gateway::new().answer(Answer::json(
        200,
        r#"{"issued_to":"c.apps","audience":"c.apps","user_id":"110","scope":"openid  https://g.test/auth/userinfo.email",
            "expires_in":3412,"email":"ada@acme.test","verified_email":true,"access_type":"offline"}"#,
    ));
    let Ok(Outcome::Reply(text)) = invoke(&CONNECTOR, "token_info", "{}") else { panic!("a reply") };
    assert_eq!(
        text,
        r#"{"audience":"c.apps","user_id":"110","email":"ada@acme.test","verified_email":true,"scopes":["openid","https://g.test/auth/userinfo.email"],"expires_in":3412}"#
    );
    let requests = gateway.requests();
    let request = &requests[0];
    assert_eq!(
        (request.method, request.upstream.as_str(), request.path.as_str()),
        (Method::Post, "oauth2", "/tokeninfo")
    );
    assert!(request.body.is_none() && !request.omit_credential);
}

#[test]
fn the_gateway_puts_the_token_into_a_form() {
    let Auth::OAuth2(client) = &CONNECTOR.auth else { panic!("OAuth 2.0") };
    assert_eq!(client.form_field, Some("access_token"));
    let uses: Vec<_> = CONNECTOR.upstreams.iter().map(|upstream| (upstream.name, upstream.credential)).collect();
    assert_eq!(uses, [("oauth2", Some(CredentialUse::FormField)), ("userinfo", Some(CredentialUse::Standard))]);
}

#[test]
fn members_that_google_leaves_out_are_null() {
    let _gateway = Gateway::new().answer(Answer::json(200, r#"{"audience":"c.apps","scope":"","expires_in":"soon"}"#));
    let Ok(Outcome::Reply(text)) = invoke(&CONNECTOR, "token_info", "{}") else { panic!("a reply") };
    assert_eq!(
        text,
        r#"{"audience":"c.apps","user_id":null,"email":null,"verified_email":null,"scopes":[],"expires_in":null}"#
    );
}

#[test]
fn a_token_that_google_does_not_know_is_answered_as_401() {
    let body = r#"{"error":"invalid_token","error_description":"Invalid Value"}"#;
    let _gateway = Gateway::new().answer(Answer::json(400, body));
    let Err(Fault::Upstream(failure)) = invoke(&CONNECTOR, "token_info", "{}") else { panic!("a fault") };
    assert_eq!((failure.status, failure.body.as_deref()), (401, Some(body)));
}

#[test]
fn another_failure_is_passed_on() {
    let _gateway = Gateway::new().answer(Answer::new(503, "busy").header("retry-after", "5"));
    let Err(Fault::Upstream(failure)) = invoke(&CONNECTOR, "token_info", "{}") else { panic!("a fault") };
    assert_eq!((failure.status, failure.retry_after_seconds), (503, Some(5)));
}
