//! The identity of a Google account, and the scopes of its access token.

mod token;

use connector_sdk::connector;

connector! {
    /// The identity of a Google account and the scopes of its access token.
    connector workspace_identity "Google identity (OAuth 2.0 userinfo)";
    icon "../icon.svg";
    answer_examples "answers.json";

    auth Auth::OAuth2(OAuth2 {
        scopes: &[
            "openid",
            "https://www.googleapis.com/auth/userinfo.email",
            "https://www.googleapis.com/auth/userinfo.profile",
        ],
        form_field: Some("access_token"),
        identity: Some(Identity { operation: "userinfo", id: "/id", email: Some("/email"), name: Some("/name") }),
        ..connector_google::OAUTH2
    });
    auth_additions connector_google::AUTH_ADDITIONS;

    upstream oauth2 "https://www.googleapis.com/oauth2/v2" credential form_field;
    upstream userinfo "{oauth2}/userinfo" credential standard;

    /// The provider's userinfo claims of the connected account
    ///
    /// The answer is Google's: id, email, verified_email, name, given_name, family_name, picture,
    /// hd (Workspace accounts only), locale. This endpoint names the claims `id` and
    /// `verified_email`, not `sub` and `email_verified`.
    userinfo: GET userinfo "" example {};

    /// Granted scopes and remaining life of the stored access token, without showing the token
    ///
    /// The answer has the members audience, user_id, email, verified_email, scopes (a list) and
    /// expires_in (seconds).
    token_info: read fn token::info example {};
}

#[cfg(test)]
mod operation_tests;
