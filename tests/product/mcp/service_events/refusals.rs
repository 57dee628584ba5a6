//! The words for an agent that gets no events.

use super::*;

#[test]
fn each_refusal_has_its_code_and_says_what_it_is_about() {
    let world = world();
    world.connect();
    let (agent, receiver) = (agent(&world), Receiver::start());
    let with = |pointer: &str, value: Value| {
        let mut params = receiver.params(1);
        match pointer.split_once('/') {
            Some((outer, inner)) => params[outer][inner] = value,
            None => params[pointer] = value,
        }
        params
    };
    for (params, expected) in [
        (with("name", json!("notified.chang")), -32011),
        (with("name", json!("other.change")), -32011),
        (with("name", json!(1)), -32602),
        (with("arguments", json!({"folder": "no/path"})), -32602),
        (with("arguments", json!({"folder": "plans", "depth": 1})), -32602),
        (with("arguments/account", json!(1)), -32602),
        (with("delivery/url", json!("ftp://agent.example")), -32602),
        (with("delivery/url", json!("https://ada:secret@agent.example")), -32602),
        (with("delivery/secret", Value::Null), -32602),
        (with("delivery/secret", json!("whsec_c2hvcnQ=")), -32602),
        (with("delivery/mode", json!("push")), -32014),
        (with("ttlMs", json!(-1)), -32602),
        (with("cursor", json!("trg_1")), -32602),
    ] {
        let refused = agent.send("events/subscribe", params.clone());
        assert_eq!(code(&refused, 200), expected, "{params}: {}", refused.text());
    }
    assert_eq!(receiver.0.seen().len(), 0, "no receiver is asked for a request that is wrong");
    let wrong = agent.send("events/poll", plans(json!({"arguments": {"folder": "no/path"}}))).json();
    assert_eq!(wrong["error"]["data"]["violations"][0]["pointer"], "/arguments/folder", "{wrong}");
    let misspelt = agent.send("events/poll", json!({"name": "notified.chang"})).json();
    assert!(misspelt["error"]["message"].as_str().unwrap().contains("`notified.change`"), "{misspelt}");
    let push = agent.send("events/subscribe", with("delivery/mode", json!("push"))).json();
    assert_eq!(push["error"]["data"], json!({"feature": "deliveryMode", "value": "push"}));
    assert_eq!(code(&agent.send("events/stream", plans(json!({}))), 404), -32601);
    let operate = Agent::new(&client(&world.gateway, "default", None, "operate"), "/mcp");
    assert_eq!(code(&operate.send("events/poll", plans(json!({}))), 200), -32012);
    assert_eq!(triggers(&world), [] as [Value; 0]);
}

#[test]
fn a_receiver_that_does_not_answer_the_challenge_gets_nothing() {
    let world = world();
    world.connect();
    let (agent, receiver) = (agent(&world), Receiver::start());
    let reason = |agent: &Agent, params: Value| {
        let refused = agent.send("events/subscribe", params);
        assert_eq!(code(&refused, 200), -32015, "{}", refused.text());
        refused.json()["error"]["data"]["reason"].clone()
    };
    for (reply, expected) in [
        (Reply::empty(204), "challenge_failed"),
        (Reply::json(json!({"challenge": "another"})), "challenge_failed"),
        (Reply::json(json!({"challenge": "x".repeat(8 << 10)})), "challenge_failed"),
        (Reply::redirect("https://agent.example/"), "http_4xx"),
        (Reply::empty(404), "http_4xx"),
        (Reply::empty(503), "http_5xx"),
        (Reply::hang_up(), "connection_refused"),
    ] {
        receiver.0.reply("*", reply);
        assert_eq!(reason(&agent, receiver.params(1)), expected);
    }
    let nobody = format!("http://127.0.0.1:{}/", support::upstream::free_port());
    let away = plans(json!({"delivery": {"mode": "webhook", "url": nobody, "secret": secret(1)}}));
    assert_eq!(reason(&agent, away), "connection_refused");
    assert_eq!(triggers(&world), [] as [Value; 0]);
    // An answer for one caller is none for another one.
    receiver.answers(204);
    agent.subscribe(&receiver, 1);
    let before = receiver.0.seen().len();
    let ann = client(&world.gateway, "default", Some("ann"), "operate,integrate");
    crate::integrations::connect(&ann, "notified", "ann");
    Agent::new(&ann, "/mcp").subscribe(&receiver, 1);
    assert_eq!(receiver.0.seen().len(), before + 1);
}

