//! Every operation of `dex_market_data`, against a stand-in.

use serde_json::{Value, json};
use support::{Gateway, Reply, Setup, Upstream, dexscreener};

fn market() -> (Gateway, Upstream) {
    let service = dexscreener::start();
    let gateway = Setup::new()
        .shipped("dex_market_data")
        .upstream("dex_market_data", "api", &service.url())
        .config("limits.timeout_s = 10")
        .start();
    (gateway, service)
}

fn addresses(pairs: &Value) -> Vec<&str> {
    pairs.as_array().unwrap().iter().map(|pair| pair["pairAddress"].as_str().unwrap()).collect()
}

#[test]
fn each_operation_is_one_request_and_passes_its_answer_on() {
    let (gateway, service) = market();
    let one_chain = json!([dexscreener::pairs()[0], dexscreener::pairs()[1]]);
    let wrapped = |pairs: Value| json!({"schemaVersion": "1.0.0", "pairs": pairs});
    let cases = [
        (
            "get_token_pools",
            json!({"chain_id": "solana", "token_address": "T1"}),
            "/token-pairs/v1/solana/T1",
            one_chain.clone(),
        ),
        (
            "get_token_profiles",
            json!({}),
            "/token-profiles/latest/v1",
            json!([dexscreener::promoted("TokenOne", None)]),
        ),
        (
            "get_token_boosts",
            json!({}),
            "/token-boosts/latest/v1",
            json!([dexscreener::promoted("TokenOne", Some(10))]),
        ),
        (
            "get_top_token_boosts",
            json!({}),
            "/token-boosts/top/v1",
            json!([dexscreener::promoted("TokenTwo", Some(500))]),
        ),
        (
            "check_token_orders",
            json!({"chain_id": "solana", "token_address": "T1"}),
            "/orders/v1/solana/T1",
            json!([{"type": "tokenProfile", "status": "approved", "paymentTimestamp": 1_700_000_000_000_u64}]),
        ),
        (
            "get_pairs_by_address",
            json!({"chain_id": "solana", "pair_id": "PairOne"}),
            "/latest/dex/pairs/solana/PairOne",
            wrapped(one_chain.clone()),
        ),
        ("search_pairs", json!({"q": "EXM/SOL"}), "/latest/dex/search", wrapped(json!(dexscreener::pairs()))),
        (
            "get_pairs_by_token",
            json!({"chain_id": "solana", "token_addresses": "T1"}),
            "/tokens/v1/solana/T1",
            one_chain,
        ),
        (
            "get_recently_updated_token_profiles",
            json!({}),
            "/token-profiles/recent-updates/v1",
            json!([dexscreener::promoted("TokenTwo", None)]),
        ),
        (
            "get_community_takeovers",
            json!({}),
            "/community-takeovers/latest/v1",
            json!([dexscreener::promoted("TokenThree", None)]),
        ),
    ];
    for (operation, body, path, expected) in cases {
        let answer = gateway.call(&format!("dex_market_data/{operation}"), body);
        assert_eq!(answer.ok(), expected, "{operation}");
        let seen = service.take_seen();
        assert_eq!(seen.len(), 1, "{operation}");
        assert_eq!((seen[0].method.as_str(), seen[0].path.as_str()), ("GET", path), "{operation}");
    }
}

#[test]
fn the_query_of_a_search_is_a_parameter() {
    let (gateway, service) = market();
    gateway.call("dex_market_data/search_pairs", json!({"q": "a&b=c d/ü"})).ok();
    assert_eq!(service.seen()[0].parameters(), [("q".to_owned(), "a&b=c d/ü".to_owned())]);
}

#[test]
fn several_addresses_are_given_as_a_list_or_with_commas() {
    let (gateway, service) = market();
    for pair_id in [json!(["P1", "P2"]), json!("P1,P2")] {
        gateway.call("dex_market_data/get_pairs_by_address", json!({"chain_id": "solana", "pair_id": pair_id})).ok();
        assert_eq!(service.take_seen()[0].path.replace("%2C", ","), "/latest/dex/pairs/solana/P1,P2");
    }
}

#[test]
fn pairs_by_token_are_one_list_with_a_chain_and_without() {
    let (gateway, service) = market();
    let body = json!({"token_addresses": ["T1", "T2", "T1"]});
    let all = gateway.call("dex_market_data/get_pairs_by_token", body).ok();
    assert_eq!(addresses(&all), ["PairOne", "PairTwo", "PairThree"]);
    assert_eq!(service.take_seen()[0].path.replace("%2C", ","), "/latest/dex/tokens/T1,T2", "duplicates are dropped");
    let body = json!({"chain_id": "ethereum", "token_addresses": ["T1", "T2"]});
    let one = gateway.call("dex_market_data/get_pairs_by_token", body).ok();
    assert_eq!(addresses(&one), ["PairThree"]);
    assert_eq!(service.take_seen()[0].path.replace("%2C", ","), "/tokens/v1/ethereum/T1,T2");
}

