use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use hyper::Method;
use parking_lot::Mutex;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::Instant;

use super::super::testing::{
    Stub, TOKEN, answer, egress, fetch, get, in_form_field, ok, raw, request, upstream, with_token,
};
use super::super::{
    Body, CallRecord, Credential, CredentialUse, EgressError, Headers, Pacing, Request, Upstream, UpstreamSettings,
};

#[tokio::test]
async fn a_request_arrives_as_it_was_composed() {
    let stub = Stub::start(|_, _| answer(201, &[("x-answer", "yes")], "hello")).await;
    let headers = Headers::untrusted([("X-Own", "1"), ("Accept", "text/plain")]).unwrap();
    let request = Request {
        headers,
        body: Body::Json("{\"a\":1}".into()),
        ..with_token(request(Method::PATCH, "/a/b%20c?x=1&y=%2F"))
    };
    let response = egress().send(&upstream(&format!("{}/base", stub.url()), &[]), &request).await.unwrap();
    assert_eq!(response.status, 201);
    assert_eq!(response.headers.get("x-answer").unwrap(), "yes");
    assert_eq!(response.body.collect(5).await.unwrap(), "hello");

    let seen = &stub.seen()[0];
    assert_eq!((&seen.method, seen.path.as_str()), (&Method::PATCH, "/base/a/b%20c?x=1&y=%2F"));
    assert_eq!(seen.header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
    assert_eq!((seen.header("x-own"), seen.header("accept")), (Some("1"), Some("text/plain")));
    assert_eq!((seen.header("content-type"), seen.header("content-length")), (Some("application/json"), Some("7")));
    assert_eq!(seen.header("accept-encoding"), Some("gzip"));
    assert!(seen.header("user-agent").unwrap().starts_with("connector-gateway/"));
    assert_eq!(seen.header("cookie"), None);
    assert_eq!(seen.body, "{\"a\":1}");
}

#[tokio::test]
async fn a_credential_is_sent_where_it_was_made_for() {
    let stub = Stub::start(|_, _| ok("")).await;
    let cases = [
        (Credential::header("X-Api-Key", "Token ", "key-12345".into()).unwrap(), Body::Empty),
        (Credential::basic("ada", "pass:word".into()).unwrap(), Body::Empty),
        (Credential::query("key", "a&b/c".into()), Body::Empty),
    ];
    for (credential, body) in cases {
        let request = Request { credential: Some(credential), body, ..request(Method::POST, "/p?q=1") };
        fetch(&egress(), &upstream(&stub.url(), &[]), &request).await.unwrap();
    }
    let seen = stub.seen();
    assert_eq!(seen[0].header("x-api-key"), Some("Token key-12345"));
    assert_eq!(seen[1].header("authorization"), Some("Basic YWRhOnBhc3M6d29yZA=="));
    assert_eq!(seen[1].header("content-length"), Some("0"), "some services answer a POST without a length by 411");
    assert_eq!(seen[2].path, "/p?q=1&key=a%26b%2Fc");
}

#[tokio::test]
async fn a_credential_is_sent_in_a_form_field_if_the_upstream_says_so() {
    let stub = Stub::start(|_, _| ok("")).await;
    let upstream = in_form_field(&stub.url(), &[]);
    let form = Body::Form(vec![("a b".to_owned(), "ü&=".to_owned())]);
    for credential in [Credential::bearer("a&b/c".into()).unwrap(), Credential::query("key", "a&b/c".into())] {
        for body in [form.clone(), Body::Empty] {
            let credential = Some(credential.clone());
            let request = Request { credential, body, ..request(Method::POST, "/p") };
            fetch(&egress(), &upstream, &request).await.unwrap();
        }
    }
    for seen in stub.seen() {
        assert_eq!((seen.path.as_str(), seen.header("authorization")), ("/p", None));
        assert_eq!(seen.header("content-type"), Some("application/x-www-form-urlencoded"));
    }
    assert_eq!(stub.seen()[0].body, "a+b=%C3%BC%26%3D&token=a%26b%2Fc");
    assert_eq!(stub.seen()[1].body, "token=a%26b%2Fc");
}

#[tokio::test]
async fn a_form_field_for_the_credential_refuses_other_bodies_and_fields_of_its_names() {
    let stub = Stub::start(|_, _| ok("")).await;
    let upstream = in_form_field(&stub.url(), &[]);
    let form = |name: &str| Body::Form(vec![("text".to_owned(), "a".to_owned()), (name.to_owned(), "b".to_owned())]);
    let typed = Body::Typed { content_type: "application/x-www-form-urlencoded".to_owned(), bytes: "token=x".into() };
    let names = [
        "token",
        "TOKEN",
        " token",
        "token[]",
        "token\0a",
        "to\u{212a}en",
        "access_token",
        "Access_Token",
        "access token",
        "access.token",
    ];
    let bodies = names.iter().map(|name| form(name)).chain([Body::Json("{}".into()), typed]);
    for body in bodies {
        let request = Request { body, ..with_token(request(Method::POST, "/")) };
        let error = fetch(&egress(), &upstream, &request).await.unwrap_err();
        assert!(matches!(error, EgressError::InvalidRequest { .. }), "{:?}: {error}", request.body);
        let without = Request { omit_credential: true, ..request };
        fetch(&egress(), &upstream, &without).await.unwrap();
    }
    for path in ["/?token=x", "/?a=1&Access%5FToken=x"] {
        let error = fetch(&egress(), &upstream, &with_token(get(path))).await.unwrap_err();
        assert!(matches!(error, EgressError::InvalidRequest { .. }), "{path}: {error}");
    }
    fetch(&egress(), &upstream, &Request { body: form("tokens"), ..with_token(request(Method::POST, "/?t=1")) })
        .await
        .unwrap();
}

#[tokio::test]
async fn a_credential_is_left_out_if_the_request_or_the_upstream_says_so() {
    let stub = Stub::start(|_, _| ok("")).await;
    let none = Upstream::new(UpstreamSettings {
        base_url: stub.url(),
        granted_hosts: vec![stub.address.to_string()],
        credential: CredentialUse::None,
        allow_private_network: true,
        ..UpstreamSettings::default()
    });
    let credentials = [Credential::bearer(TOKEN.into()).unwrap(), Credential::query("key", TOKEN.into())];
    for credential in credentials {
        let request = Request { credential: Some(credential), ..get("/") };
        fetch(&egress(), none.as_ref().unwrap(), &request).await.unwrap();
        let request = Request { omit_credential: true, ..request };
        fetch(&egress(), &upstream(&stub.url(), &[]), &request).await.unwrap();
        fetch(&egress(), &in_form_field(&stub.url(), &[]), &request).await.unwrap();
    }
    for seen in stub.seen() {
        assert_eq!((seen.header("authorization"), seen.path.as_str(), &seen.body[..]), (None, "/", &b""[..]));
    }
    assert_eq!(stub.seen().len(), 6);
}

#[tokio::test]
async fn nothing_is_sent_to_a_host_that_was_not_granted() {
    let stub = Stub::start(|_, _| ok("")).await;
    let settings = |granted: &str| UpstreamSettings {
        name: "api".to_owned(),
        base_url: stub.url(),
        granted_hosts: vec![granted.to_owned()],
        allow_private_network: true,
        ..UpstreamSettings::default()
    };
    for granted in ["api.example.com", "127.0.0.1", "127.0.0.1:1"] {
        let error = fetch(&egress(), &Upstream::new(settings(granted)).unwrap(), &get("/")).await.unwrap_err();
        assert!(matches!(error, EgressError::Denied { .. }), "{granted}: {error}");
    }
    assert!(stub.seen().is_empty());
    fetch(&egress(), &Upstream::new(settings(&stub.address.to_string())).unwrap(), &get("/")).await.unwrap();
}

#[tokio::test]
async fn an_upstream_without_an_address_says_who_must_act() {
    let settings = UpstreamSettings { name: "api".to_owned(), ..UpstreamSettings::default() };
    let error = fetch(&egress(), &Upstream::new(settings).unwrap(), &get("/")).await.unwrap_err();
    assert_eq!(error, EgressError::NotConfigured { upstream: "api".to_owned() });
}

#[tokio::test]
async fn transient_answers_are_tried_twice_more_if_the_request_changes_nothing() {
    for status in [502, 503, 504] {
        let stub = Stub::start(move |_, _| answer(status, &[], "down")).await;
        for (method, times) in
            [(Method::GET, 3), (Method::PUT, 1), (Method::DELETE, 1), (Method::POST, 1), (Method::PATCH, 1)]
        {
            let before = stub.seen().len();
            let (got, body) =
                fetch(&egress(), &upstream(&stub.url(), &[]), &request(method.clone(), "/")).await.unwrap();
            assert_eq!((got, body.as_str()), (status, "down"));
            assert_eq!(stub.seen().len() - before, times, "{method} {status}");
        }
    }
}

#[tokio::test]
async fn other_answers_are_not_tried_again() {
    for status in [200, 400, 401, 404, 429, 500, 501] {
        let stub = Stub::start(move |_, _| answer(status, &[("retry-after", "0")], "")).await;
        assert_eq!(fetch(&egress(), &upstream(&stub.url(), &[]), &get("/")).await.unwrap().0, status);
        assert_eq!(stub.seen().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn retry_after_is_honoured_in_both_forms_if_there_is_time() {
    let soon = "0".to_owned();
    let past = httpdate::fmt_http_date(SystemTime::now() - Duration::from_secs(60));
    let far = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(3600));
    for (value, calls) in [(soon, 2), (past, 2), (far, 1), ("3600".to_owned(), 1), ("nonsense".to_owned(), 2)] {
        let header = value.clone();
        let stub = Stub::start(
            move |_, before| {
                if before == 0 { answer(503, &[("retry-after", &header)], "") } else { ok("up") }
            },
        )
        .await;
        let (status, _) = fetch(&egress(), &upstream(&stub.url(), &[]), &get("/")).await.unwrap();
        assert_eq!((stub.seen().len(), status), (calls, if calls == 2 { 200 } else { 503 }), "{value}");
    }
}

/// Accepts a connection, reads a request and closes without a response.
async fn hang_up(mut stream: TcpStream) {
    let _ = stream.read(&mut [0; 4096]).await;
}

#[tokio::test]
async fn a_connection_that_breaks_is_tried_again_only_if_the_request_changes_nothing() {
    for (method, times) in [(Method::GET, 3), (Method::POST, 1), (Method::PUT, 1)] {
        let count = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&count);
        let address = raw(move |_, stream| {
            counter.fetch_add(1, Ordering::SeqCst);
            hang_up(stream)
        })
        .await;
        let upstream = upstream(&format!("http://{address}"), &[]);
        let error = fetch(&egress(), &upstream, &request(method.clone(), "/x?secret=1")).await.unwrap_err();
        assert!(matches!(error, EgressError::Unreachable { .. }), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
        assert_eq!(count.load(Ordering::SeqCst), times, "{method}");
    }
}

/// A port that is taken, and at which no one listens.
fn refusing() -> TcpSocket {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    socket
}

#[tokio::test]
async fn a_connection_that_was_never_made_is_tried_again_for_any_method() {
    let refusing = refusing();
    let closed = refusing.local_addr().unwrap();
    let attempts = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&attempts);
    let upstream = upstream(&format!("http://{closed}"), &[])
        .observed(Arc::new(move |attempt| log.lock().push((attempt.retry, attempt.status))));
    let error = fetch(&egress(), &upstream, &request(Method::POST, "/")).await.unwrap_err();
    assert!(matches!(&error, EgressError::Unreachable { detail, .. } if detail.contains("refused")), "{error}");
    assert_eq!(*attempts.lock(), [(0, None), (1, None), (2, None)]);
}

#[tokio::test]
async fn the_record_of_a_call_tells_if_an_upstream_may_have_acted_on_a_request() {
    let broken = raw(|_, stream| hang_up(stream)).await;
    let refusing = refusing();
    let closed = refusing.local_addr().unwrap();
    let mut places = vec![
        (format!("http://{broken}"), true),
        (format!("http://{closed}"), false),
        ("http://b.test".to_owned(), false),
    ];
    let mut stubs = Vec::new();
    for (status, may_have) in
        [(200, true), (302, true), (400, false), (408, false), (429, false), (500, true), (503, true)]
    {
        let stub = Stub::start(move |_, _| answer(status, &[], "")).await;
        places.push((stub.url(), may_have));
        stubs.push(stub);
    }
    for (url, may_have) in places {
        for method in [Method::POST, Method::PUT, Method::GET] {
            let record = Arc::new(CallRecord::default());
            let request = Request { record: Some(Arc::clone(&record)), ..request(method.clone(), "/") };
            let result = fetch(&egress(), &upstream(&url, &[]), &request).await;
            let expected = may_have && method != Method::GET;
            assert_eq!(record.may_have_changed_data(false), expected, "{method} {url}: {result:?}");
            let is_unresolved = matches!(result, Err(EgressError::Unresolved { .. }));
            assert_eq!(is_unresolved, url.contains("b.test"), "{url}: {result:?}");
        }
    }
}

#[tokio::test]
async fn attempts_are_reported_with_their_status() {
    let stub = Stub::start(|_, before| if before == 0 { answer(503, &[], "") } else { ok("") }).await;
    let attempts = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&attempts);
    let upstream =
        upstream(&stub.url(), &[]).observed(Arc::new(move |attempt| log.lock().push((attempt.retry, attempt.status))));
    fetch(&egress(), &upstream, &get("/")).await.unwrap();
    assert_eq!(*attempts.lock(), [(0, Some(503)), (1, Some(200))]);
}

#[tokio::test]
async fn only_a_patient_request_waits_for_a_rate_limit_and_only_if_the_upstream_says_for_how_long() {
    let limited = |headers: &'static [(&'static str, &'static str)]| async move {
        let stub = Stub::start(move |_, before| if before < 3 { answer(429, headers, "") } else { ok("") }).await;
        let patient = Request { waits_for_rate_limit: true, ..request(Method::POST, "/") };
        let patient = egress().send(&upstream(&stub.url(), &[]), &patient).await.unwrap().status.as_u16();
        let impatient = egress().send(&upstream(&stub.url(), &[]), &get("/")).await.unwrap().status.as_u16();
        (patient, impatient, stub.seen().len())
    };
    assert_eq!(limited(&[("retry-after", "0")]).await, (200, 200, 5), "the limit is over for the second request");
    assert_eq!(limited(&[]).await, (429, 429, 2));
    assert_eq!(limited(&[("retry-after", "3600")]).await, (429, 429, 2), "the deadline is earlier");
}

