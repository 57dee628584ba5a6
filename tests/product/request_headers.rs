//! Headers by which a caller chooses how it gets an answer: compressed, within a time, or in part.

use serde_json::json;
use support::{Answer, Gate, Gateway, Reply, Upstream, gzip};

use support::hostile::gateway;

fn post(gateway: &Gateway, path: &str, headers: &[(&str, &str)], body: &serde_json::Value) -> Answer {
    let call = gateway.client().request("POST", path);
    headers.iter().fold(call, |call, (name, value)| call.header(name, value)).json(body).send()
}

#[test]
fn an_answer_is_compressed_if_the_caller_asks_for_it_and_it_is_worth_it() {
    let upstream = Upstream::start();
    let text = format!("[{}0]", "1234567, ".repeat(40_000));
    let pieces: Vec<&str> = text.as_bytes().chunks(50_000).map(|piece| std::str::from_utf8(piece).unwrap()).collect();
    upstream
        .reply("/whole", Reply::typed("application/json", text.clone()))
        .reply("/pieces", Reply::pieces("application/json", &pieces))
        .reply("/small", Reply::json(json!({"n": 1})))
        .reply("/image", Reply::typed("image/png", "x".repeat(100_000)));
    let gateway = gateway(&upstream, "");
    let get = |path: &str, accepted: &str| {
        let headers = [("accept-encoding", accepted), ("accept", "image/png")];
        post(&gateway, "/connectors/hostile/forward", &headers, &json!({"path": path}))
    };
    for path in ["/whole", "/pieces"] {
        let answer = get(path, "gzip");
        assert_eq!((answer.header("content-encoding"), answer.header("vary")), ("gzip", "Accept-Encoding"), "{path}");
        assert!(answer.body.len() < text.len() / 10, "{path}: {} bytes", answer.body.len());
        assert_eq!(gzip::decode(&answer.body), text.as_bytes(), "{path}");
        let answer = get(path, "gzip, zstd");
        assert_eq!(answer.header("content-encoding"), "zstd", "{path}");
        assert!(answer.body.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) && answer.body.len() < text.len() / 10, "{path}");
        let answer = get(path, "identity");
        assert_eq!((answer.header("content-encoding"), answer.text().len()), ("", text.len()), "{path}");
    }
    assert_eq!(get("/small", "gzip").header("content-encoding"), "");
    let image = get("/image", "gzip");
    assert_eq!((image.header("content-encoding"), image.header("content-type")), ("", "image/png"));
    let described = gateway.client().request("GET", "/openapi.json").header("accept-encoding", "gzip").send();
    assert_eq!(described.header("content-encoding"), "gzip");
    let tag = described.header("etag").to_owned();
    let again = gateway.client().request("GET", "/openapi.json").header("accept-encoding", "gzip");
    assert_eq!(again.header("if-none-match", &tag).send().status, 304);
    let head = gateway.client().request("HEAD", "/openapi.json").header("accept-encoding", "gzip").send();
    assert_eq!(head.header("content-encoding"), "");
}

#[test]
fn a_caller_can_shorten_the_deadline_of_its_call() {
    let (upstream, gate) = (Upstream::start(), Gate::default());
    upstream.reply("/slow", Reply::json(json!({})).behind(&gate)).reply("/", Reply::json(json!({})));
    let gateway = gateway(&upstream, "limits.timeout_s = 600");
    let forward = |header: (&str, &str), path: &str| {
        post(&gateway, "/connectors/hostile/forward", &[header], &json!({"path": path}))
    };
    // Without the header, each of these calls would wait for ten minutes.
    for (name, value, named, applied) in
        [("prefer", "wait=2", "Prefer", "wait=2"), ("request-timeout", "2", "Request-Timeout", "")]
    {
        let late = forward((name, value), "/slow");
        assert_eq!(late.header("preference-applied"), applied);
        let problem = late.problem(504, "upstream-timed-out");
        let expected = format!("The call did not end in the 2 s that its header {named} allows; allow more time.");
        assert_eq!((problem["owner"].as_str(), problem["detail"].as_str()), (Some("caller"), Some(&*expected)));
    }
    assert_eq!(forward(("prefer", "wait=100"), "/").header("preference-applied"), "wait=100");
    for not_applied in ["respond-async", "wait=600", "wait=10000"] {
        assert_eq!(forward(("prefer", not_applied), "/").header("preference-applied"), "", "{not_applied}");
    }
    forward(("request-timeout", "soon"), "/").problem(400, "bad-request");
    let longest = u64::MAX.to_string();
    assert_eq!(forward(("request-timeout", &longest), "/").status, 200);
    assert_eq!(forward(("prefer", &format!("wait={longest}")), "/").status, 200);
}

#[test]
fn a_part_of_a_file_is_answered_where_the_service_has_parts() {
    let upstream = Upstream::start();
    upstream.on("/file", |seen| match seen.header("range") {
        "" => Reply::typed("text/plain", "0123456789").header("accept-ranges", "bytes"),
        "bytes=2-4" => Reply::typed("text/plain", "234").status(206).header("content-range", "bytes 2-4/10"),
        _ => Reply::empty(416).header("content-range", "bytes */10"),
    });
    upstream.reply("/whole", Reply::typed("text/plain", "0123456789"));
    upstream.reply("/somewhere", Reply::typed("text/plain", "234").status(206));
    upstream.on("/record", |seen| match seen.header("range") {
        "" => Reply::json(json!({"a": 1})),
        _ => Reply::typed("application/json", "{\"a\"").status(206).header("content-range", "bytes 0-3/7"),
    });
    let gateway = gateway(&upstream, "");
    let get = |path: &str, headers: &[(&str, &str)]| {
        post(&gateway, "/connectors/hostile/forward_file", headers, &json!({"path": path}))
    };
    let (accept, range) = (("accept", "text/plain"), ("range", "bytes=2-4"));
    let part = get("/file", &[accept, range]);
    assert_eq!((part.status, part.text().as_str()), (206, "234"));
    assert_eq!(part.header("content-range"), "bytes 2-4/10");
    let whole = get("/file", &[accept]);
    assert_eq!((whole.status, whole.text().as_str(), whole.header("accept-ranges")), (200, "0123456789", "bytes"));
    let without = get("/whole", &[accept, range]);
    assert_eq!((without.status, without.text().as_str()), (200, "0123456789"), "this service has no parts");
    get("/somewhere", &[accept, range]).problem(502, "upstream-not-understood");
    get("/file", &[accept, ("range", "bytes=90-99")]).problem(416, "upstream-rejected");
    assert_eq!(get("/file", &[range]).ok()["size"], 10, "JSON has the whole file");
    get("/file", &[("accept", "image/png"), range]).problem(400, "bad-request");
    let parts = get("/file", &[accept, ("range", "bytes=0-1,4-5")]);
    assert_eq!((parts.status, parts.text().as_str()), (200, "0123456789"), "several parts are no part of the file");
    let record =
        |headers: &[(&str, &str)]| post(&gateway, "/connectors/hostile/forward", headers, &json!({"path": "/record"}));
    record(&[accept, range]).problem(400, "bad-request");
    assert_eq!(record(&[accept]).ok(), json!({"a": 1}));
    upstream.take_seen();
    post(&gateway, "/connectors/hostile/forward_json", &[accept, range], &json!({"path": "/file"}))
        .problem(502, "upstream-not-understood");
    assert_eq!(upstream.seen()[0].header("range"), "", "JSON has no parts");
}
