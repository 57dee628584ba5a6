//! `response_filters` and `response_fields` on answers of real connectors.

use serde_json::{Value, json};
use support::{Answer, Gateway, Reply, Setup, Upstream, arxiv, dexscreener};

fn market() -> (Gateway, Upstream) {
    let service = dexscreener::start();
    let gateway = Setup::new().shipped("dex_market_data").upstream("dex_market_data", "api", &service.url()).start();
    (gateway, service)
}

/// A search with these members of the envelope.
fn search(gateway: &Gateway, mut envelope: Value) -> Answer {
    envelope["q"] = "EXM".into();
    gateway.call("dex_market_data/search_pairs", envelope)
}

fn filter(field_name: &str, values: &[&str]) -> Value {
    json!({"field_name": field_name, "type": "string_list", "values": values})
}

#[test]
fn fields_of_the_items_of_a_list_are_chosen_by_dotted_paths() {
    let (gateway, _service) = market();
    let fields = json!(["pairs.pairAddress", "pairs.baseToken.symbol", "pairs.txns.h24"]);
    let answer = search(&gateway, json!({"response_fields": fields}));
    let pair = |address: &str| json!({"pairAddress": address, "baseToken": {"symbol": "EXM"}, "txns": {"h24": {"buys": 240, "sells": 96}}});
    assert_eq!(answer.ok(), json!({"pairs": [pair("PairOne"), pair("PairTwo"), pair("PairThree")]}));
}

#[test]
fn a_field_that_keeps_nothing_is_named_in_a_header() {
    let (gateway, _service) = market();
    let unmatched = |fields: Value| {
        let answer = search(&gateway, json!({"response_fields": fields}));
        answer.ok();
        answer.header("x-response-fields-unmatched").to_owned()
    };
    assert_eq!(unmatched(json!(["pairs.pairAddress", "pairs"])), "");
    assert_eq!(
        unmatched(json!(["pairs.pairAdress", "pairs.dexId", "zzz"])),
        r#""pairs.pairAdress";nearest="pairs.pairAddress", "zzz""#
    );
    // A path inside of a value that another path keeps whole.
    assert_eq!(
        unmatched(json!(["pairs", "pairs.baseTokn.symbol"])),
        r#""pairs.baseTokn.symbol";nearest="pairs.baseToken""#
    );
    assert_eq!(search(&gateway, json!({})).header("x-response-fields-unmatched"), "");
}

#[test]
fn a_bare_list_is_shaped_like_one_inside_an_object() {
    let (gateway, _service) = market();
    let body = json!({
        "chain_id": "solana", "token_address": "T1",
        "response_filters": [filter("dexId", &["orca"])], "response_fields": ["pairAddress"],
    });
    assert_eq!(gateway.call("dex_market_data/get_token_pools", body).ok(), json!([{"pairAddress": "PairTwo"}]));
}

#[test]
fn filters_are_applied_first_and_may_test_fields_that_are_not_kept() {
    let (gateway, _service) = market();
    let cases = [
        (json!([filter("pairs.chainId", &["ethereum"])]), vec!["PairThree"]),
        (json!([filter("pairs.chainId", &["solana"]), filter("pairs.dexId", &["orca", "uniswap"])]), vec!["PairTwo"]),
        (
            json!([{"field_name": "dexId", "type": "string_list", "values": ["raydium"], "root": "pairs"}]),
            vec!["PairOne"],
        ),
        (json!([filter("pairs.labels", &["v2"])]), vec!["PairOne", "PairTwo", "PairThree"]),
        (json!([filter("pairs.fdv", &["1000000"])]), vec!["PairOne", "PairTwo", "PairThree"]),
        (json!([filter("pairs.chainId", &["Solana"])]), vec![]),
        (json!([filter("pairs.noSuchField", &["x"])]), vec!["PairOne", "PairTwo", "PairThree"]),
        (
            json!([{"field_name": "dexId", "type": "string_list", "values": ["x"], "root": "nowhere"}]),
            vec!["PairOne", "PairTwo", "PairThree"],
        ),
        (json!([]), vec!["PairOne", "PairTwo", "PairThree"]),
    ];
    for (filters, expected) in cases {
        let shaped =
            search(&gateway, json!({"response_filters": filters, "response_fields": ["pairs.pairAddress"]})).ok();
        let found: Vec<&str> =
            shaped["pairs"].as_array().unwrap().iter().map(|pair| pair["pairAddress"].as_str().unwrap()).collect();
        assert_eq!(found, expected, "{filters}");
    }
}

#[test]
fn a_filter_reaches_lists_inside_of_lists() {
    let (gateway, _service) = market();
    let body = json!({"response_filters": [filter("pairs.info.websites.label", &["Docs"])], "response_fields": ["pairs.info.websites"]});
    let none = json!({"info": {"websites": []}});
    assert_eq!(search(&gateway, body).ok(), json!({"pairs": [none, none, none]}));
}

