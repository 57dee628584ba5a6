//! Tests of the signs of life of gateways, on both databases.

use std::time::Duration;

use super::types::{ConnectorAtGateway, GatewayBeat};
use crate::testing::{Site, on_every_database};

on_every_database!(
    a_gateway_is_known_until_it_is_forgotten,
    a_gateway_without_a_sign_of_life_is_away_and_then_forgotten,
    the_next_process_at_an_address_takes_the_place_of_one_that_is_away,
    what_a_gateway_serves_is_replaced_as_a_whole,
);

fn beat(id: &str, address: &str, state: &'static str) -> GatewayBeat {
    GatewayBeat {
        id: id.into(),
        name: "one".into(),
        address: address.into(),
        version: "1.0.0",
        state,
        age: Duration::from_secs(60),
        calls: 1,
        jobs: 2,
        memory_held: 3,
        memory_limit: 4,
    }
}

fn at(connector: &str, state: &str) -> ConnectorAtGateway {
    ConnectorAtGateway {
        gateway: String::new(),
        connector: connector.into(),
        version: Some("1.0.0".into()),
        title: Some("Title".into()),
        digest: Some("aa".into()),
        generation: Some(1),
        is_shipped: false,
        about: 1,
        state: state.into(),
        reason: None,
        since: std::time::SystemTime::UNIX_EPOCH,
    }
}

async fn a_gateway_is_known_until_it_is_forgotten(site: Site) {
    let store = &site.store;
    assert!(!store.gateways().note(beat("gw_1", "http://a", "starting"), None).await.unwrap());
    assert!(store.gateways().note(beat("gw_1", "http://a", "ready"), None).await.unwrap());
    let known = store.gateways().list().await.unwrap().remove(0);
    assert_eq!((known.state.as_str(), known.is_away, known.calls, known.memory_limit), ("ready", false, 1, 4));
    let age = known.seen_at.duration_since(known.started_at).unwrap();
    assert!((60..70).contains(&age.as_secs()), "{age:?}");
    store.gateways().forget("gw_1").await.unwrap();
    assert_eq!(store.gateways().list().await.unwrap(), []);
}

async fn a_gateway_without_a_sign_of_life_is_away_and_then_forgotten(site: Site) {
    let store = &site.store;
    store
        .gateways()
        .note(beat("gw_1", "http://a", "ready"), Some(vec![(at("demo", "live"), Duration::ZERO)]))
        .await
        .unwrap();
    site.execute("UPDATE gateways SET seen_at = seen_at - 14000").await;
    assert!(!store.gateways().list().await.unwrap()[0].is_away);
    site.execute("UPDATE gateways SET seen_at = seen_at - 2000").await;
    assert!(store.gateways().list().await.unwrap()[0].is_away);
    site.execute("UPDATE gateways SET seen_at = seen_at - 86400000").await;
    assert_eq!(store.gateways().list().await.unwrap(), []);
    assert_eq!(store.gateways().connectors().await.unwrap(), []);
    store.gateways().note(beat("gw_2", "http://b", "ready"), None).await.unwrap();
    assert_eq!(site.execute("DELETE FROM gateways").await, 1, "the forgotten one is deleted");
}

async fn the_next_process_at_an_address_takes_the_place_of_one_that_is_away(site: Site) {
    let store = &site.store;
    let ids = async || -> Vec<String> {
        store.gateways().list().await.unwrap().into_iter().map(|gateway| gateway.id).collect()
    };
    store.gateways().note(beat("gw_1", "http://a", "ready"), None).await.unwrap();
    store.gateways().note(beat("gw_2", "http://b", "ready"), None).await.unwrap();
    store.gateways().note(beat("gw_3", "http://a", "starting"), None).await.unwrap();
    // Two gateways behind one address may have the same name. Each of them stays known.
    assert!(store.gateways().note(beat("gw_1", "http://a", "ready"), None).await.unwrap());
    assert!(store.gateways().note(beat("gw_3", "http://a", "ready"), None).await.unwrap());
    assert_eq!(ids().await, ["gw_1", "gw_2", "gw_3"]);
    site.execute("UPDATE gateways SET seen_at = seen_at - 16000 WHERE id <> 'gw_3'").await;
    store.gateways().note(beat("gw_3", "http://a", "ready"), None).await.unwrap();
    assert_eq!(ids().await, ["gw_2", "gw_3"]);
}

async fn what_a_gateway_serves_is_replaced_as_a_whole(site: Site) {
    let store = &site.store;
    let first = vec![(at("demo", "live"), Duration::from_secs(5)), (at("other", "live"), Duration::ZERO)];
    store.gateways().note(beat("gw_1", "http://a", "ready"), Some(first)).await.unwrap();
    store.gateways().note(beat("gw_1", "http://a", "ready"), None).await.unwrap();
    assert_eq!(store.gateways().connectors().await.unwrap().len(), 2);
    let refused = ConnectorAtGateway { reason: Some("it is wrong".into()), ..at("demo", "refused") };
    store.gateways().note(beat("gw_1", "http://a", "ready"), Some(vec![(refused, Duration::ZERO)])).await.unwrap();
    let found = store.gateways().connectors().await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].state.as_str(), found[0].reason.as_deref()), ("refused", Some("it is wrong")));
    assert_eq!(found[0].gateway, "gw_1");
}
