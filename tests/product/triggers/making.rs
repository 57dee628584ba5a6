//! Checks before a trigger is made, and their order.

use super::*;

#[test]
fn everything_that_is_wrong_with_a_body_is_told_at_once_and_before_anything_else() {
    let world = world();
    let body = json!({
        "connector": "notified", "type": "change", "parameters": {"folder": "no/path", "depth": 2}, "colour": "red",
        "urls": ["https://a.example", "ftp://b.example", "c"], "poll_s": 59, "labels": {"": "x"},
        "filters": [{"pointer": "name", "in": []}],
    });
    // The user has no account yet.
    let mut pointers: Vec<String> = world.make(&body).violations().into_iter().map(|(pointer, _)| pointer).collect();
    pointers.sort();
    assert_eq!(
        pointers,
        [
            "/colour",
            "/filters/0/in",
            "/filters/0/pointer",
            "/labels",
            "/parameters/depth",
            "/parameters/folder",
            "/poll_s",
            "/urls/1",
            "/urls/2",
        ]
    );
    let four = world.make(&json!({"connector": "notified", "type": "change", "urls": vec!["https://a.example"; 4]}));
    let pointers: Vec<String> = four.violations().into_iter().map(|(pointer, _)| pointer).collect();
    assert_eq!(pointers, ["/urls", "/parameters/folder"]);
}

#[test]
fn a_trigger_has_a_limit_of_what_the_gateway_keeps_of_it() {
    let world = world();
    world.connect();
    let filter = |letter: &str| {
        let values: Vec<String> = (0..100).map(|number| format!("{number}{}", letter.repeat(400))).collect();
        json!({"pointer": "/name", "in": values})
    };
    let mut body = on_folder("plans");
    body["filters"] = json!([filter("a")]);
    let id = world.trigger(&body);
    let large = json!([filter("a"), filter("b")]);
    let changed = world.client().request("PATCH", &format!("/triggers/{id}")).json(&json!({"filters": large})).send();
    assert_eq!(changed.violations()[0].0, "/filters");
    body["filters"] = large;
    let violations = world.make(&body).violations();
    assert_eq!(violations[0].0, "/filters");
    assert!(violations[0].1.contains("65536"), "{violations:?}");
}

#[test]
fn a_misspelt_connector_or_type_is_told_with_the_nearest_one() {
    let world = world();
    for (connector, kind, pointer, nearest) in
        [("notifed", "change", "/connector", "notified"), ("notified", "chang", "/type", "change")]
    {
        let violations = world.make(&json!({"connector": connector, "type": kind})).violations();
        assert_eq!(violations[0].0, pointer);
        assert!(violations[0].1.contains(&format!("`{nearest}`")), "{violations:?}");
    }
}

#[test]
fn the_account_its_scopes_and_the_secret_are_checked_in_this_order() {
    let world = world();
    let body = {
        let mut body = on_folder("plans");
        body["urls"] = json!([world.service.url()]);
        body
    };
    world.make(&body).problem(424, "integration-required");
    world.provider.grant_only(&["write"]);
    world.connect();
    let problem = world.make(&body).problem(409, "scopes-missing");
    assert_eq!((&problem["missing"], &problem["owner"]), (&json!(["read"]), &json!("user")));
    assert_eq!(problem["action"]["path"], "/connectors/notified/integrations");
    assert_eq!(problem["action"]["body"]["user_identifier"], email("ada"));
    world.provider.grant_only(&["read"]);
    world.connect();
    let problem = world.make(&body).problem(409, "webhook-secret-required");
    assert_eq!(problem["action"], json!({"method": "POST", "path": "/webhooks/secrets"}));
    assert_eq!(world.client().get("/triggers").ok()["triggers"], json!([]));
    make_secret(&world.client());
    let made = world.make(&body);
    assert_eq!(made.status, 201, "{}", made.text());
    let record = made.json();
    assert_eq!((&record["connector"], &record["type"]), (&json!("notified"), &json!("change")));
    assert_eq!((&record["user_identifier"], &record["mode"]), (&json!(email("ada")), &json!("poll")));
    assert_eq!(record["parameters"], json!({"folder": "plans"}));
    assert_eq!((&record["poll_s"], &record["pending_deliveries"]), (&Value::Null, &json!(0)));
    assert!(record.get("tenant").is_none(), "the tenant is for operators: {record}");
}

