//! A running gateway, by its admin routes.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use connector_gateway::gateway_records::ServiceConnectorsRecord;
use connector_gateway::records::{ChangeRecord, ConnectorsRecord, GrantRecord, InstalledRecord, VersionRecord};
use connector_gateway::{Installation, SIGNATURE};
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue, IF_MATCH};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use secrecy::SecretString;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

use super::client::{client_for, unreachable};
use super::{Gateways, InService, ModuleChange};
use egress::bearer_header;

/// The `type` of the problem of a route that the gateway does not have at this address.
const NOT_FOUND: &str = "urn:connector-gateway:problem:not-found";

/// The `type` of the problem of a key that may list connectors, and not what gateways serve.
const MISSING_SCOPE: &str = "urn:connector-gateway:problem:missing-scope";

/// Entries in a page of a list.
const PAGE: &str = "200";

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Why a running gateway did not do what the command requested.
#[derive(Debug, Error)]
pub enum RemoteError {
    /// There is no key.
    #[error(
        "a key of the gateway with the scope `admin` is missing; set GATEWAY_KEY, or name a file that has it with --key-file"
    )]
    NoKey,
    /// The key cannot be sent.
    #[error(
        "the key is empty, or has characters that a header cannot have; give it as `connector-gateway keys create` printed it"
    )]
    Key,
    /// The client certificate cannot be used.
    #[error("the client certificate in {} cannot be used: {reason}; the file has the certificate and its key, both as PEM", file.display())]
    ClientCertificate {
        /// The file.
        file: PathBuf,
        /// The cause.
        reason: String,
    },
    /// The gateway does not respond.
    #[error("the gateway at {url} does not answer: {reason}")]
    Unreachable {
        /// The gateway.
        url: Url,
        /// The cause.
        reason: String,
    },
    /// The gateway refused.
    #[error(transparent)]
    Problem(Box<Refusal>),
    /// The response is not one of a gateway.
    #[error("{url} answered {status}, and not as a Connector Gateway of this version does: {reason}")]
    NotUnderstood {
        /// The gateway.
        url: Url,
        /// The status.
        status: u16,
        /// The cause.
        reason: String,
    },
}

/// A problem document of a running gateway.
#[derive(Debug, Error)]
#[error("the gateway at {url} refused: {}", .problem.text(.request_id))]
pub struct Refusal {
    url: Url,
    request_id: String,
    problem: Problem,
    /// The permissions that a module asks for and that the previous version does not.
    pub(super) asks_for: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Problem {
    #[serde(default)]
    r#type: String,
    title: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    asks_for: Vec<String>,
    #[serde(default)]
    errors: Vec<Violation>,
}

/// One thing that is wrong with a request.
#[derive(Debug, Deserialize)]
struct Violation {
    pointer: String,
    detail: String,
}

impl Problem {
    fn text(&self, request_id: &str) -> String {
        let detail = if self.detail.is_empty() { String::new() } else { format!(": {}", self.detail) };
        let hint = match self.r#type.as_str() {
            NOT_FOUND => "; if the gateway has an `admin_listen` address, --url takes that address",
            _ => "",
        };
        let errors: String = self.errors.iter().map(|error| format!("; {}: {}", error.pointer, error.detail)).collect();
        format!("{}{detail}{errors} (request {request_id}){hint}", self.title)
    }
}

/// An answer with a list that has pages.
trait Page {
    type Entry;
    fn parts(self) -> (Vec<Self::Entry>, Option<String>);
}

#[derive(Deserialize)]
struct Grants {
    grants: Vec<GrantRecord>,
    #[serde(default)]
    next_cursor: Option<String>,
}

impl Page for Grants {
    type Entry = GrantRecord;
    fn parts(self) -> (Vec<GrantRecord>, Option<String>) {
        (self.grants, self.next_cursor)
    }
}

#[derive(Deserialize)]
struct Removed {
    #[serde(default)]
    gateways: Gateways,
}

#[derive(Deserialize)]
struct Versions {
    versions: Vec<VersionRecord>,
    // A gateway of the previous version has no pages here.
    #[serde(default)]
    next_cursor: Option<String>,
}

impl Page for Versions {
    type Entry = VersionRecord;
    fn parts(self) -> (Vec<VersionRecord>, Option<String>) {
        (self.versions, self.next_cursor)
    }
}

#[derive(Deserialize)]
struct Changes {
    changes: Vec<ChangeRecord>,
}

/// A running gateway.
pub(super) struct Remote {
    url: Url,
    /// The value of the header that has the key.
    authorization: HeaderValue,
    client: Client,
}

impl Remote {
    pub(super) fn new(url: Url, key: &SecretString, client_certificate: Option<&Path>) -> Result<Self, RemoteError> {
        let authorization = bearer_header(key).map_err(|_| RemoteError::Key)?;
        let client = client_for(&url, client_certificate)?;
        Ok(Self { url, authorization, client })
    }

