//! Declarations in addition to the auth scheme: further ways in which accounts get access tokens,
//! signatures of requests, and codes of ended grants. Constant data for the table's `auth_additions` statement. Since contract
//! 1.1.

use super::{ApiKey, Auth, KeyPlacement};
use crate::table::Upstream;
use contract_rules::limit::ENDED_CODES;
use contract_rules::manifest::{is_ended_code, is_installation_path};
use contract_rules::signature;

/// Says if an account must name the user for whom its service account acts.
pub use crate::bindings::gateway::connector::auth_additions::Subject;
pub use contract_rules::signature::{Encoding, Hash, Region, SecretForm, TextPart, Timestamp, TimestampForm};

/// A declaration in addition to the auth scheme.
///
/// The first four are ways in which an account gets access tokens, in addition to the authorization
/// code of [`OAuth2`](super::OAuth2). The token URL, the scopes and the other fields of `OAuth2` apply
/// to them. With an empty `authorization_url`, accounts are connected in these ways only.
///
/// Signatures say how the gateway signs requests with the account's secret, which the connector does
/// not see. They need an [`ApiKey`](super::ApiKey) whose `placement` is the header for the signature.
/// A table has one of them.
#[derive(Clone, Copy)]
pub enum AuthAddition {
    /// Accounts bring a client id and a client secret (RFC 6749, section 4.4).
    ClientCredentials,
    /// Accounts bring the key file of a service account, which signs assertions (RFC 7523).
    ServiceAccount(ServiceAccount),
    /// Accounts are installations of an application. The operator or the account has the
    /// application's id and private key.
    AppInstallation(AppInstallation),
    /// Users authorize with a code that they enter on another device (RFC 8628).
    DeviceCode(DeviceCode),
    /// Requests are signed with AWS Signature Version 4. The header is `Authorization`, without a
    /// prefix. Accounts bring `access_key_id`, `secret_access_key`, and perhaps a `session_token`.
    AwsSignature(AwsSignature),
    /// Requests are signed by HMAC over a text of their parts. Accounts bring a `secret`, and a
    /// `key_id` if a request has one.
    HmacSignature(HmacSignature),
    /// The provider's own error codes for a grant that has ended. If the code of a token response is
    /// one of them, the user must connect the account again. The gateway knows the common codes. Since
    /// contract 1.2.
    EndedCodes(&'static [&'static str]),
}

/// The service and the region of signatures. See [`signature::AwsSignature`].
pub type AwsSignature = signature::AwsSignature<&'static str>;

