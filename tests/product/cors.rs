//! Calls from pages in a browser: the pages of `allowed_origins` may call and read answers, and no
//! other page.

use serde_json::json;
use support::{Gateway, Setup, module};

const PAGE: &str = "https://app.example.com";

fn with_pages() -> Gateway {
    Setup::new()
        .general(&format!("allowed_origins = [\"{PAGE}\"]"))
        .module("liar", module::liar("version=1.0.0"))
        .start()
}

#[test]
fn a_page_of_an_allowed_origin_may_call_and_read_without_an_api_key() {
    let gateway = with_pages();
    let anonymous = gateway.anonymous();
    let preflight = |origin: &str| {
        let call = anonymous.request("OPTIONS", "/connectors/liar/version").header("origin", origin);
        call.header("access-control-request-method", "POST").send()
    };
    let allowed = preflight(PAGE);
    assert_eq!((allowed.status, allowed.header("access-control-allow-origin")), (204, PAGE));
    assert_eq!(allowed.header("access-control-allow-methods"), "POST");
    assert!(allowed.header("access-control-allow-headers").contains("Idempotency-Key"));
    for other in ["https://evil.example", "null", "http://app.example.com"] {
        let refused = preflight(other);
        assert_eq!((refused.status, refused.header("access-control-allow-origin")), (405, ""), "{other}");
    }
    // A page that sends an expired JWT can read why it is refused.
    let token = "Bearer eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln";
    let call = anonymous.request("POST", "/connectors/liar/version").header("origin", PAGE);
    let answer = call.header("authorization", token).json(&json!({})).send();
    answer.problem(401, "unauthenticated");
    assert_eq!((answer.header("access-control-allow-origin"), answer.header("vary")), (PAGE, "Origin"));
    for header in ["X-Request-Id", "X-Response-Fields-Unmatched"] {
        assert!(answer.header("access-control-expose-headers").contains(header), "{header}");
    }
    let with_key =
        gateway.client().request("POST", "/connectors/liar/version").header("origin", PAGE).json(&json!({})).send();
    with_key.ok();
    assert_eq!(with_key.header("access-control-allow-origin"), "", "an API key does not belong into a page");
}

#[test]
fn without_the_setting_no_page_may_read_answers() {
    let gateway = Setup::new().module("liar", module::liar("version=1.0.0")).start();
    let call = gateway.anonymous().request("OPTIONS", "/connectors/liar/version").header("origin", PAGE);
    let answer = call.header("access-control-request-method", "POST").send();
    answer.problem(405, "method-not-allowed");
    assert_eq!(answer.header("access-control-allow-origin"), "");
}
