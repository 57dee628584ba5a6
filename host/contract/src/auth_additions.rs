//! The ways to authorize that a connector declares in addition to its auth scheme
//! (`auth-additions` in `wit/connector.wit`).

use contract_rules::manifest as rules;
use contract_rules::signature;

/// The declarations of a connector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthAdditions {
    /// `true` if accounts may be connected by client credentials (RFC 6749, section 4.4).
    pub client_credentials: bool,
    /// Set if accounts may be connected by the key of a service account (RFC 7523).
    pub service_account: Option<ServiceAccount>,
    /// Set if accounts may be installations of an application.
    pub app_installation: Option<AppInstallation>,
    /// Set if users may authorize with a code on another device (RFC 8628).
    pub device_code: Option<DeviceCode>,
    /// Set if requests are signed with the account's secret.
    pub signature: Option<Signature>,
    /// The provider's own error codes for a grant that has ended.
    pub ended_codes: Vec<String>,
}

/// Requests that are signed with the account's secret, in place of a key that they carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signature {
    /// AWS Signature Version 4.
    Aws(AwsSignature),
    /// HMAC over parts of the request.
    Hmac(HmacSignature),
}

/// See [`signature::AwsSignature`].
pub type AwsSignature = signature::AwsSignature<String>;

/// See [`signature::HmacSignature`].
pub type HmacSignature = signature::HmacSignature<String, Vec<signature::TextPart<String>>>;

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

/// The device authorization grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceCode {
    /// URL of the device authorization endpoint. Empty if only the operator knows it.
    pub device_authorization_url: String,
}

impl AuthAdditions {
    /// Returns `true` if the connector declares a further way in which accounts get access tokens.
    pub fn has_way(&self) -> bool {
        let Self { client_credentials, service_account, app_installation, device_code, signature: _, ended_codes: _ } =
            self;
        *client_credentials || service_account.is_some() || app_installation.is_some() || device_code.is_some()
    }

    /// The part of accounts' addresses that is the region of signatures.
    pub fn region_part(&self) -> Option<&str> {
        match &self.signature {
            Some(Signature::Aws(AwsSignature { region: signature::Region::Part(part), .. })) => Some(part),
            _ => None,
        }
    }

    pub(crate) fn view(&self) -> rules::AuthAdditions<'_> {
        let (account, app) = (self.service_account.as_ref(), self.app_installation.as_ref());
        rules::AuthAdditions {
            client_credentials: self.client_credentials,
            service_account: account.map(|account| rules::ServiceAccount { audience: account.audience.as_deref() }),
            app_installation: app.map(|app| rules::AppInstallation { upstream: &app.upstream, path: &app.path }),
            device_code: self
                .device_code
                .as_ref()
                .map(|device| rules::DeviceCode { device_authorization_url: &device.device_authorization_url }),
            aws_signature: match &self.signature {
                Some(Signature::Aws(aws)) => Some(aws.borrowed()),
                _ => None,
            },
            hmac_signature: match &self.signature {
                Some(Signature::Hmac(hmac)) => Some(hmac.borrowed()),
                _ => None,
            },
            ended_codes: self.ended_codes.iter().map(String::as_str).collect(),
        }
    }
}

impl AppInstallation {
    /// The path for an installation. The id is one segment of it.
    pub fn path_of(&self, installation_id: &str) -> String {
        self.path.replace(rules::INSTALLATION_ID, installation_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_and_codes_of_ended_grants_are_no_way_to_get_tokens() {
        let codes = AuthAdditions { ended_codes: vec!["gone".to_owned()], ..AuthAdditions::default() };
        let aws = AwsSignature { service: "s3".to_owned(), region: signature::Region::Fixed("eu".to_owned()) };
        let signed = AuthAdditions { signature: Some(Signature::Aws(aws)), ..AuthAdditions::default() };
        assert!(!codes.has_way() && !signed.has_way());
        assert!(AuthAdditions { client_credentials: true, ..codes }.has_way());
    }
}
