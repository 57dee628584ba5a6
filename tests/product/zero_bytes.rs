//! Texts with a zero byte, which PostgreSQL cannot have: they name nothing, or are told as
//! mistakes, and are no failure of the database.

use serde_json::{Value, json};
use support::{Client, Dialect, Gateway, OAuthProvider, Store};

use crate::integrations::{client, connect, email, gateway, on_each_store};

on_each_store!(
    no_path_and_no_query_with_a_zero_byte_reaches_the_database,
    an_account_with_a_zero_byte_in_its_name_is_not_there,
    a_cursor_with_a_zero_byte_is_refused,
    a_line_with_a_zero_byte_keeps_no_other_line_out,
    a_body_with_a_zero_byte_is_refused,
);

fn world(store: &Store) -> (Gateway, OAuthProvider, Client) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let user = client(&gateway, "acme", Some("ann"), "operate,integrate");
    connect(&user, "account", "ada");
    (gateway, provider, user)
}

/// Requires that no statement has failed. Otherwise the gateway would not take over the work of
/// gateways that have died.
#[track_caller]
fn assert_sound(gateway: &Gateway) {
    let log = gateway.log();
    let failures: Vec<_> = log.iter().filter(|line| line["message"] == "the database failed").collect();
    assert!(failures.is_empty(), "{failures:#?}");
}

fn no_path_and_no_query_with_a_zero_byte_reaches_the_database(store: &Store) {
    let (gateway, _provider, _) = world(store);
    let operator = gateway.client();
    let document = operator.get("/openapi.json").ok();
    let mut sent = 0;
    // The address of agents may keep a connection open.
    let paths = document["paths"].as_object().unwrap().iter().filter(|(path, _)| !path.starts_with("/mcp"));
    for (path, item) in paths {
        let zero = |segment: &str| if segment.starts_with('{') { "%00".to_owned() } else { segment.to_owned() };
        let path = path.split('/').map(zero).collect::<Vec<_>>().join("/");
        let operations = ["get", "delete"].into_iter().filter_map(|method| Some((method, item.get(method)?)));
        for (method, operation) in operations {
            let all = operation["parameters"].as_array().into_iter().flatten();
            let names = all.filter(|parameter| parameter["in"] == "query");
            let names = names.map(|parameter| parameter["name"].as_str().unwrap().trim_end_matches("NAME").to_owned());
            for query in names.map(|name| format!("?{name}=%00")).chain([String::new()]) {
                let answer = operator.request(&method.to_uppercase(), &format!("{path}{query}")).send();
                assert!(answer.status < 500, "{method} {path}{query}: {} {}", answer.status, answer.text());
                sent += 1;
            }
        }
    }
    assert!(sent > 50, "{sent} requests");
    for (query, pointer) in [
        ("/integrations?connector=a%00", "/connector"),
        ("/triggers?user_identifier=%00", "/user_identifier"),
        ("/admin/keys?tenant=%00", "/tenant"),
        ("/admin/audit?target=%00", "/target"),
        ("/admin/calls?subject=%00", "/subject"),
        ("/admin/integrations?account=%00", "/account"),
    ] {
        let violations = operator.get(query).violations();
        assert_eq!(violations.len(), 1, "{query}: {violations:?}");
        assert!(violations[0].0 == pointer && violations[0].1.contains("U+0000"), "{query}: {violations:?}");
    }
    operator.get("/admin/calls/%00").problem(404, "unknown-call");
    assert_sound(&gateway);
}

fn an_account_with_a_zero_byte_in_its_name_is_not_there(store: &Store) {
    let (gateway, _provider, user) = world(store);
    let path = "/connectors/account/integrations/ada%00";
    for method in ["GET", "POST", "DELETE"] {
        let problem = user.request(method, path).send().problem(404, "unknown-integration");
        assert_eq!(problem["candidates"], json!([email("ada")]), "{method}");
    }
    let labels = json!({"labels": {"team": "blue"}});
    user.request("PATCH", path).json(&labels).send().problem(404, "unknown-integration");
    assert_eq!(user.get("/integrations").ok()["integrations"].as_array().unwrap().len(), 1);
    assert_sound(&gateway);
}

fn a_cursor_with_a_zero_byte_is_refused(store: &Store) {
    let (gateway, _provider, _) = world(store);
    let operator = gateway.client();
    for (list, cursor) in [
        // ["a","\u0000"]
        ("/integrations?", "WyJhIiwiXHUwMDAwIl0"),
        // [1,"\u0000"]
        ("/admin/keys?", "WzEsIlx1MDAwMCJd"),
        // ["tenant",[20000,["a\u0000"]]]
        ("/admin/usage?", "WyJ0ZW5hbnQiLFsyMDAwMCxbImFcdTAwMDAiXV1d"),
        // Names are missing: ["tenant",[20000,[]]] and ["operation",[20000,["a"]]]
        ("/admin/usage?", "WyJ0ZW5hbnQiLFsyMDAwMCxbXV1d"),
        ("/admin/usage?by=operation&", "WyJvcGVyYXRpb24iLFsyMDAwMCxbImEiXV1d"),
    ] {
        let violations = operator.get(&format!("{list}cursor={cursor}")).violations();
        let pointers: Vec<_> = violations.iter().map(|(pointer, _)| &**pointer).collect();
        assert_eq!(pointers, ["/cursor"], "{list} {cursor}");
    }
    assert_sound(&gateway);
}

fn a_line_with_a_zero_byte_keeps_no_other_line_out(store: &Store) {
    let (gateway, _provider, _) = world(store);
    let line = |name: &str, account: Value| {
        json!({
            "tenant": "acme", "subject": "bob", "connector": "account", "user_identifier": name,
            "credentials": {"access_token": "a-good-token"}, "account": account,
        })
    };
    let lines = [
        line("first", json!({"name": "Bob"})),
        line("second", json!({"name": "a\0"})),
        line("third", json!({"id": "\0", "email": "bob@example.com"})),
        line("last", json!({"name": "Bob \u{200d}"})),
    ];
    let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let import = gateway.client().request("POST", "/admin/integrations/import");
    let answer = import.header("content-type", "application/x-ndjson").body(body).send();
    let answers: Vec<Value> = answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let seen: Vec<_> = answers.iter().map(|answer| answer["status"].as_str().unwrap()).collect();
    assert_eq!(seen, ["created", "refused", "refused", "created"], "{answers:?}");
    for (answer, pointer) in answers[1..3].iter().zip(["/account/name: ", "/account/id: "]) {
        assert!(answer["error"].as_str().unwrap().starts_with(pointer), "{answer}");
    }
    assert_sound(&gateway);
}

fn a_body_with_a_zero_byte_is_refused(store: &Store) {
    let (gateway, _provider, user) = world(store);
    let pointers = |answer: support::Answer| -> Vec<String> {
        answer.violations().into_iter().map(|(pointer, _)| pointer).collect()
    };
    let link = json!({"connectors": ["account"], "callback_url": "http://127.0.0.1/\0"});
    assert_eq!(pointers(user.post("/connect-links", link)), ["/callback_url"]);
    let of_tenant = "/admin/tenants/acme/oauth_clients/account";
    let registered = gateway.client().request("PUT", of_tenant).json(&json!({"client_id": "a\0"})).send();
    assert_eq!(pointers(registered), ["/client_id"]);
    assert_eq!(
        pointers(gateway.client().post("/admin/keys", json!({"name": "a\0", "scopes": ["operate"]}))),
        ["/name"]
    );
    assert_sound(&gateway);
}