#[test]
fn a_receiver_is_asked_a_limited_number_of_times_in_a_minute() {
    let world = world();
    world.connect();
    let (agent, receiver) = (agent(&world), Receiver::start());
    receiver.0.reply("*", Reply::empty(404));
    let codes: Vec<i64> = (0..21).map(|_| code(&agent.send("events/subscribe", receiver.params(1)), 200)).collect();
    assert_eq!((codes[19], codes[20]), (-32015, -32013));
    assert_eq!(receiver.0.seen().len(), 20);
}

#[test]
fn a_tenant_has_a_limited_number_of_subscriptions() {
    let world = world_with("[triggers]\nmax_per_tenant = 1");
    world.connect();
    let agent = agent(&world);
    agent.poll(&Value::Null);
    let over = agent.send("events/poll", json!({"name": CHANGE, "arguments": {"folder": "other"}}));
    assert_eq!(
        (code(&over, 200), &over.json()["error"]["data"]),
        (-32013, &json!({"limit": "subscriptions", "max": 1}))
    );
    agent.poll(&Value::Null);
}

#[test]
fn the_user_is_sent_to_a_page_that_connects_the_account() {
    let world = world();
    let in_words = agent(&world).send("events/poll", plans(json!({})));
    assert_eq!(code(&in_words, 200), -32012);
    let error = in_words.json()["error"].clone();
    let url = error["data"]["url"].as_str().unwrap();
    assert!(error["message"].as_str().unwrap().contains(url), "{error}");
    assert_eq!(error["data"]["problem"], "integration-required");
    let urls = agent(&world).with(json!({"elicitation": {"url": {}}}));
    let asked = result(&urls.send("events/poll", plans(json!({}))));
    let question = &asked["inputRequests"]["connect"];
    assert_eq!((&asked["resultType"], &question["params"]["mode"]), (&json!("input_required"), &json!("url")));
    let declined = plans(json!({"inputResponses": {"connect": {"action": "decline"}}}));
    assert_eq!(code(&urls.send("events/poll", declined), 200), -32012);
    crate::connect_page::Browser::default().connects(question["params"]["url"].as_str().unwrap(), "notified", "ada");
    assert_eq!(urls.poll(&Value::Null)["events"], json!([]));
    // Several accounts, of which the agent names one.
    crate::integrations::connect(&world.client(), "notified", "bob");
    let of = |account: &str| plans(json!({"arguments": {"folder": "other", "account": account}}));
    let named = support::accounts::email("bob");
    result(&urls.send("events/poll", of(&named)));
    let record = triggers(&world).into_iter().find(|trigger| trigger["parameters"]["folder"] == "other").unwrap();
    assert_eq!(record["user_identifier"], named);
    let unknown = urls.send("events/poll", of("carol"));
    assert_eq!(result(&unknown)["resultType"], "input_required");
}

#[test]
fn no_other_caller_sees_or_ends_the_subscription_of_an_agent() {
    let world = world();
    world.connect();
    let receiver = Receiver::start();
    agent(&world).subscribe(&receiver, 1);
    let trigger = only_trigger(&world)["id"].as_str().unwrap().to_owned();
    let end = plans(json!({"delivery": {"url": receiver.url()}}));
    for (tenant, subject) in [("acme", None), ("default", Some("ann"))] {
        let other = client(&world.gateway, tenant, subject, "operate,integrate");
        assert_eq!(code(&Agent::new(&other, "/mcp").send("events/unsubscribe", end.clone()), 200), -32011);
        assert_eq!(other.get("/triggers").ok()["triggers"], json!([]));
        other.delete(&format!("/triggers/{trigger}")).problem(404, "unknown-trigger");
    }
    let change = world.client().request("PATCH", &format!("/triggers/{trigger}")).json(&json!({"urls": []})).send();
    assert_eq!(change.violations()[0].0, "/urls");
    assert_eq!(only_trigger(&world)["urls"], json!([receiver.url()]));
    // The secret is the agent's alone.
    let secret = secret(1);
    let shown = [
        world.gateway.lines().join("\n"),
        world.client().get(&format!("/triggers/{trigger}")).text(),
        world.client().get("/admin/triggers").text(),
        world.client().get("/admin/audit?limit=50").text(),
    ];
    assert!(shown.iter().all(|text| !text.contains(&secret) && !text.contains(&secret[6..])));
}
