//! Modules with a wrong manifest. Each is refused with its name and a reason for its author, while
//! the gateway serves.

use serde_json::json;
use support::{Dialect, Gateway, OAuthProvider, Reply, Setup, Upstream, module};

use support::hostile::assert_serves;
use support::multipart::Part;

fn gateway() -> Gateway {
    Setup::new().guest("hostile").guest("liar").start()
}

/// Lies, and words of the reason for which each of them is refused.
const LIES: &[(&str, &str)] = &[
    ("other identifier", "`dex_market_data`"),
    ("path as identifier", "identifier"),
    ("no version", "version"),
    ("huge description", "description"),
    ("no operations", "operations"),
    ("many operations", "at most 512"),
    ("same operation twice", "operation `version`: the name is there twice"),
    ("reserved path", "`integrations`"),
    ("slash in path", "a/b"),
    ("unknown rate limit", "rate limit `none`"),
    ("empty rate limit", "rate limit `some`"),
    ("row of no operation", "row of `other`: the manifest has no operation of this name"),
    ("row of another upstream", "row of `version`, upstream: the connector has no upstream `elsewhere`"),
    ("row of another host", "row of `version`, path: a path does not begin with `//`"),
    ("row that climbs", "row of `version`, path: a path has no segments `.` or `..`"),
    ("row of an unknown field", "row of `version`, path: `{other}` is no field of the row"),
    ("row with a credential", "row of `version`, header `Authorization`: the gateway sets this header itself"),
    ("row with a line break", "row of `version`, header `X-Word`: the value of a header has no CR"),
    ("row with an unknown setting", "row of `version`, header `X-Word`: the connector has no setting `x`"),
    (
        "row that reads with a body",
        "row of `version`, body: a request with `GET` or `HEAD` has no fixed members of a body",
    ),
    ("row that changes what it reads", "row of `version`: a request with `PUT`, `PATCH` or `DELETE` changes data"),
    ("row with a line break in a name", "row of `version`, field `word`: the text has no line break"),
    (
        "row that sends a parameter twice",
        "row of `version`, field `word`: the query of the path always has the parameter",
    ),
    ("row with an unknown trigger", "header `X-Word`: `when` has `q`, which is no parameter of any row"),
    ("huge row", "row of `version`, row: the texts of a row have at most 65536 bytes"),
    ("row twice", "row of `version`: it is declared twice"),
    ("request and row", "row of `version`: it is declared twice"),
    ("request of another upstream", "row of `version`, upstream: the connector has no upstream `elsewhere`"),
    ("last item without pages", "last item of `version`: its operation has a `pagination` whose `next` is `cursor`"),
    ("trigger of no operation", "trigger `word_added`, read `other`: the manifest has no operation of this name"),
    (
        "trigger of an operation for callers",
        "trigger `word_added`, read `version`: an operation of a trigger has no envelope",
    ),
    (
        "trigger with open parameters",
        "trigger `word_added`, parameters: the schema says `\"additionalProperties\": false`",
    ),
    ("trigger with a wrong example", "trigger `word_added`: its example is refused by its payload: the whole: "),
    ("trigger of an unknown inbox", "trigger `word_added`, inbox `other`: there is no inbox of this name"),
    ("inbox without checks", "inbox `words`, checks: an inbox has 1 to 4 checks"),
    ("inbox with an unsigned body", "inbox `words`, check `token`: the token is a value of the notification"),
    ("schema is no json", "is not JSON"),
    ("schema is no schema", "is not a JSON Schema"),
    ("schema of a list", "\"type\": \"object\""),
    ("schema from a file", "input-schema"),
    ("schema from the network", "input-schema"),
    ("schema with huge pattern", "10000 states"),
    ("schema with many patterns", "10000 states"),
    ("schema of itself", "refers to itself"),
    ("schema of doubling references", "subschemas"),
    ("schemas without end", "4 MiB"),
    ("huge schema", "256 KiB"),
    ("open schema", "\"additionalProperties\": false"),
    ("answer schema is no json", "schema of the answer is not JSON"),
    ("answer schema is no schema", "answer-schema"),
    ("answer example is no json", "example of the answer is not JSON"),
    ("wrong answer example", "its answer-example is refused by its answer-schema: the whole: "),
    ("pages into an unknown member", "pagination `/page`: the input schema does not name this member"),
    ("setting schema is no json", "setting `organization`: the schema is not JSON"),
    ("setting schema is no schema", "setting `organization`"),
    ("setting schema from a file", "setting `organization`"),
    ("huge setting schema", "at most 16 KiB"),
    ("setting with wrong default", "setting `organization`: its default"),
    ("same setting twice", "setting `organization`: the name is there twice"),
    ("line break in the title", "title"),
    ("escape in the author", "imprint.author"),
    ("huge icon", "16 KiB"),
    ("icon is no svg", "SVG"),
    ("homepage without tls", "imprint.homepage"),
    ("wrong example", "its example is refused by its input-schema: /word: "),
    ("file as base url", "base-url"),
    ("user in base url", "base-url"),
    ("wildcard redirect host", "link host `*.example`"),
    ("wildcard of a public suffix", "link host `*.co.uk`"),
    ("line break in the form field", "auth.form-field"),
    ("form field without a name", "form-field"),
    ("no concurrency", "concurrency"),
    ("token url without tls", "oauth2.token-url"),
    ("key in the host header", "`Host`"),
    ("key in a header that frames", "`content-length`"),
    ("key in no header", "`X Key`"),
    (
        "key tested with a required field",
        "auth: the gateway invokes the operation `version` with the body `{}` when a user connects an account, but its field \
         `word` is required",
    ),
    ("panic", "describe"),
    ("endless loop", "cpu"),
];

