use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use async_compression::tokio::bufread::GzipEncoder;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::{Either, select};
use hyper::Method;
use hyper::body::Body as _;
use memory::MemoryBudget;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;

use super::super::testing::{Stub, TOKEN, answer, egress, fetch, get, ok, raw, request, upstream, with_token};
use super::super::{Egress, EgressError, Request, Settings};

/// 256 KiB of zeros, in gzip, in base64: between its two ends are as many `A`s.
const BOMB: (&str, usize, &str) = ("H4sIAAAAAAACA+3BMQEAAADCoPVP7W0Ho", 339, "3gAi6g7iAAAEAA==");
const BOMB_SIZE: usize = 256 * 1024;

fn bomb() -> Vec<u8> {
    let (head, zeros, tail) = BOMB;
    STANDARD.decode([head, &"A".repeat(zeros), tail].concat()).unwrap()
}

#[tokio::test]
async fn gzip_is_decoded() {
    let stub = Stub::start(|_, _| answer(200, &[("content-encoding", "gzip")], bomb())).await;
    let response = egress().send(&upstream(&stub.url(), &[]), &get("/")).await.unwrap();
    assert!(!response.headers.contains_key("content-encoding") && !response.headers.contains_key("content-length"));
    assert_eq!(response.body.collect(BOMB_SIZE as u64).await.unwrap().len(), BOMB_SIZE);
}

