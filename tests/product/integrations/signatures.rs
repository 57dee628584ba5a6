//! Requests that are signed with the secret of an account. A stand-in computes the signatures anew,
//! and no one but the gateway sees the secret.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use serde_json::{Value, json};
use support::signatures::{KEY_ID, SECRET, is_signed_by_hmac, is_signed_for_s3, is_signed_link_of_s3};
use support::{Answer, Client, Gateway, Reply, Seen, Setup, Store, Upstream, module, wait_for};

use super::{client, on_each_store};

on_each_store!(requests_to_s3_are_signed_and_no_one_sees_the_secret);

/// A service that refuses requests without a good signature, and shows what it was sent.
fn service(is_signed: impl Fn(&Seen) -> bool + Send + Sync + 'static) -> Upstream {
    let service = Upstream::start();
    service.on("*", move |seen| match is_signed(seen) {
        true => {
            let headers: Vec<Value> = seen
                .headers
                .iter()
                .map(|(name, value)| json!([name.as_str(), String::from_utf8_lossy(value.as_bytes())]))
                .collect();
            Reply::json(json!({"path": seen.path, "query": seen.query, "size": seen.body.len(), "headers": headers}))
        }
        false => Reply::json(json!({"error": "SignatureDoesNotMatch"})).status(403),
    });
    service
}

fn gateway(store: &Store, service: &Upstream, addition: &Value, address: &Value) -> Gateway {
    let document = json!({
        "identifier": "account", "auth": "api_key", "placement": "signature", "check": "whoami", "additions": [addition],
        "base_url": "https://api.example/{region}", "address": address,
    });
    let setup = Setup::new().on(store).general("log = \"trace\"").config("[calls]\nkeep = \"all\"");
    setup.module("account", module::account(&document)).upstream("account", "api", &service.url()).start()
}

fn connect(client: &Client, credentials: &Value, address: Value) -> Answer {
    let mut init = json!({"auth_type": "api_key", "credentials": credentials, "user_identifier": "mine"});
    if !address.is_null() {
        init["address"] = address;
    }
    client.post("/connectors/account/integrations", init)
}

/// Connects an account in the region of the stand-in.
fn connect_in_region(client: &Client, credentials: &Value) -> Answer {
    connect(client, credentials, json!({"region": "eu-test-1"}))
}

fn aws(secret: &str) -> Value {
    json!({"access_key_id": KEY_ID, "secret_access_key": secret})
}

