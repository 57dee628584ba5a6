//! The HTTP client for requests to a running gateway.

use std::path::Path;
use std::time::Duration;

use reqwest::{Client, Identity};
use url::Url;

use super::remote::RemoteError;
use crate::module_file::read;

/// The longest time for a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// The longest time for a response. A gateway compiles a module before it responds.
const RESPONSE: Duration = Duration::from_secs(300);

/// A client for requests to a gateway.
///
/// # Errors
/// If the file with the client certificate cannot be used, or if the machine has no root
/// certificates.
pub fn client_for(url: &Url, client_certificate: Option<&Path>) -> Result<Client, RemoteError> {
    // A second installation fails and changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder().connect_timeout(CONNECT).timeout(RESPONSE);
    // A proxy cannot reach a gateway on this machine.
    let is_here = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let client = if is_here { client.no_proxy() } else { client };
    let client = match client_certificate {
        Some(file) => client.identity(identity(file)?),
        None => client,
    };
    client.build().map_err(|error| unreachable(url, error))
}

/// The client certificate in a file, with its key.
fn identity(file: &Path) -> Result<Identity, RemoteError> {
    let wrong = |reason: String| RemoteError::ClientCertificate { file: file.to_owned(), reason };
    let content = read(file).map_err(|error| wrong(error.source.to_string()))?;
    Identity::from_pem(&content).map_err(|error| wrong(error_chain(&error)))
}

/// The error of a gateway that cannot be reached. The message has its URL once.
pub(super) fn unreachable(url: &Url, error: reqwest::Error) -> RemoteError {
    RemoteError::Unreachable { url: url.clone(), reason: error_chain(&error.without_url()) }
}

/// An error with its causes. The last cause says most.
fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
