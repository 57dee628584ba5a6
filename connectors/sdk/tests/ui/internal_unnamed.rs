//! A row for a trigger that no trigger names.

connector_sdk::connector! {
    connector example "Example";
    auth Auth::None;
    upstream api "https://example.com";
    other: internal unsubscribe fn end;

    /// A row
    a: GET api "/a";
}

fn end(_: connector_sdk::triggers::Unsubscribe) -> Result<(), connector_sdk::Fault> {
    Ok(())
}

fn main() {}