fn requests_to_s3_are_signed_and_no_one_sees_the_secret(store: &Store) {
    let service = service(|seen| match seen.query.contains("X-Amz-Signature") {
        true => is_signed_link_of_s3(seen, "eu-test-1"),
        false => is_signed_for_s3(seen, "eu-test-1"),
    });
    let addition = json!({"is": "aws_signature", "service": "s3", "part": "region"});
    let gateway = gateway(store, &service, &addition, &json!([{"name": "region", "form": "label"}]));
    let user = client(&gateway, "default", None, "operate,integrate,proxy");

    let schema = user.get("/connectors/account/auth-schema").ok();
    let credentials = &schema["auth_types"][0]["schema"]["properties"]["credentials"];
    assert_eq!(credentials["required"], json!(["access_key_id", "secret_access_key"]), "{schema}");
    assert_eq!(credentials["properties"]["secret_access_key"]["writeOnly"], true);
    let wrong = json!({"api_key": "an-ordinary-api-key"});
    let violations = connect_in_region(&user, &wrong).violations();
    assert!(violations.iter().any(|(pointer, _)| pointer == "/credentials/access_key_id"), "{violations:?}");
    let (id, secret) = ("/credentials/access_key_id", "/credentials/secret_access_key");
    assert_eq!(
        connect_in_region(&user, &json!({"access_key_id": "a b", "secret_access_key": SECRET})).violations()[0].0,
        id
    );
    assert_eq!(connect_in_region(&user, &aws("short")).violations()[0].0, secret);
    let refused = connect_in_region(&user, &aws("another-secret-of-someone"));
    assert!(refused.status >= 400, "the service refuses the signature: {}", refused.text());
    let connected = connect_in_region(&user, &aws(SECRET));
    assert_eq!(connected.ok()["auth_type"], "api_key");

    // Odd characters are the same for both sides, and a body is part of the signature.
    let mut answers = vec![connected.text()];
    for input in [
        json!({"path": "/bucket/a%20b/%C3%BC+c(1)'!*.txt"}),
        json!({"path": "/bucket?list-type=2&prefix=a%2Fb&delimiter=%2F&empty"}),
        json!({"path": "/bucket?prefix=a+b&A=1&a=2"}),
        json!({"path": "/bucket//double/", "method": "PUT", "body": "{\"a\": 1}"}),
        json!({"path": "", "method": "DELETE"}),
    ] {
        for operation in ["forward", "composed"] {
            let answer = user.call(&format!("account/{operation}"), input.clone());
            assert_eq!(answer.status, 200, "{input}: {}", answer.text());
            assert!(!answer.text().contains("SignatureDoesNotMatch"), "{input}: {}", answer.text());
            let sent = service.seen().pop().unwrap().header("authorization").to_owned();
            let signature = sent.split("Signature=").nth(1).unwrap();
            assert!(!answer.text().contains(signature), "the service shows the signature: {}", answer.text());
            answers.push(answer.text());
        }
    }
    let call = user.request("PUT", "/proxy/account/api/bucket/x").header("content-type", "text/plain").body("hello");
    let proxied = call.send();
    assert_eq!(proxied.ok()["size"], 5);
    answers.push(proxied.text());

    let linked = user.call("account/signed_link", json!({"path": "/bucket/a%20b.txt?versionId=1", "count": 60}));
    let link = linked.ok()["link"].as_str().unwrap().to_owned();
    assert!(link.starts_with(&format!("{}/bucket/a%20b.txt?versionId=1&X-Amz-Algorithm=", service.url())), "{link}");
    assert_eq!(status_of(&link), 200, "{link}");
    assert_eq!(status_of(&link.replace("versionId=1", "versionId=2")), 403);
    answers.push(linked.text());
    for (input, words) in [
        (json!({"path": "/a", "count": 604_801}), "1 to 604800 seconds"),
        (json!({"path": "/a", "count": 0}), "1 to 604800 seconds"),
        (json!({"path": "/a", "upstream": "other"}), "links need a connector that declares"),
    ] {
        let answer = user.call("account/signed_link", input);
        assert_eq!(answer.status, 500);
        wait_for(words, || (logged(&gateway).contains(words) || answer.text().contains(words)).then_some(()));
    }
    let climbs = user.call("account/signed_link", json!({"path": "/../a"}));
    assert_eq!(climbs.violations()[0].0, "/path");
    for path in ["/integrations", "/connectors/account/integrations/mine", "/calls"] {
        answers.push(gateway.client().get(path).text());
    }
    answers.push(logged(&gateway));
    for text in &answers {
        assert!(!text.contains(SECRET) && !text.contains(&support::encoding::percent(SECRET)), "{text}");
    }
    for seen in service.seen() {
        assert!(!format!("{seen:?}").contains(SECRET));
    }
}

/// All lines of the log.
fn logged(gateway: &Gateway) -> String {
    json!(gateway.log()).to_string()
}

/// The status of a request by someone without an account.
fn status_of(url: &str) -> u16 {
    support::oauth::browser::open(url).status
}

#[test]
fn requests_are_signed_by_the_hmac_that_a_connector_declares() {
    let service = service(is_signed_by_hmac);
    let addition = json!({"is": "hmac_signature"});
    let gateway = gateway(&Store::Sqlite, &service, &addition, &json!([{"name": "region", "form": "label"}]));
    let user = client(&gateway, "default", None, "operate,integrate,proxy");
    let keys = |secret: &str| json!({"key_id": KEY_ID, "secret": secret});
    assert!(connect(&user, &keys("another-secret-of-someone"), Value::Null).status >= 400);
    assert_eq!(connect(&user, &json!({"secret": SECRET}), Value::Null).violations()[0].0, "/credentials/key_id");
    connect(&user, &keys(SECRET), Value::Null).ok();
    for input in [json!({"path": "/a?b=c"}), json!({"path": "/a", "method": "POST", "body": "{\"a\": 1}"})] {
        service.take_seen();
        let answer = user.call("account/forward", input);
        assert_eq!(answer.status, 200);
        let sent = service.seen()[0].header("authorization").to_owned();
        let signature = sent.trim_end_matches('=').rsplit([':', '=', ' ']).next().unwrap();
        assert!(signature.len() > 20 && answer.text().contains("authorization"), "{}", answer.text());
        assert!(!answer.text().contains(signature), "the service shows the signature: {}", answer.text());
    }
    user.request("POST", "/proxy/account/api/x?y").header("content-type", "text/plain").body("hello").send().ok();
    let answer = user.call("account/signed_link", json!({"path": "/a"}));
    assert_eq!(answer.status, 500, "{}", answer.text());
    assert!(!logged(&gateway).contains(SECRET));
}