    /// The address of the gateway.
    pub(super) fn url(&self) -> &str {
        self.url.as_str().trim_end_matches('/')
    }

    pub(super) async fn add(
        &self,
        module: Vec<u8>,
        installation: Installation<'_>,
        wait: Option<u32>,
    ) -> Result<InstalledRecord, RemoteError> {
        let wait = wait.map(|seconds| seconds.to_string());
        let mut query: Vec<(&str, &str)> = installation.grants.iter().map(|host| ("grant", host.as_str())).collect();
        query.extend(installation.accepts.then_some(("accept", "true")));
        query.extend(installation.grants_asked.then_some(("grant_asked", "true")));
        query.extend(installation.replaces_shipped.then_some(("replace_shipped", "true")));
        query.extend(wait.as_deref().map(|wait| ("wait", wait)));
        let signature = installation.signature.map(|signature| STANDARD.encode(signature));
        self.send(Method::POST, &["admin", "connectors"], &query, |request| {
            let request = request.header("content-type", "application/wasm").body(module);
            let request = match signature {
                Some(signature) => request.header(SIGNATURE, signature),
                None => request,
            };
            only_if(request, installation.replaces)
        })
        .await
    }

    pub(super) async fn list(&self) -> Result<ConnectorsRecord, RemoteError> {
        self.call(Method::GET, &["connectors"], &[]).await
    }

    /// Empty if the key has not the scope `admin`, or if the routes of the operator are at another
    /// address: the list of connectors needs neither.
    pub(super) async fn service(&self) -> Result<BTreeMap<String, InService>, RemoteError> {
        let mut service = BTreeMap::<String, InService>::new();
        let mut cursor: Option<String> = None;
        loop {
            let mut query = vec![("limit", PAGE)];
            query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let page = self.call(Method::GET, &["admin", "connectors"], &query).await;
            let page: ServiceConnectorsRecord = match page {
                Err(RemoteError::Problem(refusal))
                    if [MISSING_SCOPE, NOT_FOUND].contains(&refusal.problem.r#type.as_str()) =>
                {
                    return Ok(service);
                }
                page => page?,
            };
            for record in page.connectors {
                let found = service.entry(record.connector).or_default();
                found.generation = record.generation;
                record.gateways.iter().for_each(|gateway| found.at(&gateway.state));
            }
            match page.next_cursor {
                Some(next) => cursor = Some(next),
                None => return Ok(service),
            }
        }
    }

    pub(super) async fn remove(&self, id: &str, change: ModuleChange) -> Result<Gateways, RemoteError> {
        let wait = change.wait.map(|seconds| seconds.to_string());
        let query: Vec<(&str, &str)> = wait.as_deref().map(|wait| ("wait", wait)).into_iter().collect();
        let with_generation = |request| only_if(request, change.replaces);
        let Removed { gateways } =
            self.send(Method::DELETE, &["admin", "connectors", id], &query, with_generation).await?;
        Ok(gateways)
    }

    pub(super) async fn rollback(
        &self,
        id: &str,
        to: Option<&str>,
        change: ModuleChange,
    ) -> Result<InstalledRecord, RemoteError> {
        let wait = change.wait.map(|seconds| seconds.to_string());
        let query: Vec<(&str, &str)> = [("to", to), ("wait", wait.as_deref())]
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
        let with_generation = |request| only_if(request, change.replaces);
        self.send(Method::POST, &["admin", "connectors", id, "rollback"], &query, with_generation).await
    }

    pub(super) async fn grant(&self, id: &str, hosts: &[String]) -> Result<Vec<GrantRecord>, RemoteError> {
        self.change_grants(Method::POST, id, hosts).await
    }

    pub(super) async fn revoke(&self, id: &str, hosts: &[String]) -> Result<(), RemoteError> {
        self.change_grants(Method::DELETE, id, hosts).await.map(drop)
    }

    async fn change_grants(&self, method: Method, id: &str, hosts: &[String]) -> Result<Vec<GrantRecord>, RemoteError> {
        let query: Vec<(&str, &str)> = hosts.iter().map(|host| ("host", host.as_str())).collect();
        let Grants { grants, .. } = self.call(method, &["admin", "connectors", id, "grants"], &query).await?;
        Ok(grants)
    }

    pub(super) async fn grants(&self, id: Option<&str>) -> Result<Vec<GrantRecord>, RemoteError> {
        match id {
            Some(id) => self.pages::<Grants>(&["admin", "connectors", id, "grants"]).await,
            None => self.pages::<Grants>(&["admin", "grants"]).await,
        }
    }

    pub(super) async fn versions(&self, id: &str) -> Result<Vec<VersionRecord>, RemoteError> {
        self.pages::<Versions>(&["admin", "connectors", id, "versions"]).await
    }

    /// Reads all pages of a list. A gateway of the previous version knows no parameters here, so the
    /// first request has none.
    async fn pages<P: Page + DeserializeOwned>(&self, path: &[&str]) -> Result<Vec<P::Entry>, RemoteError> {
        let mut found = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let query: Vec<(&str, &str)> = cursor.as_deref().map(|cursor| ("cursor", cursor)).into_iter().collect();
            let (entries, next) = self.call::<P>(Method::GET, path, &query).await?.parts();
            found.extend(entries);
            match next {
                Some(next) => cursor = Some(next),
                None => return Ok(found),
            }
        }
    }

