//! Requests of a caller, and the answers to them.

use std::time::Duration;

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use tokio::time::Instant;

use crate::{MAX_WAIT, runtime};

/// A caller: a base URL, and an API key if the caller has one.
#[derive(Clone)]
pub struct Client {
    base: String,
    key: Option<String>,
    http: reqwest::Client,
}

impl Client {
    /// A client without a key of the server at this base URL.
    ///
    /// # Panics
    /// When the HTTP library cannot be set up.
    pub fn new(base: &str) -> Self {
        Self { base: base.to_owned(), key: None, http: http(|builder| builder) }
    }

    /// Returns the client with an API key.
    #[must_use]
    pub fn with_key(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }

    /// Returns the client with HTTP/2 from the first byte of a connection (prior knowledge).
    ///
    /// # Panics
    /// When the HTTP library cannot be set up.
    #[must_use]
    pub fn over_http2(mut self) -> Self {
        self.http = http(reqwest::ClientBuilder::http2_prior_knowledge);
        self
    }

    /// Returns the client with these settings of TLS.
    ///
    /// # Panics
    /// When the HTTP library cannot be set up.
    #[must_use]
    pub fn over_tls(mut self, settings: rustls::ClientConfig) -> Self {
        self.http = http(|builder| builder.tls_backend_preconfigured(settings));
        self
    }

    /// Returns the client without an API key.
    #[must_use]
    pub fn without_key(mut self) -> Self {
        self.key = None;
        self
    }

    /// Returns the client with redirects not followed but returned.
    ///
    /// # Panics
    /// When the HTTP library cannot be set up.
    #[must_use]
    pub fn without_redirects(mut self) -> Self {
        self.http = http(|builder| builder.redirect(reqwest::redirect::Policy::none()));
        self
    }

    /// Returns the client with another base URL. Both share their connections.
    #[must_use]
    pub fn at(&self, base: &str) -> Self {
        Self { base: base.to_owned(), ..self.clone() }
    }

    /// The client's API key; empty if it has none.
    pub fn key(&self) -> &str {
        self.key.as_deref().unwrap_or_default()
    }

    /// A request that can still be added to. Its key is the client's.
    ///
    /// # Panics
    /// When the method is not valid.
    pub fn request(&self, method: &str, path: &str) -> Call {
        let url = format!("{}{path}", self.base);
        let mut request = self.http.request(Method::from_bytes(method.as_bytes()).unwrap(), url);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key);
        }
        Call { request }
    }

    /// GET.
    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", path).send()
    }

    /// DELETE.
    pub fn delete(&self, path: &str) -> Answer {
        self.request("DELETE", path).send()
    }

    /// POST of a JSON document.
    #[expect(clippy::needless_pass_by_value, reason = "so that a test can pass json!({…})")]
    pub fn post(&self, path: &str, body: Value) -> Answer {
        self.request("POST", path).json(&body).send()
    }

    /// Begins a POST of a JSON document; [`Pending::wait`] returns the answer.
    #[expect(clippy::needless_pass_by_value, reason = "so that a test can pass json!({…})")]
    pub fn begin(&self, path: &str, body: Value) -> Pending {
        self.request("POST", path).json(&body).begin()
    }

    /// Calls an operation: POST /connectors/{operation}.
    pub fn call(&self, operation: &str, body: Value) -> Answer {
        self.post(&format!("/connectors/{operation}"), body)
    }
}

pub(crate) fn http(configure: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder) -> reqwest::Client {
    // No root certificates: nearly every server is on loopback, without TLS.
    let tls = rustls::ClientConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    // Bodies as they were sent: a test that wants a compressed one requests it.
    let builder = reqwest::Client::builder().tls_backend_preconfigured(tls).no_proxy().no_gzip();
    // Shorter than the 5 s of the soak's gateways. A request that is sent just as the other side
    // closes gets no answer.
    let builder = builder.pool_idle_timeout(Duration::from_secs(4));
    // A test that gets no answer fails after this time.
    let builder = builder.read_timeout(2 * MAX_WAIT);
    configure(builder).build().unwrap()
}

/// A request that can still be added to.
#[must_use]
pub struct Call {
    request: reqwest::RequestBuilder,
}

impl Call {
    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.request = self.request.header(
            HeaderName::from_bytes(name.as_bytes()).expect("a header's name"),
            HeaderValue::from_str(value).expect("a header's value"),
        );
        self
    }

    /// Sets the body, without a content type.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.request = self.request.body(body.into());
        self
    }

    /// Sets the body, without a content type and without a declared length.
    pub fn chunked(mut self, body: impl Into<Bytes>) -> Self {
        let piece = futures_util::stream::iter([Ok::<_, std::io::Error>(body.into())]);
        self.request = self.request.body(reqwest::Body::wrap_stream(piece));
        self
    }

    /// Sets the body to a JSON document.
    pub fn json(self, body: &Value) -> Self {
        self.header("content-type", "application/json").body(body.to_string())
    }

    /// Sends the request and waits for the answer.
    ///
    /// # Panics
    /// When no answer comes.
    pub fn send(self) -> Answer {
        self.try_send().unwrap_or_else(|error| panic!("no answer: {error:?}"))
    }

    /// Sends the request and waits for the answer.
    ///
    /// # Errors
    /// When no answer comes, or only a part of one.
    pub fn try_send(self) -> Result<Answer, reqwest::Error> {
        runtime().block_on(self.run())
    }

    /// Sends the request, and reads the answer event by event.
    ///
    /// # Panics
    /// When no answer comes.
    pub fn events(self) -> Events {
        let response = runtime().block_on(async { self.request.send().await });
        let response = response.unwrap_or_else(|error| panic!("no answer: {error:?}"));
        Events { response, read: String::new() }
    }

    /// Sends the request in the background.
    pub fn begin(self) -> Pending {
        Pending { task: runtime().spawn(self.run()) }
    }

    pub(crate) async fn run(self) -> Result<Answer, reqwest::Error> {
        let response = self.request.send().await?;
        let status = response.status().as_u16();
        let version = response.version();
        let headers = response.headers().clone();
        Ok(Answer { status, version, headers, body: response.bytes().await? })
    }
}

