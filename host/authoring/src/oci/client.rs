//! Requests to one repository of a registry. A registry may be hostile: each of its answers has a
//! limit, a redirect does not leave `https`, and credentials go only to the registry or where
//! [`super::login`] sends them.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION, WWW_AUTHENTICATE};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use tokio::time::timeout;
use url::Url;

use super::artifact::{self, MANIFEST};
use super::credentials::Credentials;
use super::login::{self, Access};

/// The longest time until a connection is made, and between two pieces of a response.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The longest time for the body of a document.
const DOCUMENT_TIMEOUT: Duration = Duration::from_secs(60);

/// The largest manifest. Registries of the standard accept manifests of this size.
const MAX_MANIFEST_BYTES: usize = 4 << 20;

/// The largest body of a failed request that is read.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// Redirects of one request.
const MAX_REDIRECTS: usize = 5;

/// Why a request failed.
#[derive(Debug)]
pub(super) enum ClientError {
    /// The registry has no such module.
    Missing,
    /// The registry requires credentials, or other ones.
    Refused,
    /// Another cause, as a fragment of a sentence.
    Other(String),
}

impl From<reqwest::Error> for ClientError {
    fn from(error: reqwest::Error) -> Self {
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(inner) = cause {
            let inner_text = inner.to_string();
            if !text.contains(&inner_text) {
                text.push_str(&format!(": {inner_text}"));
            }
            cause = inner.source();
        }
        Self::Other(text)
    }
}

/// A manifest as the registry sent it.
pub(super) struct Manifest {
    pub(super) bytes: Vec<u8>,
    /// The digest of the bytes.
    pub(super) digest: String,
}

/// A repository of a registry, with the authorization that its requests carry.
pub(super) struct Client {
    http: reqwest::Client,
    /// The URL of the registry, with its path `/v2/`.
    registry: Url,
    repository: String,
    authorization: Option<HeaderValue>,
}

/// The errors in the body of a failed request.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Errors {
    errors: Vec<ErrorEntry>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorEntry {
    code: String,
    message: Option<String>,
}

impl Client {
    /// Connects to a registry, and gets a token if the registry requires one.
    ///
    /// # Errors
    /// If the registry does not answer, or refuses.
    pub(super) async fn connect(
        registry: Url,
        repository: &str,
        access: Access,
        credentials: Option<&Credentials>,
    ) -> Result<Self, ClientError> {
        // This fails if the process already has a provider, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .user_agent(concat!("connector-gateway/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(TIMEOUT)
            .read_timeout(TIMEOUT)
            .redirect(Policy::custom(check_redirect))
            .no_gzip()
            .build()?;
        let mut client = Self { http, registry, repository: repository.to_owned(), authorization: None };
        let answer = client.http.get(client.registry.clone()).send().await?;
        let challenges = answer.headers().get_all(WWW_AUTHENTICATE).into_iter().filter_map(|value| value.to_str().ok());
        if let Some(challenge) = login::challenge(challenges) {
            client.authorization =
                login::authorize(&client.http, &client.registry, challenge, repository, access, credentials).await?;
        }
        Ok(client)
    }

    /// The manifest of a version: a tag or a digest. `None` if the registry does not have it.
    ///
    /// # Errors
    /// If the registry refuses, or sends a manifest over the limit.
    pub(super) async fn manifest(&self, version: &str) -> Result<Option<Manifest>, ClientError> {
        let accepted = format!("{MANIFEST}, application/vnd.docker.distribution.manifest.v2+json, */*;q=0.1");
        let request = self.http.get(self.url(&format!("manifests/{version}"))?).header("accept", accepted);
        let answer = match self.send(request).await {
            Err(ClientError::Missing) => return Ok(None),
            answer => answer?,
        };
        let bytes = read(answer, MAX_MANIFEST_BYTES, "its manifest").await?;
        Ok(Some(Manifest { digest: artifact::digest(&bytes), bytes }))
    }

    /// A blob of at most `max` bytes. `None` if it is longer.
    ///
    /// # Errors
    /// If the registry refuses.
    pub(super) async fn blob(&self, digest: &str, max: u64) -> Result<Option<Vec<u8>>, ClientError> {
        let mut answer = self.send(self.http.get(self.url(&format!("blobs/{digest}"))?)).await?;
        let mut blob = Vec::new();
        while let Some(piece) = answer.chunk().await? {
            if (blob.len() + piece.len()) as u64 > max {
                return Ok(None);
            }
            blob.extend_from_slice(&piece);
        }
        Ok(Some(blob))
    }