/// A bucket that keeps objects, and takes signed requests only.
fn bucket() -> Upstream {
    let objects = Mutex::new(BTreeMap::<String, Vec<u8>>::new());
    let service = Upstream::start();
    service.on("*", move |seen| {
        let is_signed = match seen.query.contains("X-Amz-Signature") {
            true => is_signed_link_of_s3(seen, "eu-test-1"),
            false => is_signed_for_s3(seen, "eu-test-1"),
        };
        let mut objects = objects.lock();
        let key = seen.path.strip_prefix("/sea").unwrap_or_default().trim_start_matches('/').to_owned();
        match (is_signed, seen.method.as_str()) {
            (false, _) => Reply::typed(
                "application/xml",
                "<Error><Code>SignatureDoesNotMatch</Code><Message>no</Message></Error>",
            )
            .status(403),
            (true, "PUT") => {
                objects.insert(key, seen.body.to_vec());
                Reply::typed("application/xml", "").header("etag", "\"1\"")
            }
            (true, _) if key.is_empty() => {
                let entry = |(key, body): (&String, &Vec<u8>)| {
                    format!("<Contents><Key>{key}</Key><Size>{}</Size></Contents>", body.len())
                };
                let entries: String = objects.iter().map(entry).collect();
                Reply::typed(
                    "application/xml",
                    format!("<ListBucketResult><EncodingType>url</EncodingType>{entries}</ListBucketResult>"),
                )
            }
            (true, _) => match objects.get(&key) {
                Some(body) => Reply::typed("text/plain", body.clone()),
                None => Reply::typed("application/xml", "<Error><Code>NoSuchKey</Code></Error>").status(404),
            },
        }
    });
    service
}

#[test]
fn the_example_for_s3_lists_stores_reads_and_links_objects() {
    let service = bucket();
    let url = format!("{}/{{bucket}}", service.url());
    let setup = Setup::new().module("object_storage", module::guest("object_storage"));
    let gateway = setup.upstream("object_storage", "api", &url).start();
    let user = gateway.client();
    let connect = |secret: &str| {
        let address = json!({"region": "eu-test-1", "bucket": "sea"});
        let init =
            json!({"auth_type": "api_key", "credentials": aws(secret), "user_identifier": "mine", "address": address});
        user.post("/connectors/object_storage/integrations", init)
    };
    let refused = connect("another-secret-of-someone");
    assert_eq!(refused.violations()[0].0, "/credentials");
    connect(SECRET).ok();
    let put = json!({"key": "notes/a b.txt", "content_base64": "aGVsbG8=", "content_type": "text/plain"});
    assert_eq!(user.call("object_storage/put", put).ok()["etag"], "\"1\"");
    let listed = user.call("object_storage/list", json!({"prefix": "notes/"})).ok();
    assert_eq!(listed["objects"][0]["key"], "notes/a b.txt", "{listed}");
    let got = user.call("object_storage/get", json!({"key": "notes/a b.txt"})).ok();
    assert_eq!(got["content_base64"], "aGVsbG8=", "{got}");
    let another = user.call("object_storage/get", json!({"key": "/notes/a b.txt"}));
    assert_eq!(another.violations()[0].0, "/key", "the object of the key without the slash is another one");
    let linked = user.call("object_storage/link", json!({"key": "notes/a b.txt", "seconds": 60})).ok();
    let answer = support::oauth::browser::open(linked["url"].as_str().unwrap());
    assert_eq!((answer.status, answer.text().as_str()), (200, "hello"));
    assert!(user.call("object_storage/get", json!({"key": "none"})).status == 404);
}
