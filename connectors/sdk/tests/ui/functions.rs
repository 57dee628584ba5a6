//! A mistake in the row of a function is one message: the function still finds its input type.

use connector_sdk::{Fault, Outcome};

connector_sdk::connector! {
    connector example "Example";
    auth Auth::None;

    /// Effect
    effect: fn effect { name: string };
    /// Via
    via: read fn via { name: string } via other;
    /// Check
    check: read fn check { name: string } check other;
    /// Sent
    sent: read fn sent { name?: string default "a" sent };
    /// Method
    method: reads fn method { name: string };
    /// Field
    field: read fn field { name: string, other: text };
}

fn effect(input: Effect) -> Result<Outcome, Fault> {
    Ok(Outcome::Reply(input.name))
}

fn via(input: Via) -> Result<Outcome, Fault> {
    Ok(Outcome::Reply(input.name))
}

fn check(input: Check) -> Result<Outcome, Fault> {
    Ok(Outcome::Reply(input.name))
}

fn sent(input: Sent) -> Result<Outcome, Fault> {
    Ok(Outcome::Reply(input.name))
}

fn method(input: Method) -> Result<Outcome, Fault> {
    Ok(Outcome::Reply(input.name))
}

fn field(input: Field) -> Result<Outcome, Fault> {
    Ok(Outcome::Reply(input.name))
}

fn main() {}
