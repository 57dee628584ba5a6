//! Who a Google account is, and what its token permits.

mod token;

use connector_sdk::{connector, google};

connector! {
    /// The identity of a Google account, by OAuth 2.0.
    connector workspace_identity "Google identity (OAuth 2.0 userinfo)";

    auth Auth::OAuth2(OAuth2 {
        scopes: &[
            "openid",
            "https://www.googleapis.com/auth/userinfo.email",
            "https://www.googleapis.com/auth/userinfo.profile",
        ],
        identity: Some(Identity { operation: "userinfo", id: "/id", email: Some("/email"), name: Some("/name") }),
        ..google::OAUTH2
    });

    upstream oauth2 "https://www.googleapis.com/oauth2/v2";
    upstream userinfo "{oauth2}/userinfo";

    /// The provider's userinfo claims of the connected account
    ///
    /// They are passed on as they are: id, email, verified_email, name, given_name, family_name, picture, hd (Workspace accounts
    /// only), locale. These are the claim names of this endpoint: `id` and `verified_email`, not `sub` and `email_verified`.
    userinfo: GET userinfo "" example {};

    /// Granted scopes and remaining life of the stored access token, without showing the token
    ///
    /// Answers audience, user_id, email, verified_email, scopes (a list) and expires_in (seconds).
    token_info: read fn token::info example {};
}

#[cfg(test)]
mod operation_tests;
