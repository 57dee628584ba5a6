//! API keys of gateways on one database, of which one is cut off.

use serde_json::{Value, json};
use support::{Gateway, Setup, Store, module, wait_for};

use super::{gateways, key_of};

fn create(gateway: &Gateway, name: &str) -> (String, String) {
    let created = gateway.client().post("/admin/keys", json!({"name": name, "scopes": ["operate", "admin"]})).json();
    let text = |name: &str| created[name].as_str().unwrap().to_owned();
    (text("id"), text("key"))
}

#[test]
fn a_gateway_that_is_cut_off_accepts_no_key_once_it_is_too_long_ago_that_it_read_the_keys() {
    let store = Store::postgres();
    let [other] = gateways(&store);
    let (proxy, behind) = store.database().behind_proxy();
    let setup = Setup::new().general(&behind).general(&key_of(&other)).module("liar", module::liar("version=1.0.0"));
    let one = setup.config("[keys]\nmax_age_s = 5").start();
    let ((revoked_id, revoked), (_, kept)) = (create(&one, "revoked"), create(&one, "kept"));
    let status = |key: &str| one.client().with_key(key).call("liar/version", json!({})).status;
    // On a busy machine, it may be too long ago for a moment.
    let reads = || match (status(&revoked), status(&kept)) {
        (503, _) | (_, 503) => None,
        statuses => Some(statuses),
    };
    assert_eq!(wait_for("the keys", reads), (200, 200));
    let read = one.metric("gateway_keys_read_timestamp_seconds");

    proxy.cut();
    other.client().delete(&format!("/admin/keys/{revoked_id}")).ok();
    for key in [&revoked, &kept] {
        wait_for("the end of the keys", || (status(key) == 503).then_some(()));
    }
    let answer = one.client().with_key(&revoked).call("liar/version", json!({}));
    let problem = answer.problem(503, "store-unavailable");
    assert_eq!((&problem["owner"], answer.header("retry-after")), (&json!("operator"), "1"));
    one.anonymous().get("/healthz").ok();
    let degraded = || -> Value { one.anonymous().get("/readyz").ok()["degraded"].clone() };
    wait_for("the gateway to be degraded", || (degraded() == json!(["database"])).then_some(()));

    proxy.restore();
    wait_for("the keys", || (status(&kept) == 200).then_some(()));
    let answered = wait_for("the revoked key to be read", || Some(status(&revoked)).filter(|status| *status != 503));
    assert_eq!(answered, 401);
    assert!(one.metric("gateway_keys_read_timestamp_seconds") > read, "the metric grows with each reading");
}
