//! Requests as a caller makes them.

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use crate::runtime;

/// Who calls, and where.
#[derive(Clone)]
pub struct Client {
    base: String,
    key: Option<String>,
    http: reqwest::Client,
}

impl Client {
    /// A client of the server at this base URL, without a key.
    ///
    /// # Panics
    /// When the HTTP library cannot be set up.
    pub fn new(base: &str) -> Self {
        Self { base: base.to_owned(), key: None, http: http(|builder| builder) }
    }

    /// The same with an API key.
    #[must_use]
    pub fn with_key(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }

    /// The same over HTTP/2 from the first byte on.
    ///
    /// # Panics
    /// When the HTTP library cannot be set up.
    #[must_use]
    pub fn over_http2(mut self) -> Self {
        self.http = http(reqwest::ClientBuilder::http2_prior_knowledge);
        self
    }

    /// The same that shows redirects rather than follow them.
    ///
    /// # Panics
    /// When the HTTP library cannot be set up.
    #[must_use]
    pub fn without_redirects(mut self) -> Self {
        self.http = http(|builder| builder.redirect(reqwest::redirect::Policy::none()));
        self
    }

    /// The same at another base URL.
    #[must_use]
    pub fn at(&self, base: &str) -> Self {
        Self { base: base.to_owned(), ..self.clone() }
    }

    /// A request to be completed.
    ///
    /// # Panics
    /// When the method is none.
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
    #[expect(clippy::needless_pass_by_value, reason = "so that tests write json!({…}) where it is used")]
    pub fn post(&self, path: &str, body: Value) -> Answer {
        self.request("POST", path).json(&body).send()
    }

    /// POST of a JSON document, begun now; [`Pending::wait`] gives the answer.
    #[expect(clippy::needless_pass_by_value, reason = "so that tests write json!({…}) where it is used")]
    pub fn begin(&self, path: &str, body: Value) -> Pending {
        self.request("POST", path).json(&body).begin()
    }

    /// Calls an operation: POST /connectors/{operation}.
    pub fn call(&self, operation: &str, body: Value) -> Answer {
        self.post(&format!("/connectors/{operation}"), body)
    }
}

fn http(configure: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder) -> reqwest::Client {
    // No certificate is ever checked: everything is on loopback, without TLS.
    let tls = rustls::ClientConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let builder = reqwest::Client::builder().tls_backend_preconfigured(tls).no_proxy();
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

    /// Sends these bytes, of no declared type.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.request = self.request.body(body.into());
        self
    }

    /// Sends these bytes without saying how many they are.
    pub fn chunked(mut self, body: impl Into<Bytes>) -> Self {
        let piece = futures_util::stream::iter([Ok::<_, std::io::Error>(body.into())]);
        self.request = self.request.body(reqwest::Body::wrap_stream(piece));
        self
    }

    /// Sends a JSON document.
    pub fn json(self, body: &Value) -> Self {
        self.header("content-type", "application/json").body(body.to_string())
    }

    /// Sends it.
    ///
    /// # Panics
    /// When there is no answer.
    pub fn send(self) -> Answer {
        self.try_send().unwrap_or_else(|error| panic!("no answer: {error:?}"))
    }

    /// Sends it.
    ///
    /// # Errors
    /// When there is no answer, or not a whole one.
    pub fn try_send(self) -> Result<Answer, reqwest::Error> {
        runtime().block_on(self.run())
    }

    /// Begins to send it.
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

/// A request under way.
#[must_use]
pub struct Pending {
    task: tokio::task::JoinHandle<Result<Answer, reqwest::Error>>,
}

impl Pending {
    /// Waits for its answer.
    ///
    /// # Panics
    /// When there is none.
    pub fn wait(self) -> Answer {
        self.try_wait().unwrap_or_else(|error| panic!("no answer: {error:?}"))
    }

    /// Waits for its answer.
    ///
    /// # Errors
    /// When there is none, or not a whole one.
    ///
    /// # Panics
    /// When the request was cancelled, which nothing does.
    pub fn try_wait(self) -> Result<Answer, reqwest::Error> {
        runtime().block_on(self.task).unwrap()
    }

    /// Goes away without waiting for the answer.
    pub fn give_up(self) {
        self.task.abort();
    }

    /// Whether there is an answer.
    pub fn is_done(&self) -> bool {
        self.task.is_finished()
    }
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// HTTP version.
    pub version: reqwest::Version,
    /// Headers.
    pub headers: HeaderMap,
    /// Body, as it came.
    pub body: Bytes,
}

impl Answer {
    /// A header; empty when it is absent.
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
    /// When it is not.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error} in the answer of status {}: {}", self.status, self.text()))
    }

    /// The body of an answer that is expected to be good.
    ///
    /// # Panics
    /// When it is not.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        self.json()
    }

    /// The body of an answer that is expected to be a problem of this status and kind.
    ///
    /// # Panics
    /// When it is another, or lacks what every problem has.
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

    /// The violations of an answer that is expected to be a validation problem: pointers with their sentences.
    ///
    /// # Panics
    /// When it is something else.
    #[track_caller]
    pub fn violations(&self) -> Vec<(String, String)> {
        let problem = self.problem(422, "validation");
        let text = |value: &Value| value.as_str().expect("a violation is text").to_owned();
        let errors = problem["errors"].as_array().expect("`errors` is a list");
        errors.iter().map(|error| (text(&error["pointer"]), text(&error["detail"]))).collect()
    }
}
