//! The parts of a manifest that inboxes and types of events refer to.

use super::super::{Auth, Manifest};

/// The parts of a manifest that inboxes and types of events refer to.
#[derive(Clone, Debug, Default)]
pub struct About<'a> {
    /// `true` if the auth scheme is OAuth 2.0.
    pub has_oauth2: bool,
    /// The operation whose answer identifies an account.
    pub identity: Option<&'a str>,
    /// Names of the upstreams.
    pub upstreams: Vec<&'a str>,
    /// Names of the settings.
    pub settings: Vec<&'a str>,
    /// The operations.
    pub operations: Vec<AboutOperation<'a>>,
}

/// The parts of an operation that decide if a trigger can name it.
#[derive(Clone, Copy, Debug)]
pub struct AboutOperation<'a> {
    /// The name in the path.
    pub path: &'a str,
    /// `true` if callers may shape the answer.
    pub envelope: bool,
    /// `true` if it runs in the background.
    pub background: bool,
    /// `true` if the answer is divided into pages.
    pub paged: bool,
    /// `true` if the answer is JSON.
    pub answers_json: bool,
    /// `true` if the gateway makes its request.
    pub is_row: bool,
}

impl<'a> About<'a> {
    /// The parts of a manifest. `rows` are the operations of which the gateway makes the requests.
    #[must_use]
    pub fn of(manifest: &Manifest<'a>, rows: &[&str]) -> Self {
        let operations = manifest.operations.iter().map(|operation| AboutOperation {
            path: operation.path,
            envelope: operation.envelope,
            background: operation.background,
            paged: operation.pagination.is_some(),
            answers_json: operation.answers_json,
            is_row: rows.contains(&operation.path),
        });
        Self {
            has_oauth2: matches!(manifest.auth, Auth::Oauth2(_)),
            identity: manifest.auth.account_operation(),
            upstreams: manifest.upstreams.iter().map(|upstream| upstream.name).collect(),
            settings: manifest.settings.iter().map(|setting| setting.name).collect(),
            operations: operations.collect(),
        }
    }
}