/// The body of a response with this `Content-Encoding`, to a request with a credential.
async fn decoded(encoding: &'static str, body: Vec<u8>) -> Result<String, EgressError> {
    let stub = Stub::start(move |_, _| answer(200, &[("content-encoding", encoding)], body.clone())).await;
    let response = egress().send(&upstream(&stub.url(), &[]), &with_token(get("/"))).await?;
    assert!(!response.headers.contains_key("content-encoding"), "{encoding}");
    let body = response.body.collect(1 << 20).await?;
    Ok(String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn a_coding_is_known_by_each_of_its_names() {
    let (text, compressed) = text(1000).await;
    for encoding in ["gzip", "GZIP", "x-gzip", "identity, gzip", " gzip ,"] {
        assert_eq!(decoded(encoding, compressed.clone()).await.unwrap().as_bytes(), text, "{encoding}");
    }
    for encoding in ["identity", "Identity", "", "identity, identity"] {
        assert_eq!(decoded(encoding, text.clone()).await.unwrap().as_bytes(), text, "{encoding}");
    }
    for encoding in ["br", "gzip, br", "gzip, gzip"] {
        let error = decoded(encoding, compressed.clone()).await.unwrap_err();
        assert!(matches!(error, EgressError::BadResponse { .. }), "{encoding}: {error}");
    }
}

#[tokio::test]
async fn the_error_about_a_coding_does_not_show_a_credential_in_its_place() {
    let error = decoded(TOKEN, b"x".to_vec()).await.unwrap_err();
    assert!(matches!(&error, EgressError::BadResponse { detail, .. } if detail.contains("****")), "{error}");
    assert!(!error.to_string().contains(TOKEN), "{error}");
}

#[tokio::test]
async fn an_empty_body_may_be_called_compressed() {
    assert_eq!(decoded("gzip", Vec::new()).await.unwrap(), "");
    let address = raw(|_, mut stream| async move {
        let _ = stream.read(&mut [0; 4096]).await;
        let head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
        stream.write_all(head).await.unwrap();
    })
    .await;
    let read = fetch(&egress(), &upstream(&format!("http://{address}"), &[]), &get("/")).await;
    assert_eq!(read, Ok((200, String::new())));
}

#[tokio::test]
async fn members_of_a_compressed_body_follow_each_other_and_padding_is_left_out() {
    let (text, compressed) = text(1000).await;
    let twice = [&text[..], &text].concat();
    for (end, expected) in [(&compressed[..], &twice), (&[0; 512][..], &text), (b"\n", &text)] {
        let body = [&compressed[..], end].concat();
        assert_eq!(decoded("gzip", body).await.unwrap().as_bytes(), expected);
    }
}

#[tokio::test]
async fn other_calls_run_between_the_members_of_a_compressed_body() {
    const MEMBERS: usize = 2000;
    const EMPTY: [u8; 20] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let stub = Stub::start(|_, _| answer(200, &[("content-encoding", "gzip")], EMPTY.repeat(MEMBERS))).await;
    let response = egress().send(&upstream(&stub.url(), &[]), &get("/")).await.unwrap();
    let mut pauses = 0;
    let others = poll_fn(|_| {
        pauses += 1;
        Poll::<()>::Pending
    });
    let Either::Left((body, _)) = select(Box::pin(response.body.collect(1000)), others).await else {
        panic!("the others never end")
    };
    assert_eq!(body.unwrap().len(), 0);
    assert!(pauses >= MEMBERS - 1, "{pauses}");
}

#[tokio::test]
async fn a_compressed_body_with_a_damaged_end_is_an_error_before_it_is_passed_on() {
    let (_, compressed) = text(1000).await;
    let mut wrong_sum = compressed.clone();
    wrong_sum[compressed.len() - 6] ^= 1;
    for damaged in [compressed[..compressed.len() / 2].to_vec(), compressed[..compressed.len() - 4].to_vec(), wrong_sum]
    {
        let stub = Stub::start(move |_, _| answer(200, &[("content-encoding", "gzip")], damaged.clone())).await;
        let mut response = egress().send(&upstream(&stub.url(), &[]), &get("/")).await.unwrap();
        let error = response.body.settle().await.unwrap_err();
        assert!(matches!(&error, EgressError::BadResponse { upstream, .. } if upstream == "api"), "{error}");
    }
}

#[tokio::test]
async fn a_byte_order_mark_is_skipped() {
    for (sent, expected) in [("\u{feff}{}", "{}"), ("{}", "{}"), ("\u{feff}", ""), ("", "")] {
        let stub = Stub::start(move |_, _| ok(sent)).await;
        let mut body = egress().send(&upstream(&stub.url(), &[]), &get("/")).await.unwrap().body;
        body.skip_mark().await.unwrap();
        assert_eq!(body.size_hint().exact(), Some(expected.len() as u64), "{sent:?}");
        assert_eq!(body.collect(100).await.unwrap(), expected, "{sent:?}");
    }
}

#[tokio::test]
async fn a_bomb_counts_by_its_decoded_size() {
    let stub = Stub::start(|_, _| answer(200, &[("content-encoding", "gzip")], bomb())).await;
    let limited = Request { limit: 64 * 1024, ..get("/") };
    assert_eq!(
        fetch(&egress(), &upstream(&stub.url(), &[]), &limited).await,
        Err(EgressError::TooLarge { limit: 64 * 1024 })
    );
    let response = egress().send(&upstream(&stub.url(), &[]), &get("/")).await.unwrap();
    assert_eq!(response.body.collect(1000).await, Err(EgressError::TooLarge { limit: 1000 }));
}

#[tokio::test]
async fn a_body_that_inflates_too_much_ends_with_an_error_about_the_upstream() {
    let stub = Stub::start(|_, _| answer(200, &[("content-encoding", "gzip")], bomb().repeat(64))).await;
    let mut body =
        egress().send(&upstream(&stub.url(), &[]), &Request { limit: 64 << 20, ..get("/") }).await.unwrap().body;
    let mut read = 0;
    let error = loop {
        match body.next().await.unwrap() {
            Ok(piece) => read += piece.len(),
            Err(error) => break error,
        }
    };
    let EgressError::BadResponse { upstream, detail } = &error else { panic!("{error}") };
    assert!(upstream == "api" && detail.contains("100 times its compressed size"), "{detail}");
    assert!((1 << 19..=1 << 20).contains(&read), "{read} bytes were inflated");
}

/// Text of `size` bytes that compresses to about a half, and its compressed form.
async fn text(size: usize) -> (Vec<u8>, Vec<u8>) {
    let mut text = String::new();
    let mut number = 1_u64;
    while text.len() < size {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        text.push_str(&format!("{number:016x}"));
    }
    text.truncate(size);
    let mut compressed = Vec::new();
    GzipEncoder::new(text.as_bytes()).read_to_end(&mut compressed).await.unwrap();
    (text.into_bytes(), compressed)
}

#[tokio::test]
async fn other_tasks_run_while_a_large_body_is_inflated() {
    let (text, compressed) = text(4 << 20).await;
    let stub = Stub::start(move |_, _| answer(200, &[("content-encoding", "gzip")], compressed.clone())).await;
    let request = Request { limit: 8 << 20, ..get("/") };
    let mut body = egress().send(&upstream(&stub.url(), &[]), &request).await.unwrap().body;
    // The longest run of pieces between two of which no other task has run.
    let turns = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&turns);
    let other = tokio::spawn(async move {
        loop {
            counter.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    let (mut read, mut run, mut longest, mut seen) = (0, 0, 0, 0);
    while let Some(piece) = body.next().await {
        let now = turns.load(Ordering::Relaxed);
        run = if now == seen { run } else { 0 } + piece.as_ref().unwrap().len();
        (read, longest, seen) = (read + piece.unwrap().len(), longest.max(run), now);
    }
    other.abort();
    assert_eq!(read, text.len());
    assert!(longest <= 192 << 10, "{longest} bytes were inflated without a pause");
}

#[tokio::test]
async fn a_body_is_charged_before_it_is_held() {
    let (text, compressed) = text(2 << 20).await;
    let stub = Stub::start(move |_, _| answer(200, &[("content-encoding", "gzip")], compressed.clone())).await;
    let memory = MemoryBudget::new(5 << 20);
    let egress = Egress::new(&Settings { memory: memory.clone(), ..Settings::default() }).unwrap();
    let request = Request { limit: 8 << 20, ..get("/") };
    let send = || async { egress.send(&upstream(&stub.url(), &[]), &request).await.unwrap().body };
    let whole = send().await.collect(8 << 20).await.unwrap();
    assert!(whole == text, "the text differs");
    assert_eq!(memory.held(), 2 << 20);
    // The first body leaves 3 MiB, and the second one needs two places while it is moved.
    let other = memory.hold_bytes(vec![0; 1 << 20].into()).unwrap();
    assert_eq!(send().await.collect(8 << 20).await, Err(EgressError::NoMemory));
    drop((whole, other));
    assert_eq!(memory.held(), 0);
}

#[tokio::test]
async fn an_answer_that_is_too_large_by_its_own_account_is_not_begun() {
    let stub = Stub::start(|_, _| ok("12345")).await;
    let error = egress().send(&upstream(&stub.url(), &[]), &Request { limit: 4, ..get("/") }).await.err().unwrap();
    assert_eq!(error, EgressError::TooLarge { limit: 4 });
    assert!(fetch(&egress(), &upstream(&stub.url(), &[]), &Request { limit: 5, ..get("/") }).await.is_ok());
}

/// Sends a head and the beginning of a body, then stalls or hangs up.
async fn halfway(stall: bool) -> std::net::SocketAddr {
    raw(move |_, mut stream| async move {
        let _ = stream.read(&mut [0; 4096]).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf").await.unwrap();
        if stall {
            std::future::pending::<()>().await;
        }
    })
    .await
}

#[tokio::test]
async fn a_body_that_stalls_ends_at_the_deadline() {
    let address = halfway(true).await;
    let request = Request { deadline: Instant::now() + Duration::from_secs(60), ..get("/") };
    let mut body = egress().send(&upstream(&format!("http://{address}"), &[]), &request).await.unwrap().body;
    assert_eq!(body.next().await.unwrap().unwrap(), "half");
    // From here on, the clock moves on when nothing else is to be done.
    tokio::time::pause();
    assert_eq!(body.next().await, Some(Err(EgressError::TimedOut)));
    assert_eq!(body.next().await, Some(Err(EgressError::TimedOut)), "a failed body never looks like a whole one");
}

#[tokio::test]
async fn a_body_that_breaks_off_is_an_error() {
    let address = halfway(false).await;
    let error = fetch(&egress(), &upstream(&format!("http://{address}"), &[]), &get("/")).await.unwrap_err();
    assert!(matches!(&error, EgressError::BadResponse { upstream, .. } if upstream == "api"), "{error}");
}

#[tokio::test]
async fn peeking_leaves_the_body_whole() {
    let stub = Stub::start(|_, _| ok("hello world")).await;
    let mut body = egress().send(&upstream(&stub.url(), &[]), &get("/")).await.unwrap().body;
    assert_eq!(body.peek(5).await.unwrap(), b"hello");
    assert_eq!(body.peek(4096).await.unwrap(), b"hello world");
    assert_eq!(body.size_hint().exact(), Some(11));
    assert!(!body.is_end_stream());
    assert_eq!(body.collect(11).await.unwrap(), "hello world");
}

#[tokio::test]
async fn an_empty_body_is_known_to_be_empty() {
    let stub = Stub::start(|_, _| answer(204, &[], "")).await;
    let mut body = egress().send(&upstream(&stub.url(), &[]), &get("/")).await.unwrap().body;
    assert!(body.is_end_stream());
    assert_eq!(body.peek(10).await.unwrap(), b"");
    assert_eq!(body.next().await, None);
}

#[tokio::test]
async fn a_refusal_by_a_used_up_quota_is_called_a_rate_limit_and_stays_whole() {
    const BODY: &str = r#"{"error": {"errors": [{"reason": "userRateLimitExceeded"}], "message": "Slow down"}}"#;
    let stub = Stub::start(|_, _| answer(403, &[], BODY)).await;
    let response = egress().send(&upstream(&stub.url(), &[]), &get("/")).await.unwrap();
    assert_eq!(response.status.as_u16(), 429);
    assert_eq!(response.body.collect(1000).await.unwrap(), BODY);
}

#[tokio::test]
async fn a_rate_limit_in_the_body_alone_is_called_one_and_no_time_is_made_up() {
    const SHARING: &str = r#"{"error": {"errors": [{"reason": "sharingRateLimitExceeded"}]}}"#;
    const EXHAUSTED: &str = r#"{"error": {"status": "RESOURCE_EXHAUSTED", "details": [
        {"@type": "type.example/rpc.RetryInfo", "retryDelay": "3.5s"}]}}"#;
    for (sent, body, status, retry_after) in [
        (403, SHARING, 429, None),
        (400, EXHAUSTED, 429, Some("4")),
        (403, EXHAUSTED, 429, Some("4")),
        (429, EXHAUSTED, 429, Some("4")),
        (503, EXHAUSTED, 503, Some("4")),
        (404, EXHAUSTED, 404, None),
        (429, "wait", 429, None),
        (403, r#"{"error": {"errors": [{"reason": "forbidden"}]}}"#, 403, None),
    ] {
        let stub = Stub::start(move |_, _| answer(sent, &[], body)).await;
        let response = egress().send(&upstream(&stub.url(), &[]), &request(Method::POST, "/")).await.unwrap();
        let given = response.headers.get("retry-after").map(|value| value.to_str().unwrap());
        assert_eq!((response.status.as_u16(), given), (status, retry_after), "{sent} {body}");
        assert_eq!(response.upstream_status.as_u16(), sent);
    }
}

#[tokio::test]
async fn a_refusal_by_a_rate_limit_is_called_one() {
    let stub = Stub::start(|_, _| answer(403, &[("retry-after", "60")], "wait")).await;
    let response = egress().send(&upstream(&stub.url(), &[]), &get("/")).await.unwrap();
    assert_eq!((response.status.as_u16(), response.headers["retry-after"].as_bytes()), (429, &b"60"[..]));
    assert_eq!(response.body.collect(100).await.unwrap(), "wait");
}

#[tokio::test]
async fn headers_about_the_compressed_form_of_a_body_are_left_out() {
    const SUMS: [&str; 4] = ["content-digest", "content-md5", "digest", "repr-digest"];
    let (text, compressed) = text(1000).await;
    let length = text.len().to_string();
    let stub = Stub::start(move |seen, _| match seen.header("accept-encoding") {
        Some(_) => {
            let headers = SUMS.map(|name| (name, "x"));
            answer(200, &[&headers[..], &[("content-encoding", "gzip")]].concat(), compressed.clone())
        }
        None => answer(200, &[], text.clone()),
    })
    .await;
    let upstream = upstream(&stub.url(), &[]);
    let whole = egress().send(&upstream, &get("/")).await.unwrap();
    for name in SUMS.into_iter().chain(["content-encoding", "content-length"]) {
        assert!(!whole.headers.contains_key(name), "{name}");
    }
    let head = egress().send(&upstream, &request(Method::HEAD, "/")).await.unwrap();
    assert_eq!(head.headers["content-length"], length.as_str());
}

#[tokio::test]
async fn a_response_of_another_protocol_is_an_error_of_the_upstream() {
    let address = raw(|_, mut stream| async move {
        let _ = stream.read(&mut [0; 4096]).await;
        let head = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n";
        stream.write_all(head).await.unwrap();
    })
    .await;
    let error = fetch(&egress(), &upstream(&format!("http://{address}"), &[]), &get("/")).await.unwrap_err();
    assert!(matches!(&error, EgressError::BadResponse { detail, .. } if detail.contains("101")), "{error}");
}