#[test]
fn no_pairs_at_all_are_an_empty_list() {
    let (gateway, service) = market();
    service.reply("*", Reply::json(json!({"schemaVersion": "1.0.0", "pairs": null})));
    let pairs = gateway.call("dex_market_data/get_pairs_by_token", json!({"token_addresses": "T1"})).ok();
    assert_eq!(pairs, json!([]));
}

#[test]
fn a_chain_is_required_if_the_service_lacks_the_older_method() {
    let (gateway, service) = market();
    for status in [404, 410] {
        service.reply("*", Reply::empty(status));
        let violations =
            gateway.call("dex_market_data/get_pairs_by_token", json!({"token_addresses": "T1"})).violations();
        assert_eq!(violations[0].0, "/chain_id");
    }
}

#[test]
fn more_than_thirty_addresses_are_a_violation() {
    let (gateway, service) = market();
    let many: Vec<String> = (0..31).map(|number| format!("T{number}")).collect();
    let bodies = [
        ("get_pairs_by_token", json!({"token_addresses": many}), "/token_addresses"),
        ("get_pairs_by_token", json!({"token_addresses": many.join(",")}), "/token_addresses"),
        ("get_pairs_by_address", json!({"chain_id": "solana", "pair_id": many}), "/pair_id"),
    ];
    for (operation, body, pointer) in bodies {
        let violations = gateway.call(&format!("dex_market_data/{operation}"), body).violations();
        assert_eq!(violations.iter().map(|violation| &violation.0).collect::<Vec<_>>(), [pointer]);
    }
    assert!(service.seen().is_empty());
}

#[test]
fn a_field_cannot_lead_a_request_to_another_path() {
    let (gateway, service) = market();
    for chain in ["../../orders/v1/x", "..", "%2e%2e", "a/b", "a?b", "a#b"] {
        let body = json!({"chain_id": chain, "token_address": "T1"});
        let answer = gateway.call("dex_market_data/get_token_pools", body);
        for seen in service.take_seen() {
            let inside =
                seen.path.strip_prefix("/token-pairs/v1/").unwrap_or_else(|| panic!("{chain} became {}", seen.path));
            assert_eq!(inside.split('/').count(), 2, "{chain} led to {}", seen.path);
            assert!(seen.query.is_empty() && !inside.starts_with(".."), "{chain} led to {}", seen.path);
        }
        assert!(matches!(answer.status, 200 | 404 | 422), "{chain}: {}", answer.text());
    }
}

#[test]
fn a_refusal_of_the_service_is_passed_on_with_its_status_and_body() {
    let (gateway, service) = market();
    service.reply("/latest/dex/search", Reply::json(json!({"error": "no such chain"})).status(400));
    let answer = gateway.call("dex_market_data/search_pairs", json!({"q": "x"}));
    let problem = answer.problem(400, "upstream-rejected");
    assert_eq!(problem["upstream"], json!({"status": 400, "body": {"error": "no such chain"}}));
    assert_eq!(answer.header("x-error-source"), "upstream");
    service.reply("/latest/dex/search", Reply::typed("text/plain", "gone").status(410));
    let problem = gateway.call("dex_market_data/search_pairs", json!({"q": "x"})).problem(410, "upstream-rejected");
    assert_eq!(problem["upstream"], json!({"status": 410, "body": "gone"}));
}

#[test]
fn a_rate_limit_of_the_service_is_passed_on_with_its_time() {
    let (gateway, service) = market();
    service.reply("/latest/dex/search", Reply::empty(429).header("retry-after", "17"));
    let answer = gateway.call("dex_market_data/search_pairs", json!({"q": "x"}));
    let problem = answer.problem(429, "upstream-rate-limited");
    assert_eq!(answer.header("retry-after"), "17");
    assert_eq!(answer.header("x-error-source"), "upstream");
    assert_eq!(problem["retryable"], true);
}

#[test]
fn an_answer_without_a_body_is_an_empty_object() {
    let (gateway, service) = market();
    for reply in [Reply::empty(204), Reply::empty(200)] {
        service.reply("/latest/dex/search", reply);
        assert_eq!(gateway.call("dex_market_data/search_pairs", json!({"q": "x"})).ok(), json!({}));
    }
}

#[test]
fn a_compressed_answer_is_passed_on_uncompressed() {
    let (gateway, service) = market();
    let packed = support::gzip::compressed(dexscreener::PRECISE_PAIR.as_bytes());
    service.reply("/latest/dex/search", Reply::typed("application/json", packed).header("content-encoding", "gzip"));
    let answer = gateway.call("dex_market_data/search_pairs", json!({"q": "x"}));
    assert_eq!(answer.text(), dexscreener::PRECISE_PAIR);
    assert_eq!(answer.header("content-encoding"), "");
}

#[test]
fn an_unreachable_service_is_a_bad_gateway() {
    let service = Upstream::start();
    let gone = service.url();
    drop(service);
    let gateway = Setup::new().shipped("dex_market_data").upstream("dex_market_data", "api", &gone).start();
    let answer = gateway.call("dex_market_data/search_pairs", json!({"q": "x"}));
    let problem = answer.problem(502, "upstream-unreachable");
    assert_eq!((answer.header("x-error-source"), &problem["owner"]), ("upstream", &json!("provider")));
    assert_eq!(problem["retryable"], true);
}
