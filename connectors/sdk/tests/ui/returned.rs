//! A function of a row that is `async`, or that returns something else than an outcome.

use connector_sdk::{Fault, Outcome, Request};

connector_sdk::connector! {
    connector example "Example";
    auth Auth::None;
    upstream api "https://api.example";

    /// With an input
    waits: read fn waits { name: string };
    /// Without an input
    waits_too: read fn waits_too;
    /// A request
    changed: GET api "/changed" via changed;
    /// Another result
    text: read fn text { name: string };
}

async fn waits(input: Waits) -> Result<Outcome, Fault> {
    Ok(Outcome::Reply(input.name))
}

async fn waits_too() -> Result<Outcome, Fault> {
    Ok(Outcome::Reply("{}".to_owned()))
}

async fn changed(request: Request) -> Result<Outcome, Fault> {
    Ok(Outcome::Forward(request))
}

fn text(input: Text) -> Result<String, Fault> {
    Ok(input.name)
}

fn main() {}
