//! What the connectors of Google's services have in common: how users grant access, and who they are.
//!
//! A table says `auth Auth::OAuth2(OAuth2 { scopes: &[…], ..google::OAUTH2 })`, has the two upstreams
//! `oauth2 "https://www.googleapis.com/oauth2/v2"` and `userinfo "{oauth2}/userinfo"`, and the row
//! `userinfo: read fn google::userinfo`, which needs the scopes `openid`, `…/auth/userinfo.email` and `…/auth/userinfo.profile`.

use crate::auth::{Identity, OAuth2, Revocation};
use crate::http::{self, Error, Request};
use crate::userinfo::{Organization, Userinfo};
use crate::{Fault, Outcome};

/// Google as an OAuth 2.0 provider; scopes are the connector's own.
///
/// Only a request with `access_type=offline` gets a refresh token, and a user who has agreed before gets one anew only by being
/// asked again, so `prompt=consent`. The answer to a refresh has no refresh token: the old one goes on.
pub const OAUTH2: OAuth2 = OAuth2 {
    provider: "google",
    authorization_url: "https://accounts.google.com/o/oauth2/v2/auth",
    token_url: "https://oauth2.googleapis.com/token",
    revocation: Some(Revocation::Form("https://oauth2.googleapis.com/revoke")),
    authorization_parameters: &[("access_type", "offline"), ("prompt", "consent")],
    identity: Some(Identity::USERINFO),
    ..OAuth2::STANDARD
};

/// The account at Google, by one call of the upstream `userinfo`.
///
/// # Errors
/// Google's own refusal, or [`Error::BadAnswer`] when the answer names no account.
pub fn userinfo() -> Result<Outcome, Fault> {
    let claims = http::send(Request::get("userinfo", ""))?.successful()?.document()?;
    let Some(id) = claims.string("/id") else {
        return Err(Error::BadAnswer("Google's userinfo names no account: there is no `id`".to_owned()).into());
    };
    let email = claims.string("/email");
    Userinfo {
        id,
        username: email.clone(),
        email,
        name: claims.string("/name"),
        picture: claims.string("/picture"),
        // The domain of a Workspace account; others have none.
        organization: claims.string("/hd").map(|domain| Organization { id: Some(domain.clone()), name: Some(domain) }),
    }
    .answer()
}

#[cfg(test)]
mod tests {
    use super::userinfo;
    use crate::http::Error;
    use crate::testing::{Answer, Gateway};
    use crate::{Fault, Outcome};

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
    fn an_answer_without_an_account_is_not_understood() {
        let _gateway = Gateway::new().answer(Answer::json(200, "[]"));
        assert!(matches!(userinfo(), Err(Fault::Http(Error::BadAnswer(_)))));
    }

    #[test]
    fn a_refused_token_is_told_as_such() {
        let _gateway = Gateway::new().answer(Answer::json(401, r#"{"error":{"code":401}}"#));
        assert!(matches!(userinfo(), Err(Fault::Upstream(failure)) if failure.status == 401));
    }
}