    pub(super) async fn history(&self, id: Option<&str>, limit: u32) -> Result<Vec<ChangeRecord>, RemoteError> {
        let limit = limit.to_string();
        let query = [("limit", limit.as_str())];
        let Changes { changes } = match id {
            Some(id) => self.call(Method::GET, &["admin", "connectors", id, "history"], &query).await?,
            None => self.call(Method::GET, &["admin", "history"], &query).await?,
        };
        Ok(changes)
    }

    /// Sends a request with or without a JSON body, and reads the answer.
    pub(super) async fn json(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Value, RemoteError> {
        self.send(method, path, query, |request| match body {
            Some(body) => request.header("content-type", "application/json").body(body.to_string()),
            None => request,
        })
        .await
    }

    /// Sends lines of JSON, and reads the lines of the answer. If the answer breaks off, returns only
    /// the complete lines that have arrived.
    pub(super) async fn lines(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        lines: Vec<u8>,
    ) -> Result<Vec<Value>, RemoteError> {
        let with_body = |request: RequestBuilder| request.header("content-type", "application/x-ndjson").body(lines);
        let mut response = self.begin(Method::POST, path, query, with_body).await?;
        let status = response.status();
        if !status.is_success() {
            return self.finish(response).await.map(|_| Vec::new());
        }
        let mut answer = Vec::new();
        // An error ends the answer early. The caller sees that lines are missing.
        while let Ok(Some(piece)) = response.chunk().await {
            answer.extend_from_slice(&piece);
        }
        let lines = answer.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
        let values = lines.map(serde_json::from_slice::<Value>);
        values.collect::<Result<_, _>>().map_err(|error| self.not_understood(status, &error))
    }

    /// Sends a request without a body, and reads the record or the problem.
    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, RemoteError> {
        self.send(method, path, query, |request| request).await
    }

    /// Sends a request whose body `with_body` adds, and reads the record or the problem.
    async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
        with_body: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<T, RemoteError> {
        let response = self.begin(method, path, query, with_body).await?;
        let (status, body) = self.finish(response).await?;
        serde_json::from_slice(&body).map_err(|error| self.not_understood(status, &error))
    }

    /// Reads a page of a list. Its entries are the member of this name.
    pub(super) async fn page(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        member: &str,
    ) -> Result<(Vec<Value>, Option<String>), RemoteError> {
        let mut page: Value = self.json(Method::GET, path, query, None).await?;
        match page.get_mut(member).map(Value::take) {
            Some(Value::Array(entries)) => Ok((entries, page["next_cursor"].as_str().map(str::to_owned))),
            _ => Err(self.not_understood(StatusCode::OK, &format_args!("the answer has no list `{member}`"))),
        }
    }

    fn not_understood(&self, status: StatusCode, reason: &dyn fmt::Display) -> RemoteError {
        RemoteError::NotUnderstood { url: self.url.clone(), status: status.as_u16(), reason: reason.to_string() }
    }

    /// Sends a request whose body `with_body` adds.
    async fn begin(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
        with_body: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, RemoteError> {
        let mut url = self.url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let request = self.client.request(method, url).header(AUTHORIZATION, self.authorization.clone());
        with_body(request).send().await.map_err(|error| unreachable(&self.url, error))
    }

    /// Reads the body of an answer, or the problem.
    async fn finish(&self, response: Response) -> Result<(StatusCode, Bytes), RemoteError> {
        let status = response.status();
        let request_id = response.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or("unknown");
        let request_id = request_id.to_owned();
        let body = response.bytes().await.map_err(|error| unreachable(&self.url, error))?;
        if status.is_success() {
            return Ok((status, body));
        }
        let mut problem: Problem =
            serde_json::from_slice(&body).map_err(|error| self.not_understood(status, &error))?;
        let asks_for = std::mem::take(&mut problem.asks_for);
        Err(RemoteError::Problem(Box::new(Refusal { url: self.url.clone(), request_id, problem, asks_for })))
    }
}

/// The request, which changes a connector only if this is still its generation.
fn only_if(request: RequestBuilder, generation: Option<i64>) -> RequestBuilder {
    match generation {
        Some(generation) => request.header(IF_MATCH, format!("\"{generation}\"")),
        None => request,
    }
}