    /// Sends a blob, unless the registry already has it.
    ///
    /// # Errors
    /// If the registry refuses.
    pub(super) async fn push_blob(&self, blob: &Bytes) -> Result<(), ClientError> {
        let digest = artifact::digest(blob);
        match self.send(self.http.head(self.url(&format!("blobs/{digest}"))?)).await {
            Ok(_) => return Ok(()),
            Err(ClientError::Missing) => {}
            Err(error) => return Err(error),
        }
        let begun = self.send(self.http.post(self.url("blobs/uploads/")?)).await?;
        let location = begun.headers().get(LOCATION).and_then(|location| location.to_str().ok());
        // A location without a host is of the server that answered.
        let location = location.and_then(|location| begun.url().join(location).ok());
        let mut location = location.ok_or_else(|| ClientError::Other("it names no place for uploads".to_owned()))?;
        if self.registry.scheme() == "https" && location.scheme() != "https" {
            return Err(ClientError::Other(format!("its place for uploads, {}, is not https", host_of(&location))));
        }
        location.query_pairs_mut().append_pair("digest", &digest);
        let request = self.http.put(location).header(CONTENT_TYPE, "application/octet-stream").body(blob.clone());
        self.send(request).await?;
        Ok(())
    }

    /// Sends a manifest.
    ///
    /// # Errors
    /// If the registry refuses.
    pub(super) async fn push_manifest(&self, version: &str, manifest: &Bytes) -> Result<(), ClientError> {
        let request = self.http.put(self.url(&format!("manifests/{version}"))?);
        self.send(request.header(CONTENT_TYPE, MANIFEST).body(manifest.clone())).await?;
        Ok(())
    }

    /// A URL of the repository.
    fn url(&self, path: &str) -> Result<Url, ClientError> {
        let url = self.registry.join(&format!("{}/{path}", self.repository));
        url.map_err(|error| ClientError::Other(error.to_string()))
    }

    /// Sends a request, with the authorization if it goes to the registry itself.
    async fn send(&self, request: RequestBuilder) -> Result<Response, ClientError> {
        let mut request = request.build()?;
        if let Some(authorization) = &self.authorization
            && request.url().origin() == self.registry.origin()
        {
            request.headers_mut().insert(AUTHORIZATION, authorization.clone());
        }
        let answer = self.http.execute(request).await?;
        match answer.status() {
            status if status.is_success() => Ok(answer),
            StatusCode::UNAUTHORIZED => Err(ClientError::Refused),
            status => Err(failure(status, answer).await),
        }
    }
}

/// Follows a redirect, as registries send them to a storage of blobs. The HTTP library sends
/// credentials to no other host.
fn check_redirect(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let leaves_tls = attempt.url().scheme() != "https" && attempt.previous().iter().any(|url| url.scheme() == "https");
    if leaves_tls {
        let host = host_of(attempt.url());
        return attempt.error(format!("a redirect to {host} is not https"));
    }
    if attempt.previous().len() > MAX_REDIRECTS {
        return attempt.error("there are too many redirects");
    }
    attempt.follow()
}

/// The cause in the body of a failed request.
async fn failure(status: StatusCode, answer: Response) -> ClientError {
    let body = read(answer, MAX_ERROR_BYTES, "its error").await.unwrap_or_default();
    let Errors { errors } = serde_json::from_slice(&body).unwrap_or_default();
    let missing = ["MANIFEST_UNKNOWN", "NAME_UNKNOWN", "NOT_FOUND"];
    if status == StatusCode::NOT_FOUND || errors.iter().any(|error| missing.contains(&error.code.as_str())) {
        return ClientError::Missing;
    }
    let said = errors.into_iter().map(|ErrorEntry { code, message }| match message {
        Some(message) => format!(": {code}, {message}"),
        None => format!(": {code}"),
    });
    ClientError::Other(format!("the registry answers {status}{}", said.collect::<String>()))
}

/// Reads a document.
///
/// # Errors
/// If it is longer than `max` bytes, or takes too long.
pub(super) async fn read(mut answer: Response, max: usize, what: &str) -> Result<Vec<u8>, ClientError> {
    let reading = async {
        let mut body = Vec::new();
        while let Some(piece) = answer.chunk().await? {
            if body.len() + piece.len() > max {
                return Err(ClientError::Other(format!("{what} has more than {} KiB", max >> 10)));
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    };
    match timeout(DOCUMENT_TIMEOUT, reading).await {
        Ok(read) => read,
        Err(_) => Err(ClientError::Other(format!("{what} took over {} s", DOCUMENT_TIMEOUT.as_secs()))),
    }
}

/// The host of a URL, with its port if it has one.
pub(super) fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}