/// Stories that are no lies, or whose test is elsewhere.
const GOOD_STORIES: &[&str] = &[
    "schema with slow pattern",
    "schema with many branches",
    "many long paths",
    "oauth2",
    "token url elsewhere",
    "call",
    "row",
    "request",
    "cursor",
    "last item",
    "trigger",
];

#[test]
fn every_lie_is_refused_by_name_while_the_true_version_serves() {
    let gateway = gateway();
    let mut before = json!(null);
    for (lie, words) in LIES {
        gateway.home().put("liar", &module::liar(lie));
        // The refusal of the previous lie may still be listed.
        let refused =
            support::wait_for(lie, || gateway.refusal("liar.wasm").filter(|refused| refused["sha256"] != before));
        before = refused["sha256"].clone();
        let reason = refused["reason"].as_str().unwrap();
        assert!(reason.contains(words), "{lie}: {reason}");
        assert!(reason.len() < 1000, "{lie}: a reason fits a line");
        assert_serves(&gateway);
    }
    gateway.home().put("liar", &module::liar("version=2.0.0"));
    gateway.wait_for_version("liar", "2.0.0");
    assert_eq!(gateway.refusal("liar.wasm"), None, "the true version replaced the last lie");
}

#[test]
fn every_lie_that_the_guest_can_tell_is_tried() {
    let source = std::fs::read_to_string(module::root().join("tests/guests/liar/src/lies.rs")).unwrap();
    let mut handled: Vec<&str> = source
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix('"')?.split_once("\" =>").map(|(lie, _)| lie))
        .collect();
    let mut tried: Vec<&str> = LIES.iter().map(|(lie, _)| *lie).chain(GOOD_STORIES.iter().copied()).collect();
    handled.sort_unstable();
    tried.sort_unstable();
    assert_eq!(handled, tried);
}

#[test]
fn a_pattern_that_needs_backtracking_elsewhere_is_matched_at_once() {
    let gateway = Setup::new().module("liar", module::liar("schema with slow pattern")).start();
    let word = format!("{}!", "a".repeat(100_000));
    let violations = gateway.call("liar/version", json!({"word": word})).violations();
    assert_eq!(violations[0].0, "/word");
    gateway.call("liar/version", json!({"word": "aaa"})).ok();
}

#[test]
fn a_connector_cannot_send_requests_while_it_describes_itself() {
    let upstream = Upstream::start();
    let gateway = Setup::new().module("liar", module::liar("call")).upstream("liar", "api", &upstream.url()).start();
    assert!(
        gateway.connector("liar").is_some(),
        "its call failed and it continued: {:?}",
        gateway.refusal("liar.wasm")
    );
    assert!(upstream.seen().is_empty());
}

