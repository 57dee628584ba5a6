//! The request of each row, and the operation that is a function.

use connector_sdk::http::Error;
use connector_sdk::testing::{Answer, Gateway, forwarded, invoke};
use connector_sdk::{Fault, Outcome};

use crate::CONNECTOR;

fn path(operation: &str, input: &str) -> String {
    let request = forwarded(&CONNECTOR, operation, input);
    assert_eq!((request.upstream.as_str(), request.headers.len(), request.body.is_none()), ("api", 0, true));
    request.path
}

#[test]
fn a_value_stays_within_its_segment() {
    assert_eq!(
        path("get_token_pools", r#"{"chain_id":"a/b?c","token_address":"x y"}"#),
        "/token-pairs/v1/a%2Fb%3Fc/x%20y"
    );
    for chain in ["..", ".", "", "a/../b", "%2e%2e"] {
        let input = format!(r#"{{"chain_id":"{chain}","token_address":"x"}}"#);
        let Err(Fault::InvalidInput(violations)) = invoke(&CONNECTOR, "get_token_pools", &input) else {
            panic!("{chain:?}")
        };
        assert_eq!(violations[0].pointer, "/chain_id");
    }
}

#[test]
fn operations_have_the_two_rate_limits_of_dex_screener() {
    let listings = [
        "get_token_profiles",
        "get_token_boosts",
        "get_top_token_boosts",
        "check_token_orders",
        "get_recently_updated_token_profiles",
        "get_community_takeovers",
    ];
    for operation in CONNECTOR.operations {
        let expected = if listings.contains(&operation.path) { "listings" } else { "market" };
        assert_eq!(operation.about.rate_limit, Some(expected), "{}", operation.path);
    }
    let limits: Vec<_> =
        CONNECTOR.rate_limits.iter().map(|limit| (limit.name, limit.requests, limit.period_seconds)).collect();
    assert_eq!(limits, [("market", 300, 60), ("listings", 60, 60)]);
}

#[test]
fn pairs_of_a_chain_are_requested_without_duplicates() {
    let input = r#"{"chain_id":"solana","token_addresses":["b","a","b","c, a"]}"#;
    assert_eq!(path("get_pairs_by_token", input), "/tokens/v1/solana/b,a,c");
}

#[test]
fn the_answer_for_all_chains_is_the_list_of_pairs() {
    for (body, expected) in [
        (r#"{"schemaVersion":"1.0.0","pairs":[{"priceUsd":"0.10","fdv":1.0}]}"#, r#"[{"priceUsd":"0.10","fdv":1.0}]"#),
        (r#"{"schemaVersion":"1.0.0","pairs":null}"#, "[]"),
        ("[]", "[]"),
    ] {
        let gateway = Gateway::new().answer(Answer::json(200, body));
        let text = match invoke(&CONNECTOR, "get_pairs_by_token", r#"{"token_addresses":"a"}"#) {
            Ok(Outcome::ReplyDocument(document)) => document.text(),
            Ok(Outcome::Reply(text)) => text,
            other => panic!("{other:?}"),
        };
        assert_eq!(text, expected);
        assert_eq!(gateway.requests()[0].path, "/latest/dex/tokens/a");
    }
}

#[test]
fn an_answer_without_a_list_is_a_failure_of_dex_screener() {
    for body in
        ["{}", r#"{"pairs":{}}"#, r#"{"pairs":"none"}"#, r#"{"pairs":false}"#, "null", "1", "\"ok\"", "not JSON"]
    {
        let _gateway = Gateway::new().answer(Answer::json(200, body));
        let outcome = invoke(&CONNECTOR, "get_pairs_by_token", r#"{"token_addresses":"a"}"#);
        assert!(matches!(outcome, Err(Fault::Http(Error::BadAnswer(_)))), "{body}");
    }
}

#[test]
fn without_the_older_method_the_caller_must_give_a_chain() {
    for status in [404, 410] {
        let _gateway = Gateway::new().answer(Answer::new(status, ""));
        let Err(Fault::InvalidInput(violations)) =
            invoke(&CONNECTOR, "get_pairs_by_token", r#"{"token_addresses":["a"]}"#)
        else {
            panic!("{status}")
        };
        assert_eq!(violations[0].pointer, "/chain_id");
    }
}

#[test]
fn another_failure_of_dex_screener_is_passed_on() {
    let _gateway = Gateway::new().answer(Answer::json(429, r#"{"error":"slow down"}"#).header("retry-after", "7"));
    let Err(Fault::Upstream(failure)) = invoke(&CONNECTOR, "get_pairs_by_token", r#"{"token_addresses":["a"]}"#) else {
        panic!("upstream")
    };
    assert_eq!((failure.status, failure.retry_after_seconds), (429, Some(7)));
    assert_eq!(failure.body.as_deref(), Some(r#"{"error":"slow down"}"#));
}

#[test]
fn more_than_thirty_addresses_are_refused() {
    let addresses: Vec<String> = (0..31).map(|number| number.to_string()).collect();
    let input = format!(r#"{{"token_addresses":"{}"}}"#, addresses.join(","));
    assert!(matches!(invoke(&CONNECTOR, "get_pairs_by_token", &input), Err(Fault::InvalidInput(_))));
    assert!(matches!(
        invoke(&CONNECTOR, "get_pairs_by_token", r#"{"token_addresses":", "}"#),
        Err(Fault::InvalidInput(_))
    ));
}
