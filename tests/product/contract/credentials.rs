//! The user's credential goes to the upstreams that the manifest declares, in the declared form. A
//! request can only leave it out.

use serde_json::{Value, json};
use support::{Endpoint, Gateway, Reply, Seen, Setup, Upstream, module};

use super::{Connected, assert_without};

/// Spellings of a form field `token` and of `access_token` that a service could read as the
/// credential.
const SPELLINGS: [&str; 12] = [
    "token",
    "TOKEN",
    "Token",
    "token[]",
    "token[a]",
    " token ",
    "token\0a",
    "access_token",
    "Access_Token",
    "ACCESS_TOKEN",
    "access token",
    "access.token",
];

const KEY: &str = "key-of-the-user-0123456789+/==";

/// A request to the upstream whose requests carry the credential in a form field.
fn form(fields: Value) -> Value {
    json!({"upstream": "form", "method": "POST", "path": "", "form": fields})
}

#[test]
fn the_credential_is_a_further_field_of_a_form() {
    let world = Connected::start();
    for operation in ["account/composed", "account/forward", "account/fan_out"] {
        let seen = world.api_calls_of(|| drop(world.client.call(operation, form(json!([["text", "hello"]]))).ok()));
        for seen in seen {
            let expected = [("text".to_owned(), "hello".to_owned()), ("token".to_owned(), world.token())];
            assert_eq!(seen.form(), expected, "{operation}");
            assert_eq!(seen.header("authorization"), "", "{operation}");
        }
    }
}

#[test]
fn a_form_with_a_field_that_could_be_the_credential_is_refused_and_nothing_is_sent() {
    let world = Connected::start();
    let requests = SPELLINGS.map(|name| form(json!([["text", "hello"], [name, "of another user"]])));
    let in_query = ["/?token=other", "/?a=b&Access_Token=other"]
        .map(|path| json!({"upstream": "form", "method": "POST", "path": path}));
    let sent = world.api_calls_of(|| {
        for request in requests.iter().chain(&in_query) {
            for operation in ["account/composed", "account/forward"] {
                let problem = world.client.call(operation, request.clone()).problem(500, "connector-failed");
                assert!(problem["detail"].as_str().unwrap().contains("token"), "{problem}");
            }
            let statuses = world.client.call("account/fan_out", request.clone()).ok();
            assert_eq!(statuses, json!({"statuses": [0, 0]}), "{request}");
        }
    });
    assert!(sent.is_empty(), "{sent:?}");
}

#[test]
fn the_name_of_the_form_field_is_the_schemes() {
    let world = Connected::with(&json!({"form_field": "auth[key]"}), "");
    let refused = form(json!([["auth[key]", "of another user"]]));
    world.client.call("account/composed", refused).problem(500, "connector-failed");
    let expected = [("token".to_owned(), "a".to_owned()), ("auth[key]".to_owned(), world.token())];
    let seen = world.api_calls_of(|| drop(world.client.call("account/composed", form(json!([["token", "a"]])))));
    assert_eq!(seen[0].form(), expected);
}