/// The text that is signed. See [`signature::HmacSignature`].
pub type HmacSignature = signature::HmacSignature<&'static str, &'static [TextPart<&'static str>]>;

impl AuthAddition {
    const fn is_signature(&self) -> bool {
        matches!(self, Self::AwsSignature(_) | Self::HmacSignature(_))
    }
}

/// A service account.
#[derive(Clone, Copy)]
pub struct ServiceAccount {
    /// The claim `aud` of assertions. `None` for the token URL.
    pub audience: Option<&'static str>,
    /// The claim `sub`: the user for whom the service account acts.
    pub subject: Subject,
}

impl ServiceAccount {
    /// A service account that acts for a user whom the account names.
    pub const WITH_SUBJECT: Self = Self { audience: None, subject: Subject::Required };
}

/// Installations of an application. The gateway gets a token with a POST to `path`.
#[derive(Clone, Copy)]
pub struct AppInstallation {
    /// Name of an upstream of the table.
    pub upstream: &'static str,
    /// Path below its base URL. Contains `{installation_id}`, which the gateway replaces.
    pub path: &'static str,
}

/// The device authorization grant. The client is the one of the authorization code.
#[derive(Clone, Copy)]
pub struct DeviceCode {
    /// URL of the device authorization endpoint. Empty if only the operator knows it.
    pub device_authorization_url: &'static str,
}

/// Returns `true` if the scheme is OAuth 2.0, or if there is no further way to get tokens.
/// `connector!` refuses other tables at compile time.
#[doc(hidden)]
#[must_use]
pub const fn fit(auth: &Auth, additions: &[AuthAddition]) -> bool {
    let mut index = 0;
    while index < additions.len() {
        if !additions[index].is_signature() && !matches!(auth, Auth::OAuth2(_)) {
            return false;
        }
        index += 1;
    }
    true
}

/// Returns `true` if signatures have a header of an API key, or if there is none.
#[doc(hidden)]
#[must_use]
pub const fn have_header(auth: &Auth, additions: &[AuthAddition]) -> bool {
    let mut index = 0;
    while index < additions.len() {
        let has_header =
            matches!(auth, Auth::ApiKey(ApiKey { placement: KeyPlacement::Header { .. }, form_field: None, check: _ }));
        if additions[index].is_signature() && !has_header {
            return false;
        }
        index += 1;
    }
    true
}

/// Returns `true` if no way is there twice, and there is at most one kind of signature.
#[doc(hidden)]
#[must_use]
pub const fn are_distinct(additions: &[AuthAddition]) -> bool {
    let mut counts = [0; 6];
    let mut index = 0;
    while index < additions.len() {
        let kind = match additions[index] {
            AuthAddition::ClientCredentials => 0,
            AuthAddition::ServiceAccount(_) => 1,
            AuthAddition::AppInstallation(_) => 2,
            AuthAddition::DeviceCode(_) => 3,
            AuthAddition::AwsSignature(_) | AuthAddition::HmacSignature(_) => 4,
            AuthAddition::EndedCodes(_) => 5,
        };
        counts[kind] += 1;
        index += 1;
    }
    counts[0] < 2 && counts[1] < 2 && counts[2] < 2 && counts[3] < 2 && counts[5] < 2
}

/// Returns `true` if one of them is [`AuthAddition::EndedCodes`].
#[doc(hidden)]
#[must_use]
pub const fn have_ended_codes(additions: &[AuthAddition]) -> bool {
    let mut index = 0;
    while index < additions.len() {
        if matches!(additions[index], AuthAddition::EndedCodes(_)) {
            return true;
        }
        index += 1;
    }
    false
}

/// Returns `true` if codes of ended grants have the form of a code, and are not too many.
#[doc(hidden)]
#[must_use]
pub const fn have_sound_codes(additions: &[AuthAddition]) -> bool {
    let mut index = 0;
    while index < additions.len() {
        if let AuthAddition::EndedCodes(codes) = additions[index] {
            let mut known = 0;
            while known < codes.len() {
                if known == ENDED_CODES || !is_ended_code(codes[known]) {
                    return false;
                }
                known += 1;
            }
        }
        index += 1;
    }
    true
}

/// Returns `true` if the upstreams of installations are in the table.
#[doc(hidden)]
#[must_use]
pub const fn have_upstreams(additions: &[AuthAddition], upstreams: &[Upstream]) -> bool {
    let mut index = 0;
    while index < additions.len() {
        if let AuthAddition::AppInstallation(app) = additions[index] {
            let mut known = 0;
            while known < upstreams.len() && !are_equal(app.upstream.as_bytes(), upstreams[known].name.as_bytes()) {
                known += 1;
            }
            if known == upstreams.len() {
                return false;
            }
        }
        index += 1;
    }
    true
}

/// Returns `true` if the paths of installations have the placeholder where the contract wants it.
#[doc(hidden)]
#[must_use]
pub const fn have_paths(additions: &[AuthAddition]) -> bool {
    let mut index = 0;
    while index < additions.len() {
        if let AuthAddition::AppInstallation(app) = additions[index]
            && !is_installation_path(app.path)
        {
            return false;
        }
        index += 1;
    }
    true
}

pub(crate) const fn are_equal(left: &[u8], right: &[u8]) -> bool {
    let mut index = 0;
    while index < left.len() && index < right.len() && left[index] == right[index] {
        index += 1;
    }
    index == left.len() && index == right.len()
}
