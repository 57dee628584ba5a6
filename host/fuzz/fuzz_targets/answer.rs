//! Fuzzes the answer of an upstream: its status line, headers and body, as they come over a
//! connection. Reading it must never panic. The credential must be in no header, body, link or
//! error.
//!
//! The input is the whole answer. `TOKEN` in it stands for the credential that the request carried.

#![no_main]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use egress::{
    Credential, CredentialUse, Egress, Lookup, Request, Settings, Target, Upstream, UpstreamSettings, retry_after,
};
use hyper::Method;
use libfuzzer_sys::fuzz_target;
use parking_lot::Mutex;
use tokio::runtime::Runtime;
use tokio::time::Instant;

/// An address of loopback at which nothing else listens, because an answer may redirect to any
/// port.
const HOST: &str = "127.87.65.43";

const TOKEN: &str = "tok-3f/9+A~secret";

/// Largest body in bytes.
const LIMIT: u64 = 64 << 10;

/// The answer of the upstream to every request.
static ANSWER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Place {
    runtime: Runtime,
    egress: Egress,
    upstream: Upstream,
}

static PLACE: LazyLock<Place> = LazyLock::new(|| {
    let listener = TcpListener::bind((HOST, 0)).expect("the address is one of loopback");
    let port = listener.local_addr().expect("it listens").port();
    thread::spawn(move || answer_all(&listener));
    let lookup: Lookup = Arc::new(|_| Box::pin(async { Ok(vec![SocketAddr::from(([127, 87, 65, 43], 0))]) }));
    let settings = Settings { lookup, ..Settings::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let entered = runtime.enter();
    let egress = Egress::new(&settings).expect("the settings are valid");
    let hosts = vec![format!("home.test:{port}"), "*.other.test".to_owned()];
    let upstream = Upstream::new(UpstreamSettings {
        name: "api".to_owned(),
        base_url: format!("http://home.test:{port}/base"),
        credential: CredentialUse::Standard,
        granted_hosts: hosts.clone(),
        link_hosts: hosts,
        allow_private_network: true,
        ..UpstreamSettings::default()
    });
    drop(entered);
    Place { runtime, egress, upstream: upstream.expect("the settings are valid") }
});

/// Answers each connection once, and closes it.
fn answer_all(listener: &TcpListener) {
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { continue };
        let (mut request, mut piece) = (Vec::<u8>::new(), [0; 1024]);
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            match stream.read(&mut piece) {
                Ok(length) if length > 0 => request.extend(&piece[..length]),
                _ => break,
            }
        }
        let answer = ANSWER.lock().clone();
        // The reader may close the connection early.
        let _ = stream.write_all(&answer);
    }
}

fuzz_target!(|input: &[u8]| {
    *ANSWER.lock() = with_token(input);
    let Place { runtime, egress, upstream } = &*PLACE;
    runtime.block_on(read(egress, upstream));
});

fn with_token(input: &[u8]) -> Vec<u8> {
    let mut answer = Vec::with_capacity(input.len());
    let mut rest = input;
    while let Some(at) = rest.windows(5).position(|window| window == b"TOKEN") {
        answer.extend([&rest[..at], TOKEN.as_bytes()].concat());
        rest = &rest[at + 5..];
    }
    [answer.as_slice(), rest].concat()
}

async fn read(egress: &Egress, upstream: &Upstream) {
    let credential = Credential::bearer(TOKEN.into()).expect("the token is valid");
    let (target, deadline) = (Target::Path("/path".to_owned()), Instant::now() + Duration::from_millis(200));
    // A POST is not retried.
    let request =
        Request { credential: Some(credential.clone()), ..Request::new(Method::POST, target, deadline, LIMIT) };
    let response = match egress.send(upstream, &request).await {
        Ok(response) => response,
        Err(error) => return assert_clean(error.to_string().as_bytes()),
    };
    assert_clean(response.url().as_str().as_bytes());
    let _ = retry_after(&response.headers);
    for value in response.headers.values() {
        assert_clean(value.as_bytes());
        if let Ok(text) = value.to_str() {
            match upstream.link(&response.url(), text, Some(&credential)) {
                Ok(_) => {}
                Err(error) => assert_clean(error.to_string().as_bytes()),
            }
        }
    }
    match response.body.collect(LIMIT).await {
        Ok(body) => {
            assert!(body.len() as u64 <= LIMIT, "{} bytes", body.len());
            assert_clean(&body);
        }
        Err(error) => assert_clean(error.to_string().as_bytes()),
    }
}

fn assert_clean(text: &[u8]) {
    let found = text.windows(TOKEN.len()).any(|window| window == TOKEN.as_bytes());
    assert!(!found, "the credential is in {:?}", String::from_utf8_lossy(text));
}
