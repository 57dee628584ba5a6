//! The credentials of accounts from which the gateway gets access tokens.

use super::Integration;
use crate::records::named;

named! {
    /// The kind of credentials that an account brought, and from which the gateway gets its access
    /// tokens.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum GrantType {
        /// The id and the secret of an OAuth client.
        ClientCredentials = "client_credentials",
        /// The key of a service account.
        ServiceAccount = "service_account",
        /// The id of an installation of an application.
        AppInstallation = "app_installation",
    }
}

impl GrantType {
    /// The name of the auth type in answers. Accounts of [`AuthType::OAuth2`](crate::AuthType) have
    /// this name in place of `oauth2`.
    pub const fn auth_type(self) -> &'static str {
        match self {
            Self::ClientCredentials => "oauth2_client_credentials",
            Self::ServiceAccount => "oauth2_service_account",
            Self::AppInstallation => "oauth2_app_installation",
        }
    }
}

impl Integration {
    /// The name of the way in which the account was connected, in answers.
    pub fn auth_type_name(&self) -> &'static str {
        self.grant_type.map_or(self.auth_type.name(), GrantType::auth_type)
    }
}
