//! The declarations that a component makes before it returns its manifest. The code that
//! `connector!` makes calls this, so that a connector without declarations does not import the
//! interface `auth-additions`.

use crate::auth::{AuthAddition, Subject};
use crate::bindings::gateway::connector::auth_additions as wit;

/// Declares further ways in which accounts get access tokens.
pub fn auth_additions(additions: &[AuthAddition]) {
    for addition in additions {
        match addition {
            AuthAddition::ClientCredentials => wit::client_credentials(),
            AuthAddition::ServiceAccount(account) => wit::service_account(&wit::ServiceAccountDeclaration {
                audience: account.audience.map(str::to_owned),
                subject: match account.subject {
                    Subject::Required => wit::Subject::Required,
                    Subject::Optional => wit::Subject::Optional,
                },
            }),
            AuthAddition::AppInstallation(app) => wit::app_installation(&wit::AppInstallationDeclaration {
                upstream: app.upstream.to_owned(),
                path: app.path.to_owned(),
            }),
            AuthAddition::DeviceCode(device) => wit::device_code(&wit::DeviceCodeDeclaration {
                device_authorization_url: device.device_authorization_url.to_owned(),
            }),
        }
    }
}
