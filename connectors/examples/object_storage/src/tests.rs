//! The operations, with prepared responses of S3.

use connector_sdk::testing::{Answer, Gateway, forwarded, invoke, refused};
use connector_sdk::{Fault, Outcome};

use crate::CONNECTOR;

const PAGE: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>sea</Name><KeyCount>2</KeyCount>
<EncodingType>url</EncodingType>
<NextContinuationToken>1ue+A&amp;/b==</NextContinuationToken>
<Contents><Key>photos/a+b%C3%BC.png</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified>
<ETag>&quot;70ee&quot;</ETag><Size>434234</Size><StorageClass>STANDARD</StorageClass></Contents>
<CommonPrefixes><Prefix>photos/2026/</Prefix></CommonPrefixes></ListBucketResult>"#;

fn reply(outcome: Result<Outcome, Fault>) -> String {
    match outcome {
        Ok(Outcome::Reply(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_list_becomes_json() {
    let gateway = Gateway::new().answer(Answer::new(200, PAGE));
    let answer = reply(invoke(&CONNECTOR, "list", r#"{"prefix": "photos/", "max_keys": 2}"#));
    assert_eq!(
        answer,
        r#"{"objects":[{"key":"photos/a bü.png","size":434234,"etag":"70ee","last_modified":"2026-01-02T03:04:05.000Z","storage_class":"STANDARD"}],"prefixes":["photos/2026/"],"next":"1ue+A&/b=="}"#
    );
    assert_eq!(gateway.requests()[0].path, "?list-type=2&encoding-type=url&prefix=photos%2F&max-keys=2");
}

#[test]
fn keys_of_a_service_that_does_not_encode_them_stay() {
    let page = "<ListBucketResult><Contents><Key>a+b%41.png</Key></Contents><CommonPrefixes><Prefix>c+d/</Prefix>\
                </CommonPrefixes></ListBucketResult>";
    let _gateway = Gateway::new().answer(Answer::new(200, page));
    let answer = reply(invoke(&CONNECTOR, "list", r#"{"delimiter": "/"}"#));
    assert!(answer.contains(r#""key":"a+b%41.png""#) && answer.contains(r#""prefixes":["c+d/"]"#), "{answer}");
}

#[test]
fn the_time_that_the_service_wants_to_wait_is_passed_on() {
    let slow = "<Error><Code>SlowDown</Code><Message>Please reduce your request rate</Message></Error>";
    let _gateway = Gateway::new().answer(Answer::new(503, slow).header("Retry-After", "7"));
    let Err(Fault::Upstream(fault)) = invoke(&CONNECTOR, "list", "{}") else { panic!("a refusal") };
    assert_eq!((fault.status, fault.retry_after_seconds), (503, Some(7)));
}

#[test]
fn an_error_of_the_service_is_explained() {
    let xml = "<Error><Code>NoSuchBucket</Code><Message>There is no such bucket</Message></Error>";
    for (body, words) in [(xml, "NoSuchBucket: There is no such bucket"), ("<html/>", "refused the request")] {
        let _gateway = Gateway::new().answer(Answer::new(404, body));
        let Err(Fault::Upstream(fault)) = invoke(&CONNECTOR, "list", "{}") else { panic!("{body}") };
        assert!(fault.status == 404 && fault.detail.contains(words), "{}", fault.detail);
    }
    let _gateway = Gateway::new().answer(Answer::new(200, &PAGE.as_bytes()[..300]));
    assert!(matches!(invoke(&CONNECTOR, "list", "{}"), Err(Fault::Upstream(fault)) if fault.status == 502));
}

#[test]
fn objects_are_read_stored_and_linked() {
    let request = forwarded(&CONNECTOR, "get", r#"{"key": "a/b c"}"#);
    assert_eq!(request.path, "/a/b%20c");

    let gateway = Gateway::new().answer(Answer::new(200, "").header("etag", "\"1\""));
    let input = r#"{"key": "notes/hello.txt", "content_base64": "aGVsbG8=", "content_type": "text/plain"}"#;
    let answer = reply(invoke(&CONNECTOR, "put", input));
    assert_eq!(answer, r#"{"key":"notes/hello.txt","etag":"\"1\"","version_id":null}"#);
    assert_eq!(gateway.requests()[0].path, "/notes/hello.txt");
    assert_eq!(refused(&CONNECTOR, "put", r#"{"key": "a", "content_base64": "?"}"#)[0].pointer, "/content_base64");
    assert_eq!(refused(&CONNECTOR, "put", r#"{"key": "../a", "content_base64": ""}"#)[0].pointer, "/key");

    let link = reply(invoke(&CONNECTOR, "link", r#"{"key": "a/b", "seconds": 60, "upload": true}"#));
    assert_eq!(link, r#"{"url":"https://api.test/a/b?method=put&seconds=60","expires_in":60}"#);
}
