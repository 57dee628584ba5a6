//! The `auth-additions` interface: `describe` declares ways to authorize, which are collected next
//! to the manifest.

use contract::{AppInstallation, AuthAdditions, DeviceCode, ServiceAccount};

use super::bindings::gateway::connector::auth_additions as wit;
use super::guest::Guest;

impl Guest {
    /// The declarations so far, for a function of this name.
    ///
    /// # Errors
    /// A trap if the guest does not run `describe`.
    fn declarations(&mut self, function: &str) -> wasmtime::Result<&mut AuthAdditions> {
        self.additions.as_deref_mut().map(|additions| &mut additions.auth).ok_or_else(|| {
            wasmtime::format_err!(
                "it called `auth-additions.{function}` in an operation; only `describe` declares how accounts are authorized"
            )
        })
    }
}

/// # Errors
/// A trap if the function was called before.
fn once(was_called: bool, function: &str) -> wasmtime::Result<()> {
    wasmtime::ensure!(!was_called, "it called `auth-additions.{function}` twice; `describe` calls it once");
    Ok(())
}

impl wit::Host for Guest {
    fn client_credentials(&mut self) -> wasmtime::Result<()> {
        const NAME: &str = "client-credentials";
        once(std::mem::replace(&mut self.declarations(NAME)?.client_credentials, true), NAME)
    }

    fn service_account(&mut self, declaration: wit::ServiceAccountDeclaration) -> wasmtime::Result<()> {
        const NAME: &str = "service-account";
        let wit::ServiceAccountDeclaration { audience, subject } = declaration;
        let needs_subject = match subject {
            wit::Subject::Required => true,
            wit::Subject::Optional => false,
        };
        let declared = ServiceAccount { audience, needs_subject };
        once(self.declarations(NAME)?.service_account.replace(declared).is_some(), NAME)
    }

    fn app_installation(&mut self, declaration: wit::AppInstallationDeclaration) -> wasmtime::Result<()> {
        const NAME: &str = "app-installation";
        let wit::AppInstallationDeclaration { upstream, path } = declaration;
        let declared = AppInstallation { upstream, path };
        once(self.declarations(NAME)?.app_installation.replace(declared).is_some(), NAME)
    }

    fn device_code(&mut self, declaration: wit::DeviceCodeDeclaration) -> wasmtime::Result<()> {
        const NAME: &str = "device-code";
        let wit::DeviceCodeDeclaration { device_authorization_url } = declaration;
        let declared = DeviceCode { device_authorization_url };
        once(self.declarations(NAME)?.device_code.replace(declared).is_some(), NAME)
    }
}