#[test]
fn a_row_is_carried_out_and_shown_and_no_value_leads_it_elsewhere() {
    let upstream = Upstream::start();
    upstream.reply("/words/sea%20lion", Reply::json(json!({"word": "sea lion"})));
    let gateway = Setup::new().module("liar", module::liar("row")).upstream("liar", "api", &upstream.url()).start();
    let answer = gateway.call("liar/version", json!({"word": "sea lion"})).ok();
    assert_eq!(answer, json!({"word": "sea lion"}), "the request was sent, and the module was not invoked");
    let listed = gateway.connector("liar").unwrap();
    assert_eq!(gateway.client().get("/admin/connectors/liar").ok(), listed);
    gateway.client().get("/admin/connectors/unheard_of").problem(404, "unknown-connector");
    let operations = listed["operations"].clone();
    let sends = |path: &str| {
        operations.as_array().unwrap().iter().find(|one| one["path"] == path).map(|one| one["sends"].clone())
    };
    assert_eq!((sends("version"), sends("wait")), (Some(json!("GET api /words/{word}")), Some(json!("code"))));

    upstream.take_seen();
    for word in ["..", "%2e%2e", "a/../../b", "", "a\u{0}b"] {
        let violations = gateway.call("liar/version", json!({"word": word})).violations();
        assert_eq!(violations[0].0, "/word", "{word:?}");
    }
    let missing = gateway.call("liar/version", json!({})).violations();
    assert_eq!(missing[0].0, "/word");
    assert!(upstream.seen().is_empty());
}

#[test]
fn a_connector_gets_the_request_of_its_operation_and_no_value_leads_it_elsewhere() {
    let upstream = Upstream::start();
    upstream.reply("/words/sea%20lion", Reply::json(json!({"word": "sea lion"})));
    upstream.reply("/forms", Reply::json(json!({"form": true})));
    let gateway = Setup::new().module("liar", module::liar("request")).upstream("liar", "api", &upstream.url()).start();
    for operation in ["version", "version_at_once"] {
        let answer = gateway.call(&format!("liar/{operation}"), json!({"word": "sea lion"})).ok();
        assert_eq!(answer, json!({"word": "sea lion"}), "{operation}");
        for word in ["%2e%2e", ""] {
            let violations = gateway.call(&format!("liar/{operation}"), json!({"word": word})).violations();
            assert_eq!(violations[0].0, "/word", "{word:?}");
        }
    }
    let operations = gateway.connector("liar").unwrap()["operations"].clone();
    assert!(operations.as_array().unwrap().iter().all(|one| one["sends"] == "code"), "a function may send anything");

    upstream.take_seen();
    assert_eq!(gateway.call("liar/forward", json!({"word": "ü"})).ok(), json!({"form": true}));
    let [form] = upstream.take_seen().try_into().unwrap();
    assert_eq!(form.multipart(), [Part::text("word", "ü")]);

    // The operation has declared no request.
    gateway.call("liar/wait", json!({"word": "a"})).problem(500, "connector-failed");
}

#[test]
fn a_connector_whose_users_need_an_account_says_what_to_do() {
    let provider = OAuthProvider::start(Dialect::strict());
    let setup = Setup::new().module("liar", module::liar("oauth2"));
    let gateway = setup.provider("liar", &provider, &[("api", "")]).start();
    assert_eq!(gateway.connector("liar").unwrap()["auth_type"], "oauth2");
    let answer = gateway.call("liar/version", json!({}));
    let problem = answer.problem(424, "integration-required");
    assert_eq!(problem["owner"], "user");
    assert_eq!(problem["action"], json!({"method": "POST", "path": "/connectors/liar/integrations"}));
    assert_eq!(answer.header("x-error-source"), "gateway");
}

#[test]
fn a_token_url_at_another_site_is_refused() {
    let gateway = gateway();
    gateway.home().put("liar", &module::liar("token url elsewhere"));
    let reason = gateway.wait_for_refusal("liar.wasm");
    assert!(reason.contains("thief.invalid"), "{reason}");
}
