//! Events that are sent to a URL of the agent.

use super::*;

on_each_store!(
    a_receiver_that_answers_the_challenge_gets_signed_events,
    another_secret_signs_next_to_the_previous_one_for_a_while,
);

fn a_receiver_that_answers_the_challenge_gets_signed_events(store: &Store) {
    let world = world_on(store, "");
    world.connect();
    let (agent, receiver) = (agent(&world), Receiver::start());
    let subscribed = agent.subscribe(&receiver, 1);
    let id = subscribed["id"].as_str().unwrap();
    assert_eq!((&subscribed["truncated"], &subscribed["resultType"]), (&json!(false), &json!("complete")));
    assert!(subscribed["cursor"].is_string() && subscribed.get("deliveryStatus").is_none(), "{subscribed}");
    let challenge = receiver.0.seen().remove(0);
    let body = verified(&challenge, &secret(1));
    assert_eq!((&body["type"], challenge.header("x-mcp-subscription-id")), (&json!("verification"), id));
    assert!(challenge.header("webhook-id").starts_with("msg_verification_"));
    let trigger = only_trigger(&world);
    let agent_part = json!({"subscription_id": id, "expires_at": subscribed["refreshBefore"], "delivery": "webhook"});
    assert_eq!((&trigger["agent"], &trigger["urls"]), (&agent_part, &json!([receiver.url()])));

    let event = tested(&world);
    let sent = receiver.wait_for(1).remove(0);
    let body = verified(&sent, &secret(1));
    assert_eq!((sent.header("webhook-id"), sent.header("x-mcp-subscription-id")), (event.as_str(), id));
    let names: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(names, ["eventId", "name", "timestamp", "data", "cursor"]);
    assert_eq!((&body["eventId"], &body["name"]), (&json!(event), &json!(CHANGE)));
    assert_eq!(body["data"], json!({"id": "1", "name": "plan.txt"}));

    // The same again is a renewal, and the receiver is not asked again.
    let renewed = wait_for("the note of the delivery", || {
        let renewed = agent.subscribe(&receiver, 1);
        (renewed["deliveryStatus"]["lastDeliveryAt"] != Value::Null).then_some(renewed)
    });
    assert_eq!((&renewed["id"], &renewed["cursor"]), (&json!(id), &body["cursor"]));
    assert_eq!(
        (&renewed["deliveryStatus"]["active"], &renewed["deliveryStatus"]["lastError"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(receiver.0.seen().len(), 2);

    let end = plans(json!({"delivery": {"url": receiver.url()}}));
    assert_eq!(result(&agent.send("events/unsubscribe", end.clone())), json!({"resultType": "complete"}));
    assert_eq!(triggers(&world), [] as [Value; 0]);
    let again = agent.send("events/unsubscribe", end);
    assert_eq!((code(&again, 200), &again.json()["error"]["data"]), (-32011, &json!({"kind": "subscription"})));
    let late = receiver.params(1);
    let mut late = late;
    late["cursor"] = body["cursor"].clone();
    let late = result(&agent.send("events/subscribe", late));
    assert_eq!((&late["id"], &late["truncated"]), (&json!(id), &json!(true)), "the events before are gone");
}

fn another_secret_signs_next_to_the_previous_one_for_a_while(store: &Store) {
    let world = world_on(store, "");
    world.connect();
    let (agent, receiver) = (agent(&world), Receiver::start());
    agent.subscribe(&receiver, 1);
    agent.subscribe(&receiver, 2);
    tested(&world);
    let sent = receiver.wait_for(1).remove(0);
    assert!(is_signed_with(&sent, &secret(1)) && is_signed_with(&sent, &secret(2)), "{:?}", sent.headers);
    assert!(!is_signed_with(&sent, &secret(3)));
}

#[test]
fn a_receiver_that_wants_no_more_gets_none_until_the_agent_renews() {
    let world = world();
    world.connect();
    let (agent, receiver) = (agent(&world), Receiver::start());
    agent.subscribe(&receiver, 1);
    receiver.answers(410);
    let first = tested(&world);
    let id = only_trigger(&world)["id"].as_str().unwrap().to_owned();
    wait_for("the pause", || (world.record(&id)["reason"] == "receiver-gone").then_some(()));
    let second = tested(&world);
    receiver.answers(204);
    let renewed = agent.subscribe(&receiver, 1);
    let status = &renewed["deliveryStatus"];
    assert_eq!((&status["active"], &status["lastError"]), (&json!(false), &json!("http_4xx")), "{renewed}");
    let sent = receiver.wait_for(2);
    let ids: Vec<&str> = sent.iter().map(|seen| seen.header("webhook-id")).collect();
    assert!(ids.starts_with(&[&first]) && ids.contains(&second.as_str()), "{ids:?}");
    assert_eq!(world.record(&id)["status"], "active");
}

#[test]
fn an_event_that_is_too_large_for_the_receiver_is_not_sent_again() {
    let world = world();
    world.connect();
    let (agent, receiver) = (agent(&world), Receiver::start());
    agent.subscribe(&receiver, 1);
    receiver.answers(413);
    let event = tested(&world);
    let id = only_trigger(&world)["id"].as_str().unwrap().to_owned();
    let delivery = wait_for("the end of the delivery", || {
        let event = world.client().get(&format!("/triggers/{id}/events/{event}")).ok();
        Some(event["deliveries"][0].clone()).filter(|delivery| delivery["status"] != "pending")
    });
    assert_eq!((&delivery["status"], &delivery["kind"]), (&json!("failed"), &json!("agent")));
    assert_eq!(delivery["attempts"].as_array().unwrap().len(), 1);
    assert_eq!(world.record(&id)["status"], "active");
}

#[test]
fn data_above_the_limit_of_the_extension_is_a_link() {
    let world = world();
    world.connect();
    let (agent, receiver) = (agent(&world), Receiver::start());
    agent.subscribe(&receiver, 1);
    let id = only_trigger(&world)["id"].as_str().unwrap().to_owned();
    wait_for("the first read", || (world.record(&id)["status"] == "active").then_some(()));
    world.happens(&"x".repeat(300 << 10));
    world.read(&id);
    let body = verified(&receiver.wait_for(1)[0], &secret(1));
    let event = body["eventId"].as_str().unwrap();
    assert_eq!((&body["data"]["type"], &body["data"]["name"]), (&json!("resource_link"), &json!(event)));
    assert!(body["data"]["uri"].as_str().unwrap().ends_with(&format!("/triggers/{id}/events/{event}")), "{body}");
}

#[test]
fn agents_that_know_messages_about_a_subscription_get_them_and_no_others_do() {
    let world = world();
    world.connect();
    let (told, untold) = (Receiver::start(), Receiver::start());
    knowing(&world).subscribe(&told, 1);
    agent(&world).subscribe(&untold, 2);
    let ids: Vec<String> = triggers(&world).iter().map(|trigger| trigger["id"].as_str().unwrap().to_owned()).collect();
    wait_for("the first read", || (world.record(&ids[0])["status"] == "active").then_some(()));
    world.happens("plan.txt");
    world.has_forgotten();
    world.read(&ids[0]);
    let of = |receiver: &Receiver, count: usize, byte: u8| -> Vec<Value> {
        receiver.wait_for(count).iter().map(|seen| verified(seen, &secret(byte))).collect()
    };
    let gap = of(&told, 2, 1).into_iter().find(|body| body["type"] == "gap").expect("a gap");
    assert!(gap["cursor"].is_string(), "{gap}");
    assert_eq!(of(&untold, 1, 2)[0]["data"]["name"], "plan.txt");
    for id in &ids {
        assert_eq!(world.client().delete(&format!("/triggers/{id}")).status, 200);
    }
    let ended = of(&told, 3, 1).pop().unwrap();
    assert_eq!((&ended["type"], &ended["error"]["code"]), (&json!("terminated"), &json!(-32012)));
    assert_eq!(of(&untold, 1, 2).len(), 1);
}