#[tokio::test]
async fn a_patient_request_waits_for_a_rate_limit_in_any_words() {
    const IN_WORDS: &str = r#"{"error": {"status": "RESOURCE_EXHAUSTED", "details": [
        {"@type": "type.example/rpc.RetryInfo", "retryDelay": "0.01s"}]}}"#;
    let used_up: &[(&str, &str)] = &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1000000001")];
    for (headers, body) in [(&[][..], IN_WORDS), (used_up, "")] {
        let stub = Stub::start(move |_, before| if before < 1 { answer(403, headers, body) } else { ok("done") }).await;
        let patient = Request { waits_for_rate_limit: true, ..request(Method::POST, "/") };
        let answer = fetch(&egress(), &upstream(&stub.url(), &[]), &patient).await.unwrap();
        assert_eq!(answer, (200, "done".to_owned()));
    }
}

#[tokio::test]
async fn an_upstream_that_does_not_answer_times_out_at_the_deadline() {
    let address = raw(|_, mut stream| async move {
        let _ = stream.read(&mut [0; 4096]).await;
        std::future::pending::<()>().await;
    })
    .await;
    let request = Request { deadline: Instant::now() + Duration::from_millis(50), ..get("/") };
    let error = fetch(&egress(), &upstream(&format!("http://{address}"), &[]), &request).await.unwrap_err();
    assert_eq!(error, EgressError::TimedOut);
}

