//! A connector that `make bench` calls: its operation sends two requests at once, and returns parts
//! of both.

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
    let requests = [&input.first, &input.second]
        .map(|item| Request::get("api", "/items").segment("item", item))
        .into_iter()
        .collect::<Result<Vec<_>, _>>()?;
    let mut kinds = Vec::with_capacity(requests.len());
    for response in http::send_all(requests) {
        kinds.push(response?.successful()?.document()?.string("/kind"));
    }
    Outcome::json(&json!({"first": kinds[0], "second": kinds[1]}))
}
