//! A connector that `make bench` calls: its operation sends two requests, one after the other, and
//! returns parts of both.

use connector_sdk::http::{self, Request};
use connector_sdk::{Fault, Outcome, connector};
use serde_json::json;

connector! {
    /// A service that exists only during a measurement.
    connector bench_composed "Bench of a composed operation";

    auth Auth::None;

    upstream api "https://service.invalid";

    /// The kinds of two items
    kinds: read fn kinds { first: string, second: string }
    example { first: "17", second: "18" };
}

fn kinds(input: Kinds) -> Result<Outcome, Fault> {
    let first = kind(&input.first)?;
    let second = kind(&input.second)?;
    Outcome::json(&json!({"first": first, "second": second}))
}

fn kind(item: &str) -> Result<Option<String>, Fault> {
    let request = Request::get("api", "/items").segment("item", item)?;
    Ok(http::send(request)?.successful()?.document()?.string("/kind"))
}
