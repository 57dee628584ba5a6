//! Several gateways on one PostgreSQL database are one service.

mod budgets;
mod core;
mod events;
mod going_back;
mod joining;
mod keys;
mod modules;
mod operators;
mod pacing;
mod standings;
mod tenants;
mod without_database;

use serde_json::Value;
use support::{Gateway, Setup, Store, module};

/// Gateways on one database, with one master key. The first one has the module `liar` in version
/// 1.0.0 in its folder.
fn gateways<const N: usize>(store: &Store) -> [Gateway; N] {
    let first = Setup::new().on(store).module("liar", module::liar("version=1.0.0")).start();
    let key = key_of(&first);
    let mut first = Some(first);
    let all = std::array::from_fn(|_| first.take().unwrap_or_else(|| Setup::new().on(store).general(&key).start()));
    wait_for_ready(&all[0], N);
    all
}

/// Waits until so many gateways are ready, as the operator sees them.
pub(crate) fn wait_for_ready(gateway: &Gateway, count: usize) {
    support::wait_for("the gateways to be ready", || {
        let listed = gateway.client().get("/admin/gateways").ok();
        let gateways = listed["gateways"].as_array().unwrap();
        (gateways.iter().filter(|each| each["state"] == "ready").count() == count).then_some(())
    });
}

/// The line of `gateway.toml` that names the master key of a gateway.
pub(crate) fn key_of(gateway: &Gateway) -> String {
    format!("master_key_file = {:?}", gateway.home().data().join("master.key"))
}

/// The client of a tenant.
fn client_of(gateway: &Gateway, key: &str) -> support::Client {
    let client = gateway.client().with_key(key);
    support::wait_for("the key to be known", || (client.get("/connectors").status == 200).then_some(()));
    client
}

/// The entry of `liar` in GET /admin/connectors.
fn liar(gateway: &Gateway) -> Option<Value> {
    let listed = gateway.client().get("/admin/connectors").ok();
    let connectors = listed["connectors"].as_array().unwrap();
    connectors.iter().find(|connector| connector["connector"] == "liar").cloned()
}

/// Uploads a module, with a query and the generation that it replaces.
fn upload(gateway: &Gateway, query: &str, replaces: Option<i64>, module: Vec<u8>) -> support::Answer {
    let client = gateway.client();
    let call = client.request("POST", &format!("/admin/connectors{query}")).header("content-type", "application/wasm");
    let call = match replaces {
        Some(generation) => call.header("if-match", &format!("\"{generation}\"")),
        None => call,
    };
    call.body(module).send()
}