/// An answer that is a stream of events. Dropping it closes the connection.
pub struct Events {
    response: reqwest::Response,
    read: String,
}

impl Events {
    /// HTTP status.
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// The value of a header; empty if the header is absent.
    pub fn header(&self, name: &str) -> &str {
        self.response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The data of the next event, without comments. `None` at the end.
    ///
    /// # Panics
    /// When the stream breaks off, or no event comes for four minutes.
    #[expect(clippy::should_implement_trait, reason = "an iterator would hide that this waits")]
    pub fn next(&mut self) -> Option<Value> {
        // A stream sends comments while it has no event, so the whole wait has one limit.
        let deadline = Instant::now() + MAX_WAIT;
        loop {
            while let Some((event, rest)) = self.read.split_once("\n\n") {
                let data: String = event.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
                self.read = rest.to_owned();
                if !data.is_empty() {
                    return Some(serde_json::from_str(&data).unwrap_or_else(|error| panic!("{error} in {data}")));
                }
            }
            let piece = async { tokio::time::timeout_at(deadline, self.response.chunk()).await };
            let piece = runtime().block_on(piece).expect("an event").expect("a stream that does not break off")?;
            self.read.push_str(&String::from_utf8_lossy(&piece));
        }
    }
}

/// A request that was sent in the background.
#[must_use]
pub struct Pending {
    task: tokio::task::JoinHandle<Result<Answer, reqwest::Error>>,
}

impl Pending {
    /// Waits for the answer.
    ///
    /// # Panics
    /// When no answer comes.
    pub fn wait(self) -> Answer {
        self.try_wait().unwrap_or_else(|error| panic!("no answer: {error:?}"))
    }

    /// Waits for the answer.
    ///
    /// # Errors
    /// When no answer comes, or only a part of one.
    ///
    /// # Panics
    /// Never: nothing cancels the request.
    pub fn try_wait(self) -> Result<Answer, reqwest::Error> {
        runtime().block_on(self.task).unwrap()
    }

    /// Closes the connection without waiting for the answer.
    pub fn give_up(self) {
        self.task.abort();
    }

    /// Returns `true` when the answer has come.
    pub fn is_done(&self) -> bool {
        self.task.is_finished()
    }
}

/// A whole response.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// HTTP version.
    pub version: reqwest::Version,
    /// Headers.
    pub headers: HeaderMap,
    /// Body, byte for byte.
    pub body: Bytes,
}

impl Answer {
    /// The value of a header; empty if the header is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// When it is not JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error} in the answer of status {}: {}", self.status, self.text()))
    }

    /// The JSON body of a success.
    ///
    /// # Panics
    /// When the status is not 200.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        self.json()
    }

    /// The JSON body of a problem of this status and kind.
    ///
    /// # Panics
    /// When the answer has another status or kind, or lacks a member or header that every problem
    /// has.
    #[track_caller]
    pub fn problem(&self, status: u16, kind: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), "application/problem+json");
        let source = self.header("x-error-source");
        assert!(["gateway", "connector", "upstream"].contains(&source), "X-Error-Source: {source}");
        let problem = self.json();
        assert_eq!(problem["type"], format!("urn:connector-gateway:problem:{kind}"), "{problem}");
        assert_eq!(problem["status"], status, "{problem}");
        assert_eq!(problem["instance"], self.header("x-request-id"), "{problem}");
        for member in ["title", "detail"] {
            assert!(problem[member].as_str().is_some_and(|text| !text.is_empty()), "{member} in {problem}");
        }
        let owner = problem["owner"].as_str().unwrap_or_default();
        assert!(["caller", "user", "operator", "connector", "provider"].contains(&owner), "{problem}");
        assert!(problem["retryable"].is_boolean(), "{problem}");
        problem
    }

    /// The violations of a validation problem, each as pointer and sentence.
    ///
    /// # Panics
    /// When the answer is not a validation problem.
    #[track_caller]
    pub fn violations(&self) -> Vec<(String, String)> {
        let problem = self.problem(422, "validation");
        let text = |value: &Value| value.as_str().expect("a violation is text").to_owned();
        let errors = problem["errors"].as_array().expect("`errors` is a list");
        errors.iter().map(|error| (text(&error["pointer"]), text(&error["detail"]))).collect()
    }
}