#[test]
fn a_body_that_is_not_a_form_does_not_go_to_an_upstream_with_a_form_field() {
    let world = Connected::start();
    let request = json!({"upstream": "form", "method": "POST", "path": "", "body": r#"{"token": "other"}"#});
    let sent = world.api_calls_of(|| {
        for operation in ["account/composed", "account/forward"] {
            world.client.call(operation, request.clone()).problem(500, "connector-failed");
        }
    });
    assert!(sent.is_empty(), "{sent:?}");
}

#[test]
fn an_upstream_that_is_not_declared_to_get_the_credential_never_gets_it() {
    let world = Connected::start();
    let secrets = world.provider.secrets();
    let requests = [
        json!({"upstream": "other", "path": "/elsewhere"}),
        json!({"upstream": "other", "path": "/elsewhere?access_token="}),
        json!({"upstream": "other", "method": "POST", "path": "/elsewhere"}),
        json!({"upstream": "other", "method": "POST", "path": "/elsewhere", "body": "{}"}),
        json!({"upstream": "other", "method": "POST", "path": "/elsewhere", "form": [["text", "hello"]]}),
        json!({"upstream": "other", "method": "POST", "path": "/elsewhere", "form": [["token", ""], ["access_token", ""]]}),
        json!({"upstream": "other", "path": "/elsewhere", "credential": "standard"}),
        json!({"upstream": "other", "path": "/elsewhere", "credential": "form_field"}),
    ];
    for request in requests {
        for operation in ["account/composed", "account/forward", "account/fan_out", "account/memory", "account/log"] {
            let seen = world.api_calls_of(|| drop(world.client.call(operation, request.clone())));
            assert!(!seen.is_empty(), "{operation} sends {request}");
            for seen in seen {
                assert_without(&secrets, &seen);
                assert_eq!(seen.header("authorization"), "", "{operation}: {request}");
            }
        }
    }
    assert_eq!(world.provider.count(Endpoint::Refresh), 0, "a 401 there says nothing of the credential");
    assert_eq!(world.client.call("account/composed", json!({"path": "/me"})).ok()["status"], 200);
}

#[test]
fn a_request_can_only_leave_the_credential_out() {
    let world = Connected::start();
    let secrets = world.provider.secrets();
    let cases = [
        (json!({"path": "/me"}), "authorization", vec![]),
        (form(json!([["text", "hello"]])), "form", vec![("text", "hello")]),
        // Without the user's credential the field is data of the connector.
        (form(json!([["token", "own"]])), "form", vec![("token", "own")]),
    ];
    for (mut request, place, fields) in cases {
        for placement in ["header", "form", "standard", "form_field", "query"] {
            request["credential"] = placement.into();
            if place == "authorization" {
                let seen = world.api_calls_of(|| drop(world.client.call("account/composed", request.clone()).ok()));
                assert_eq!(seen[0].header("authorization"), format!("Bearer {}", world.token()), "{placement}");
                assert_eq!((seen[0].query.as_str(), seen[0].form()), ("", Vec::new()), "{placement}");
            }
        }
        request["credential"] = "omitted".into();
        let seen = world.api_calls_of(|| drop(world.client.call("account/composed", request.clone()).ok()));
        assert_eq!(seen.len(), 1, "{place}: a 401 without the credential is not tried again");
        assert_without(&secrets, &seen[0]);
        let form = seen[0].form();
        assert_eq!(form.iter().map(|(name, value)| (&**name, &**value)).collect::<Vec<_>>(), fields);
    }
    assert_eq!(world.provider.count(Endpoint::Refresh), 0);
}

#[test]
fn a_redirected_form_takes_the_credential_to_places_below_the_base_url_only() {
    let elsewhere = Upstream::start();
    elsewhere.reply("*", Reply::json(json!({"here": true})));
    let world = Connected::with(&json!({}), &format!("link_hosts.form = [\"127.0.0.1:{}\"]", elsewhere.port()));
    let landed = format!("{}/landed", elsewhere.url());
    world.provider.on_api(move |seen, _| {
        let is_for = |place: &str| seen.form().iter().any(|(_, value)| value == place);
        match seen.path.ends_with("/me") {
            true if is_for("away") => Reply::redirect(&landed).status(307),
            true if is_for("beside") => Reply::redirect("/api/again").status(307),
            true => Reply::redirect("/api/me/again").status(307),
            false => Reply::json(json!({"arrived": true})),
        }
    });
    let call = |text: &str| world.client.call("account/composed", form(json!([["text", text]])));
    let tokens = |seen: &Seen| seen.form().iter().filter(|(name, _)| name == "token").count();
    for (place, expected) in [("home", [1, 1]), ("beside", [1, 0])] {
        let seen = world.api_calls_of(|| drop(call(place).ok()));
        assert_eq!(seen.iter().map(tokens).collect::<Vec<_>>(), expected, "{seen:?}");
    }
    assert_eq!(call("away").ok()["status"], 200);
    let seen = elsewhere.seen();
    assert_eq!(seen[0].form(), [("text".to_owned(), "away".to_owned())]);
    assert_without(&world.provider.secrets(), &seen[0]);
}

/// A gateway with the guest `account`, whose users have an API key of the service, and one
/// connected account.
fn with_key(service: &Upstream, placement: &str) -> Gateway {
    let document = json!({"identifier": "account", "auth": "api_key", "placement": placement});
    let setup = Setup::new().module("account", module::account(&document));
    let url = service.url();
    let gateway = setup.upstream("account", "api", &url).config(&format!("upstreams.other = \"{url}/other\"")).start();
    let credentials = match placement {
        "basic" => json!({"username": "ada", "password": KEY}),
        _ => json!({"api_key": KEY}),
    };
    let body = json!({"auth_type": "api_key", "credentials": credentials, "user_identifier": "mine"});
    gateway.client().post("/connectors/account/integrations", body).ok();
    gateway
}

#[test]
fn an_api_key_goes_to_the_declared_upstreams_only() {
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({})));
    for placement in ["header", "query", "basic"] {
        let gateway = with_key(&service, placement);
        service.take_seen();
        gateway.call("account/composed", json!({"path": "/x"})).ok();
        let direct = service.take_seen().remove(0);
        match placement {
            "header" => assert_eq!(direct.header("x-api-key"), format!("Key {KEY}")),
            "query" => assert_eq!(direct.parameter("api_key").as_deref(), Some(KEY)),
            _ => assert!(direct.header("authorization").starts_with("Basic ")),
        }
        gateway.call("account/composed", form(json!([["text", "hello"]]))).ok();
        let in_form = service.take_seen().remove(0);
        assert_eq!(
            in_form.form(),
            [("text".to_owned(), "hello".to_owned()), ("token".to_owned(), KEY.to_owned())],
            "{placement}"
        );
        assert_eq!(
            (in_form.query.as_str(), in_form.header("x-api-key"), in_form.header("authorization")),
            ("", "", "")
        );
        for request in [json!({"upstream": "other", "path": "/x"}), json!({"path": "/x", "credential": "omitted"})] {
            gateway.call("account/composed", request).ok();
            let seen = service.take_seen().remove(0);
            assert_without(&[KEY.to_owned()], &seen);
            assert_eq!((seen.header("x-api-key"), seen.header("authorization")), ("", ""), "{placement}");
        }
    }
}

#[test]
fn a_form_with_the_name_of_the_keys_query_parameter_is_refused() {
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({})));
    let gateway = with_key(&service, "query");
    service.take_seen();
    for name in ["api_key", "API_KEY", "token", "access_token"] {
        let answer = gateway.call("account/composed", form(json!([[name, "of another user"]])));
        answer.problem(500, "connector-failed");
    }
    assert!(service.seen().is_empty(), "{:?}", service.seen());
}
