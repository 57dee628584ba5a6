//! Parts of manifests for the tests of other crates.

use crate::{ClientAuthentication, Oauth2};

/// A provider that follows the standards: PKCE, and the client in the body.
#[must_use]
pub fn scheme() -> Oauth2 {
    Oauth2 {
        provider: "acme".to_owned(),
        authorization_url: "https://accounts.acme.example/authorize".to_owned(),
        token_url: "https://accounts.acme.example/token".to_owned(),
        refresh_url: None,
        revocation: None,
        scopes: vec!["profile".to_owned(), "events.read".to_owned()],
        scope_separator: " ".to_owned(),
        scope_parameter: "scope".to_owned(),
        authorization_parameters: Vec::new(),
        token_parameters: Vec::new(),
        pkce: true,
        client_authentication: ClientAuthentication::Body,
        token_pointer: String::new(),
        default_lifetime_seconds: None,
        form_field: None,
        revokes_replaced_grants: false,
        identity: None,
    }
}
