//! Rows in the background, whose callers wait by the field `waiting`.

connector_sdk::connector! {
    connector example "Example";
    auth Auth::None;
    upstream api "https://api.example.com";

    /// Without the field
    nothing: read fn nothing background;
    /// With another type
    other: read fn other { waiting?: string } background;
}

fn nothing() -> Result<connector_sdk::Outcome, connector_sdk::Fault> {
    Ok(connector_sdk::Outcome::Reply(String::new()))
}

fn other(_: Other) -> Result<connector_sdk::Outcome, connector_sdk::Fault> {
    nothing()
}

fn main() {}
