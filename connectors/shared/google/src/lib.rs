//! The parts that connectors of Google's services share: the OAuth 2.0 provider, the account's
//! identity, and channels for events.
//!
//! A table uses them as follows.
//! - `auth Auth::OAuth2(OAuth2 { scopes: &[…], ..connector_google::OAUTH2 });` The scopes include
//!   `openid`, `https://www.googleapis.com/auth/userinfo.email` and
//!   `https://www.googleapis.com/auth/userinfo.profile`.
//! - `auth_additions connector_google::AUTH_ADDITIONS;`
//! - `upstream oauth2 "https://www.googleapis.com/oauth2/v2";`
//! - `upstream userinfo "{oauth2}/userinfo" credential standard;`
//! - `userinfo: read fn connector_google::userinfo example {};` and a test with
//!   `testing::check_userinfo`.

pub mod channel;
#[cfg(not(target_family = "wasm"))]
pub mod testing;

use connector_sdk::auth::{AuthAddition, Identity, OAuth2, Revocation, ServiceAccount};
use connector_sdk::http::{self, Error, Request};
use connector_sdk::userinfo::{Organization, Userinfo};
use connector_sdk::{Fault, Outcome};

/// Google as an OAuth 2.0 provider. Each connector adds its scopes.
///
/// Google issues a refresh token only for `access_type=offline`. If the user has agreed before,
/// Google issues a new one only for `prompt=consent`. The response to a refresh has no refresh
/// token, so the old one stays valid.
///
/// Revoking one grant would end all grants of the user for this client, so replaced grants are not
/// revoked.
pub const OAUTH2: OAuth2 = OAuth2 {
    provider: "google",
    authorization_url: "https://accounts.google.com/o/oauth2/v2/auth",
    token_url: "https://oauth2.googleapis.com/token",
    revocation: Some(Revocation::Form("https://oauth2.googleapis.com/revoke")),
    authorization_parameters: &[("access_type", "offline"), ("prompt", "consent")],
    revokes_replaced_grants: false,
    identity: Some(Identity::USERINFO),
    ..OAuth2::STANDARD
};

/// An organization's administrator may let a service account act for the users of the organization
/// (domain-wide delegation). Each account names the user.
pub const AUTH_ADDITIONS: &[AuthAddition] = &[AuthAddition::ServiceAccount(ServiceAccount::WITH_SUBJECT)];

/// Returns the identity of the connected account. Sends one request to the upstream `userinfo`.
///
/// # Errors
/// Google's own refusal, or [`Error::BadAnswer`] if the response has no account id.
pub fn userinfo() -> Result<Outcome, Fault> {
    let claims = http::send(Request::get("userinfo", ""))?.successful()?.document()?;
    let Some(id) = claims.string("/id") else {
        return Err(Error::BadAnswer("Google's userinfo response has no `id`".to_owned()).into());
    };
    let email = claims.string("/email");
    Userinfo {
        id,
        username: email.clone(),
        email,
        name: claims.string("/name"),
        picture: claims.string("/picture"),
        // Only accounts of Google Workspace have a domain.
        organization: claims.string("/hd").map(|domain| Organization { id: Some(domain.clone()), name: Some(domain) }),
    }
    .answer()
}

#[cfg(test)]
mod tests {
    use connector_sdk::http::Error;
    use connector_sdk::testing::{Answer, Gateway};
    use connector_sdk::{Fault, Outcome};

    use super::userinfo;

    fn answer(claims: &str) -> String {
        let gateway = Gateway::new().answer(Answer::json(200, claims));
        let Ok(Outcome::Reply(text)) = userinfo() else { panic!("a reply") };
        let requests = gateway.requests();
        assert_eq!((requests.len(), requests[0].upstream.as_str(), requests[0].path.as_str()), (1, "userinfo", ""));
        text
    }

    #[test]
    fn claims_become_the_common_shape() {
        assert_eq!(
            answer(
                r#"{"id":"110","email":"ada@acme.test","verified_email":true,"name":"Ada L","picture":"https://p.test/a","hd":"acme.test"}"#
            ),
            r#"{"data":{"id":"110","email":"ada@acme.test","username":"ada@acme.test","name":"Ada L","picture":"https://p.test/a","organization":{"id":"acme.test","name":"acme.test"}},"meta":null}"#
        );
        assert_eq!(
            answer(r#"{"id":"110"}"#),
            r#"{"data":{"id":"110","email":null,"username":null,"name":null,"picture":null,"organization":null},"meta":null}"#
        );
    }

    #[test]
    fn a_response_without_an_account_is_an_error() {
        let _gateway = Gateway::new().answer(Answer::json(200, "[]"));
        assert!(matches!(userinfo(), Err(Fault::Http(Error::BadAnswer(_)))));
    }

    #[test]
    fn a_refused_token_is_passed_on_as_401() {
        let _gateway = Gateway::new().answer(Answer::json(401, r#"{"error":{"code":401}}"#));
        assert!(matches!(userinfo(), Err(Fault::Upstream(failure)) if failure.status == 401));
    }
}
