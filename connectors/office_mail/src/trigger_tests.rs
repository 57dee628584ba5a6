//! Messages that arrive, with prepared responses of Microsoft. The crate `connector-microsoft`
//! tests subscriptions and delta queries further.

use connector_sdk::Outcome;
use connector_sdk::http::Body;
use connector_sdk::testing::{Answer, Gateway, invoke};
use serde_json::{Value, json};

use crate::CONNECTOR;

fn reply(operation: &str, input: &Value) -> Value {
    match invoke(&CONNECTOR, operation, &input.to_string()) {
        Ok(Outcome::Reply(text)) => serde_json::from_str(&text).expect("JSON"),
        other => panic!("{operation}: {other:?}"),
    }
}

fn page(items: &Value, token: &str) -> Answer {
    let link = format!("https://graph.test/v1.0/me/mailFolders('inbox')/messages/delta?$deltatoken={token}");
    Answer::json(200, &json!({"value": items, "@odata.deltaLink": link}).to_string())
}

#[test]
fn a_message_that_has_arrived_is_an_event() {
    let message = json!({"id": "AAMk=", "subject": "Hi", "receivedDateTime": "2026-03-02T10:00:00Z"});
    let gateway = Gateway::new()
        .answer(page(&json!([{"id": "old"}]), "d1"))
        .answer(page(&json!([message, {"id": "AAMkB", "@removed": {"reason": "deleted"}}]), "d2"));
    let read = |cursor: &Value| {
        reply("read_messages", &json!({"parameters": {}, "cursor": cursor, "hint": null, "limit": 50}))
    };
    let first = read(&Value::Null);
    assert_eq!((&first["events"], &first["more"], &first["gap"]), (&json!([]), &json!(false), &json!(false)));
    let second = read(&first["cursor"]);
    assert_eq!(second["events"], json!([{"id": "AAMk=", "kind": "", "time": "2026-03-02T10:00:00Z", "data": message}]));
    let paths: Vec<_> = gateway.requests().iter().map(|request| request.path.clone()).collect();
    assert!(
        paths[0].starts_with("/me/mailFolders/inbox/messages/delta?changeType=created&$select=subject,from,"),
        "{}",
        paths[0]
    );
    assert_eq!(paths[1], "/me/mailFolders/inbox/messages/delta?$deltatoken=d1");
}

#[test]
fn a_subscription_is_for_a_folder() {
    let made = || Answer::json(201, r#"{"id":"s-1","expirationDateTime":"2026-03-09T10:00:00Z"}"#);
    let gateway = Gateway::new().answer(made()).answer(made());
    for (parameters, resource) in [
        (json!({}), "me/mailFolders('inbox')/messages"),
        (json!({"mail_folder_id": "AA'k="}), "me/mailFolders('AA''k=')/messages"),
    ] {
        let subscription = reply("subscribe", &json!({"parameters": parameters, "kinds": []}));
        assert_eq!(subscription, json!({"upstream_id": "s-1", "expires_at": "2026-03-09T10:00:00Z"}));
        let requests = gateway.requests();
        let Some(Body::Json(body)) = &requests[requests.len() - 1].body else { panic!("a body") };
        let body: Value = serde_json::from_str(body).expect("JSON");
        assert_eq!((&body["resource"], &body["changeType"]), (&json!(resource), &json!("created")));
        assert_eq!(body["expirationDateTime"], "1970-01-08T00:00:00Z");
    }
}

#[test]
fn a_subscription_is_renewed_and_ended() {
    let gateway = Gateway::new()
        .answer(Answer::json(200, r#"{"id":"s-1","expirationDateTime":"2026-03-09T10:00:00Z"}"#))
        .answer(Answer::new(204, ""));
    let input = json!({"upstream_id": "s-1", "state": null, "parameters": {}, "kinds": []});
    assert_eq!(reply("renew", &input)["upstream_id"], "s-1");
    assert_eq!(reply("unsubscribe", &json!({"upstream_id": "s-1", "parameters": {}})), json!({}));
    assert!(gateway.requests().iter().all(|request| request.path == "/subscriptions/s-1"));
}
