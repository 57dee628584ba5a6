//! A balancer sends what comes from a service to any gateway.

use support::wire::{answer, connection};

use super::*;
use crate::hooks::{outcomes, records};

/// Two gateways on one database, at which the account `ada` is connected.
fn two(store: &Store, service: &Upstream, provider: &OAuthProvider) -> Vec<Gateway> {
    let gateways = gateways_named(&NAMES[..2], store, service, provider);
    connect(&gateways[0].client(), "notified", "ada");
    gateways
}

#[test]
fn an_address_is_proven_at_any_gateway_while_one_makes_the_subscription_and_at_none_after_it() {
    let (store, happened) = (Store::postgres(), Arc::<Mutex<Happened>>::default());
    let (service, provider) = (service(&happened), OAuthProvider::start(Dialect::strict()));
    let gateways = two(&store, &service, &provider);
    let prove = |gateway: &str, path: &str| {
        let target = format!("{path}?validationToken=prove%20it");
        let request = format!("POST {target} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
        answer(&mut connection(gateway, request.as_bytes()))
    };
    let addresses: Vec<String> = gateways.iter().map(Gateway::address).collect();
    let told = Arc::<Mutex<(String, Vec<String>)>>::default();
    for name in &NAMES[..2] {
        let (addresses, told) = (addresses.clone(), Arc::clone(&told));
        // The service proves the address before it answers, whichever gateway has asked.
        service.on(&format!("/{name}/subscriptions"), move |seen| {
            let body: Value = serde_json::from_slice(&seen.body).unwrap();
            let path = body["notificationUrl"].as_str().unwrap().strip_prefix(PUBLIC).unwrap().to_owned();
            // The other tasks of this thread move to another one, because this waits for the gateways.
            let proofs =
                tokio::task::block_in_place(|| addresses.iter().map(|gateway| prove(gateway, &path)).collect());
            *told.lock() = (path, proofs);
            Reply::json(json!({"id": "s1"})).status(201)
        });
    }
    trigger(&gateways[0].client(), "item", &json!({}), &[]);
    let (path, proofs) = told.lock().clone();
    assert_eq!(proofs.len(), 2);
    for proof in &proofs {
        let is_echo = proof.starts_with("HTTP/1.1 200 ") && proof.ends_with("\r\n\r\nprove it");
        assert!(is_echo && proof.contains("text/plain") && proof.contains("nosniff"), "{proof}");
    }
    for gateway in &addresses {
        let late = prove(gateway, &path);
        assert!(late.starts_with("HTTP/1.1 401 ") && late.ends_with("\r\n\r\n{}"), "{late}");
    }
}

#[test]
fn a_notification_that_comes_to_two_gateways_at_the_same_time_is_one_event() {
    const COUNT: usize = 8;
    let (store, happened) = (Store::postgres(), Arc::<Mutex<Happened>>::default());
    let (service, receiver, provider) =
        (service(&happened), Upstream::start(), OAuthProvider::start(Dialect::strict()));
    receiver.reply("*", Reply::empty(204));
    let gateways = two(&store, &service, &provider);
    let client = gateways[0].client();
    make_secret(&client);
    let id = trigger(&client, "item", &json!({}), &[receiver.url()]);
    for number in 0..COUNT {
        let push = |gateway: &Gateway| begin_push(gateway, &happened, &number.to_string());
        let pending: Vec<_> = gateways.iter().map(push).collect();
        assert!(pending.into_iter().all(|push| push.wait().status == 200));
    }
    let page = client.get(&format!("/triggers/{id}/events?limit=100")).ok();
    let events = page["events"].as_array().unwrap();
    let numbered: Vec<Value> =
        events.iter().map(|event| json!([event["data"]["id"], event["event"]["sequence"]])).collect();
    let expected: Vec<Value> = (0..COUNT).map(|number| json!([number.to_string(), number + 1])).collect();
    assert_eq!(numbered, expected);
    let ids: BTreeSet<&str> = events.iter().map(|event| event["event"]["id"].as_str().unwrap()).collect();
    receiver.wait_for_requests(COUNT);
    let seen = receiver.seen();
    assert_eq!(seen.iter().map(|seen| seen.header("webhook-id")).collect::<BTreeSet<_>>(), ids);
    let records = records(&gateways[0], "connector=notified", 2 * COUNT);
    let stored = outcomes(&records).into_iter().filter(|outcome| *outcome == ("stored", "")).count();
    assert_eq!(stored, COUNT);
}