#[tokio::test]
async fn a_place_in_the_queue_is_held_until_the_body_is_read_or_dropped() {
    let stub = Stub::start(|_, _| ok("body")).await;
    let upstream = Upstream::new(UpstreamSettings {
        name: "api".to_owned(),
        base_url: stub.url(),
        granted_hosts: vec![stub.address.to_string()],
        pacing: Some(Pacing { interval: Duration::ZERO, concurrency: 1, max_wait: Duration::from_millis(50) }),
        allow_private_network: true,
        ..UpstreamSettings::default()
    })
    .unwrap();
    let egress = egress();
    let mut first = egress.send(&upstream, &get("/")).await.unwrap();
    let second = fetch(&egress, &upstream, &get("/")).await;
    assert!(matches!(second, Err(EgressError::RateLimited { .. })), "{second:?}");
    while first.body.next().await.is_some() {}
    let third = egress.send(&upstream, &get("/")).await.unwrap();
    drop(third);
    fetch(&egress, &upstream, &get("/")).await.unwrap();
}

#[tokio::test]
async fn the_record_of_a_call_keeps_each_attempt_without_its_query() {
    let stub = Stub::start(|_, number| if number == 0 { answer(503, &[], "") } else { ok("") }).await;
    let record = Arc::new(CallRecord::keeping_attempts());
    let request = Request { record: Some(Arc::clone(&record)), ..get("/a/7?token=secret") };
    fetch(&egress(), &upstream(&format!("{}/base", stub.url()), &[]), &request).await.unwrap();
    let attempts = record.attempts();
    let seen: Vec<_> = attempts.iter().map(|attempt| (attempt.status, attempt.attempt, attempt.path())).collect();
    assert_eq!(seen, [(Some(503), 1, ("/base", "/a/7")), (Some(200), 2, ("/base", "/a/7"))]);
    assert!(attempts[0].paused.is_zero() && attempts[1].paused >= Duration::from_millis(50), "{attempts:?}");
    assert!(!format!("{record:?}").contains("secret"), "{record:?}");
}

#[tokio::test]
async fn the_record_of_a_call_keeps_an_attempt_that_its_deadline_ends_and_at_most_64() {
    // The kernel accepts the connection, and no program answers.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}", listener.local_addr().unwrap());
    let record = Arc::new(CallRecord::keeping_attempts());
    let deadline = Instant::now() + Duration::from_secs(2);
    let request = Request { record: Some(Arc::clone(&record)), deadline, ..get("/slow") };
    assert!(egress().send(&upstream(&silent, &[]), &request).await.is_err());
    assert!(record.attempts().iter().all(|attempt| attempt.status.is_none()) && !record.attempts().is_empty());
    for _ in 0..100 {
        record.attempt_ended(record.attempts()[0].clone());
    }
    assert_eq!(record.attempts().len(), 64);
}