#[test]
fn numbers_keep_their_text_whatever_is_done_to_the_answer() {
    let (gateway, service) = market();
    service.reply("/latest/dex/search", Reply::typed("application/json", dexscreener::PRECISE_PAIR));
    assert_eq!(search(&gateway, json!({})).text(), dexscreener::PRECISE_PAIR);
    let shape = json!({"response_fields": ["pairs.volume", "pairs.liquidity.usd"], "response_filters": [filter("pairs.chainId", &["solana"])]});
    assert_eq!(
        search(&gateway, shape).text(),
        r#"{"pairs":[{"volume":{"h24":1.0,"h6":123456789012345678901234567890},"liquidity":{"usd":1e-7}}]}"#
    );
}

#[test]
fn members_keep_the_order_of_the_service_and_its_escapes() {
    let (gateway, service) = market();
    service.reply(
        "/latest/dex/search",
        Reply::typed("application/json", r#"{"z":"\u00fc\/","a":1,"m":{"y":true,"b":null}}"#),
    );
    let answer = search(&gateway, json!({"response_fields": ["m.b", "m.y", "a", "z"]}));
    assert_eq!(answer.text(), r#"{"z":"\u00fc\/","a":1,"m":{"y":true,"b":null}}"#);
}

#[test]
fn a_name_with_dots_is_chosen_as_it_is_written() {
    let (gateway, service) = market();
    service.reply(
        "/latest/dex/search",
        Reply::json(json!({"@odata.nextLink": "next", "a": {"b.c": 1, "b": {"c": 2, "d": 3}}, "x": 1})),
    );
    let answer = search(&gateway, json!({"response_fields": ["@odata.nextLink", "a.b.c"]}));
    assert_eq!(answer.ok(), json!({"@odata.nextLink": "next", "a": {"b.c": 1, "b": {"c": 2}}}));
}

#[test]
fn shaping_leaves_the_request_to_the_service_as_it_is() {
    let (gateway, service) = market();
    search(
        &gateway,
        json!({"response_fields": ["pairs.url"], "response_filters": [filter("pairs.chainId", &["solana"])]}),
    )
    .ok();
    search(&gateway, json!({"response_fields": null, "response_filters": null})).ok();
    let seen = service.seen();
    assert_eq!((&seen[0].path, &seen[0].query, &seen[0].body), (&seen[1].path, &seen[1].query, &seen[1].body));
}

#[test]
fn an_answer_that_a_connector_composed_is_shaped_too() {
    let service = arxiv::start(4);
    let gateway = Setup::new()
        .shipped("preprint_archive")
        .upstream("preprint_archive", "api", &format!("{}/api", service.url()))
        .start();
    let body = json!({
        "title": "x",
        "response_filters": [filter("papers.primary_category", &["stat.ML"])],
        "response_fields": ["total_results", "papers.id"],
    });
    let answer = gateway.call("preprint_archive/search_papers", body);
    assert_eq!(answer.text(), r#"{"total_results":4,"papers":[{"id":"2402.00001v1"},{"id":"2402.00003v1"}]}"#);
}

#[test]
fn an_invalid_shape_is_refused_with_every_violation_at_its_place() {
    let (gateway, service) = market();
    let envelope = json!({
        "response_fields": ["", 7],
        "response_filters": [
            {"field_name": "a", "type": "regex", "values": ["x"]},
            {"field_name": "a", "type": "string_list", "values": "x", "rot": "b"},
            {"type": "string_list", "values": [1]},
            "chainId",
        ],
    });
    let violations = search(&gateway, envelope).violations();
    let mut pointers: Vec<&str> = violations.iter().map(|(pointer, _)| pointer.as_str()).collect();
    pointers.sort_unstable();
    let expected = [
        "/response_fields/0",
        "/response_fields/1",
        "/response_filters/0/type",
        "/response_filters/1/rot",
        "/response_filters/1/values",
        "/response_filters/2/field_name",
        "/response_filters/2/values/0",
        "/response_filters/3",
    ];
    assert_eq!(pointers, expected);
    assert!(service.seen().is_empty());
}

#[test]
fn an_operation_without_an_envelope_takes_no_shape() {
    let (gateway, _service) = market();
    let answer = gateway.call("dex_market_data/get_token_boosts", json!({"response_fields": ["amount"]}));
    let violations = answer.violations();
    assert_eq!(violations[0].0, "/response_fields");
}

#[test]
fn an_answer_that_is_not_json_cannot_be_shaped_and_is_a_fault_of_the_service() {
    let (gateway, service) = market();
    for broken in ["{\"pairs\": [", "[1, 2,]", "nothing", "{\"a\": 1} {}"] {
        service.reply("/latest/dex/search", Reply::typed("application/json", broken));
        let answer = search(&gateway, json!({"response_fields": ["pairs"]}));
        answer.problem(502, "upstream-not-understood");
        assert_eq!(answer.header("x-error-source"), "upstream");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    service.reply("/latest/dex/search", Reply::typed("application/json", deep));
    search(&gateway, json!({"response_fields": ["pairs"]})).problem(502, "upstream-not-understood");
    service.reply("/latest/dex/search", Reply::json(json!({"pairs": []})));
    assert_eq!(search(&gateway, json!({"response_fields": ["pairs"]})).ok(), json!({"pairs": []}));
}
