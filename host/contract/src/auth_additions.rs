//! The ways to authorize that a connector declares in addition to its auth scheme
//! (`auth-additions` in `wit/connector.wit`).

use contract_rules::manifest as rules;
use contract_rules::manifest::Violation;

use crate::Manifest;
use crate::check::check_auth_additions;

/// A connector as its `describe` presents it.
#[derive(Clone, Debug)]
pub struct Description {
    /// The manifest that `describe` returned.
    pub manifest: Manifest,
    /// The declarations that it made before.
    pub auth_additions: AuthAdditions,
}

/// The declarations of a connector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthAdditions {
    /// `true` if accounts may be connected by client credentials (RFC 6749, section 4.4).
    pub client_credentials: bool,
    /// Set if accounts may be connected by the key of a service account (RFC 7523).
    pub service_account: Option<ServiceAccount>,
    /// Set if accounts may be installations of an application.
    pub app_installation: Option<AppInstallation>,
}

/// A service account that signs a JWT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAccount {
    /// The claim `aud`. `None` for the token URL.
    pub audience: Option<String>,
    /// `true` if an account must name the user for whom the service account acts.
    pub needs_subject: bool,
}

/// Installations of an application that is registered at the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppInstallation {
    /// Name of an upstream of the manifest.
    pub upstream: String,
    /// Path below its base URL, with `{installation_id}`.
    pub path: String,
}

impl AuthAdditions {
    /// Returns `true` if the connector declares nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks the declarations. Returns every rule that they break.
    pub fn check(&self, manifest: &Manifest) -> Vec<Violation> {
        let additions = rules::AuthAdditions {
            client_credentials: self.client_credentials,
            service_account: self
                .service_account
                .as_ref()
                .map(|account| rules::ServiceAccount { audience: account.audience.as_deref() }),
            app_installation: self
                .app_installation
                .as_ref()
                .map(|app| rules::AppInstallation { upstream: &app.upstream, path: &app.path }),
        };
        check_auth_additions(manifest, &additions)
    }
}

impl AppInstallation {
    /// The path for an installation. The id is one segment of it.
    pub fn path_of(&self, installation_id: &str) -> String {
        self.path.replace(rules::INSTALLATION_ID, installation_id)
    }
}
