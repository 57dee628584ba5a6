//! Rows that a trigger names.

mod roles {
    connector_sdk::connector! {
        connector example "Example";
        auth Auth::None;
        upstream api "https://example.com";
        triggers &[Trigger { name: "a", title: "A", read: Some("wrong_type"), ..Trigger::READ }];
        no_role: internal fn read;
        no_function: internal read read;
        with_fields: internal read fn read { page: string };
        with_clauses: internal read fn read no_envelope;
    }
}

mod functions {
    connector_sdk::connector! {
        connector example "Example";
        auth Auth::None;
        upstream api "https://example.com";
        triggers &[Trigger { name: "a", title: "A", read: Some("changes"), ..Trigger::READ }];
        changes: internal read fn super::subscribe;
    }
}

fn subscribe(_: connector_sdk::triggers::Subscribe) -> Result<connector_sdk::triggers::Subscription, connector_sdk::Fault> {
    Ok(connector_sdk::triggers::Subscription::new("1"))
}

fn main() {}
