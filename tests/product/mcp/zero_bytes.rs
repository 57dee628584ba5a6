//! Texts of agents with a zero byte, which PostgreSQL cannot have.

use serde_json::json;
use support::{Dialect, OAuthProvider, Store};

use super::Agent;
use crate::integrations::{client, connect, gateway, on_each_store};

on_each_store!(a_job_or_an_account_with_a_zero_byte_in_its_name_is_not_there);

fn a_job_or_an_account_with_a_zero_byte_in_its_name_is_not_there(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let user = client(&gateway, "acme", Some("ann"), "operate,integrate");
    connect(&user, "account", "ada");
    let agent = Agent::new(&user, "/mcp/account");
    for tool in ["get_job", "cancel_job"] {
        let said = agent.refusal(tool, json!({"job_id": "job_\0"}));
        assert!(said.contains("no job"), "{said}");
    }
    let said = agent.refusal("forward", json!({"path": "/me", "account": "ada\0"}));
    assert!(said.contains("No account has the name"), "{said}");
    let log = gateway.log();
    assert!(log.iter().all(|line| line["message"] != "the database failed"), "{log:#?}");
}