#[test]
fn a_trigger_with_an_idempotency_key_is_made_once() {
    let world = world();
    world.connect();
    let send = |user: &str| {
        let call = world.client().request("POST", "/triggers").header("x-user-identifier", user);
        call.header("idempotency-key", "one").json(&on_folder("plans")).send()
    };
    let (first, second) = (send(&email("ada")), send(&email("ada")));
    assert_eq!((first.status, second.status), (201, 201), "{}", first.text());
    assert_eq!(first.json(), second.json());
    assert_eq!(second.header("idempotent-replayed"), "true");
    send("someone").problem(422, "idempotency-key-reused");
    assert_eq!(world.client().get("/triggers").ok()["triggers"].as_array().unwrap().len(), 1);
}

#[test]
fn the_types_of_events_are_listed_with_their_schemas() {
    let world = world();
    let page = world.client().get("/trigger-types?connector=notified").ok();
    let names: Vec<&str> =
        page["trigger_types"].as_array().unwrap().iter().map(|kind| kind["type"].as_str().unwrap()).collect();
    assert_eq!(names, ["change", "item", "limited", "mail", "message", "post", "renewed"]);
    let change = &page["trigger_types"][0];
    assert_eq!((&change["source"], &change["push"], &change["poll_s"]), (&json!("read"), &json!("none"), &json!(300)));
    assert_eq!((&change["scopes"], &change["example"]["name"]), (&json!(["read"]), &json!("plan.txt")));
    assert_eq!(change["parameters"]["required"], json!(["folder"]));
    // Without https, no service notifies the gateway.
    assert_eq!(page["trigger_types"][3]["push"], "needs-setup");

    let mut found = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = world.client().get(&format!("/trigger-types?limit=4{cursor}")).ok();
        let types = page["trigger_types"].as_array().unwrap();
        found.extend(
            types
                .iter()
                .map(|kind| format!("{}.{}", kind["connector"].as_str().unwrap(), kind["type"].as_str().unwrap())),
        );
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(found.len(), 11);
    assert!(found.is_sorted() && found.contains(&"gateway.integration_expired".to_owned()), "{found:?}");
    world.client().get("/trigger-types?type=change").problem(422, "validation");
}

#[test]
fn what_a_trigger_looks_at_is_fixed_and_the_rest_changes() {
    let world = world();
    world.connect();
    let id = world.trigger(&on_folder("plans"));
    let path = format!("/triggers/{id}");
    let change = |body: Value| world.client().request("PATCH", &path).json(&body).send();
    let violations = change(json!({"parameters": {"folder": "other"}, "poll_s": 1})).violations();
    assert_eq!(violations.iter().map(|(pointer, _)| pointer.as_str()).collect::<Vec<_>>(), ["/poll_s", "/parameters"]);
    assert!(violations[1].1.contains("POST /triggers"), "{violations:?}");
    let set = json!({"poll_s": 120, "labels": {"team": "blue"}, "filters": [{"pointer": "/name", "in": ["a", null]}]});
    let record = change(set).ok();
    assert_eq!((&record["poll_s"], &record["labels"]), (&json!(120), &json!({"team": "blue"})));
    assert_eq!(record["filters"], json!([{"pointer": "/name", "in": ["a", null]}]));
    let reset = change(json!({"poll_s": null, "filters": null})).ok();
    assert_eq!(
        (&reset["poll_s"], &reset["filters"], &reset["labels"]["team"]),
        (&Value::Null, &json!([]), &json!("blue"))
    );
    assert_eq!(change(json!({"paused": true})).ok()["status"], "paused");
    let found =
        |query: &str| world.client().get(&format!("/triggers?{query}")).ok()["triggers"].as_array().unwrap().len();
    assert_eq!((found("status=paused"), found("status=active")), (1, 0));
    assert_eq!((found("label.team=blue&type=change"), found("label.team=red")), (1, 0));
    change(json!({"urls": [world.service.url()]})).problem(409, "webhook-secret-required");
    assert_eq!(change(json!({"paused": false})).ok()["parameters"], json!({"folder": "plans"}));
}
