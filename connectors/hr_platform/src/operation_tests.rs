//! The request of each row, and the forms of a user.

use connector_sdk::http::{Error, Method};
use connector_sdk::testing::{Answer, Gateway, forwarded, invoke};
use connector_sdk::{Fault, Outcome};
use serde_json::{Value, json};

use crate::CONNECTOR;

/// The answer of `userinfo` for a response of the HR system.
fn userinfo(answer: &str) -> Value {
    let _gateway = Gateway::new().answer(Answer::json(200, answer));
    match invoke(&CONNECTOR, "userinfo", "{}") {
        Ok(Outcome::Reply(text)) => serde_json::from_str(&text).expect("JSON"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn rows_lie_below_the_operators_paths() {
    let input = r#"{"query":{"page":1,"per_page":50,"search":"ada l"}}"#;
    let gateway = Gateway::new();
    for (operation, input, expected) in [
        ("list_employees", "{}", "/employees"),
        ("list_employees", input, "/employees?page=1&per_page=50&search=ada%20l"),
        ("get_employee", r#"{"employee_id":"a/42"}"#, "/employees/a%2F42"),
    ] {
        let request = forwarded(&CONNECTOR, operation, input);
        assert_eq!((request.method, request.upstream.as_str(), request.path.as_str()), (Method::Get, "api", expected));
        assert!(request.headers.is_empty() && request.body.is_none());
    }
    let _gateway = gateway.setting("employees_path", "\"/v2/people\"");
    assert_eq!(forwarded(&CONNECTOR, "list_employees", "{}").path, "/v2/people");
    assert_eq!(forwarded(&CONNECTOR, "get_employee", r#"{"employee_id":"42"}"#).path, "/v2/people/42");
}

#[test]
fn userinfo_is_at_the_path_that_the_operator_sets() {
    for (setting, expected) in [(None, ("userinfo", "")), (Some("\"/v2/me\""), ("api", "/v2/me"))] {
        let mut gateway = Gateway::new().answer(Answer::json(200, r#"{"id":"1"}"#));
        if let Some(path) = setting {
            gateway = gateway.setting("userinfo_path", path);
        }
        assert!(invoke(&CONNECTOR, "userinfo", "{}").is_ok());
        let requests = gateway.requests();
        assert_eq!((requests[0].upstream.as_str(), requests[0].path.as_str()), expected);
        assert_eq!(requests[0].method, Method::Get);
    }
    let bases: Vec<_> = CONNECTOR.upstreams.iter().map(|upstream| (upstream.name, upstream.base_url)).collect();
    assert_eq!(bases, [("api", ""), ("userinfo", "{api}/userinfo")]);
}

#[test]
fn a_user_in_the_form_of_the_answer_is_unchanged() {
    let answer = r#"{"data":{"id":"u1","email":"ada@acme.test","username":"ada","employee":{"id":"e1","name":"Ada Lovelace"},"roles":[{"id":"r1","name":"HR admin","active":false}]},"meta":null}"#;
    let _gateway = Gateway::new().answer(Answer::json(200, answer));
    assert!(matches!(invoke(&CONNECTOR, "userinfo", "{}"), Ok(Outcome::Reply(text)) if text == answer));
}

#[test]
fn other_names_of_members_are_accepted() {
    let answer = r#"{"id":7,"login":"ada","employee":{"id":42,"firstName":"Ada","last_name":"Lovelace"},
        "userRole":{"id":3,"name":"Admin"},"department":"Engines"}"#;
    assert_eq!(
        userinfo(answer),
        json!({
            "data": {
                "id": "7",
                "email": null,
                "username": "ada",
                "employee": {"id": "42", "name": "Ada Lovelace"},
                "roles": [{"id": "3", "name": "Admin", "active": true}],
            },
            "meta": null,
        })
    );
    assert_eq!(userinfo(r#"{"id":1,"userName":"b","login":"c"}"#)["data"]["username"], "b");
    assert_eq!(userinfo(r#"{"id":1,"username":null,"login":"c"}"#)["data"]["username"], "c");
}

#[test]
fn the_answer_has_every_member_for_any_response() {
    let bare = json!({
        "data": {"id": "1", "email": null, "username": null, "employee": null, "roles": []},
        "meta": null,
    });
    for answer in [
        r#"{"id":1}"#,
        r#"{"data":{"id":1}}"#,
        r#"{"id":1,"data":{"id":2}}"#,
        r#"{"id":1,"email":null,"employee":null,"roles":null}"#,
        r#"{"id":1,"employee":{"name":"no id"},"roles":[null,{},[]]}"#,
    ] {
        assert_eq!(userinfo(answer), bare, "{answer}");
    }
    assert_eq!(userinfo(r#"{"id":1,"employee":{"id":2}}"#)["data"]["employee"], json!({"id": "2", "name": ""}));
}

#[test]
fn a_role_may_be_only_a_name() {
    let role = |id: &str, name: &str, active: bool| json!({"id": id, "name": name, "active": active});
    for (answer, expected) in [
        (r#"{"id":1,"role":"admin"}"#, json!([role("admin", "admin", true)])),
        (r#"{"id":1,"role":null,"userRole":"admin"}"#, json!([role("admin", "admin", true)])),
        (r#"{"id":1,"role":"a","userRole":"b"}"#, json!([role("a", "a", true)])),
        (
            r#"{"id":1,"roles":["a",{"name":"b"},{"id":3}]}"#,
            json!([role("a", "a", true), role("b", "b", true), role("3", "3", true)]),
        ),
        (r#"{"id":1,"roles":[{"id":"r","name":"R","active":false}],"role":"x"}"#, json!([role("r", "R", false)])),
        (r#"{"id":1,"roles":[],"role":"x"}"#, json!([])),
    ] {
        assert_eq!(userinfo(answer)["data"]["roles"], expected, "{answer}");
    }
}

#[test]
fn a_response_without_a_user_is_an_error() {
    for answer in ["{}", "[]", "null", r#"{"id":null}"#, r#"{"id":""}"#, r#"{"data":[]}"#] {
        let _gateway = Gateway::new().answer(Answer::json(200, answer));
        assert!(matches!(invoke(&CONNECTOR, "userinfo", "{}"), Err(Fault::Http(Error::BadAnswer(_)))), "{answer}");
    }
}

#[test]
fn a_refused_token_is_passed_on_as_401() {
    let _gateway = Gateway::new().answer(Answer::json(401, r#"{"error":"invalid_token"}"#));
    let Err(Fault::Upstream(failure)) = invoke(&CONNECTOR, "userinfo", "{}") else { panic!("a fault") };
    assert_eq!(failure.status, 401);
}

#[test]
fn the_connector_knows_no_address_of_the_provider() {
    let connector_sdk::auth::Auth::OAuth2(client) = &CONNECTOR.auth else { panic!("OAuth 2.0") };
    assert_eq!((client.authorization_url, client.token_url, client.scopes.len()), ("", "", 0));
}
