use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::ExposeSecret;

use super::{Oauth2, REDIRECT_URI, fields, provider, query, scheme};

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn the_authorization_url_has_every_parameter_of_the_standard() {
    let (url, verifier) = provider(&scheme()).authorization_url(REDIRECT_URI, "the state").unwrap();
    let verifier = verifier.unwrap();
    assert_eq!(verifier.expose_secret().len(), 43);
    let challenge = URL_SAFE_NO_PAD.encode(store::digest::sha256(verifier.expose_secret().as_bytes()));
    assert!(url.as_str().starts_with("https://accounts.acme.example/authorize?"));
    assert_eq!(
        fields(&query(&url)),
        [
            "client_id=client:1".to_owned(),
            format!("code_challenge={challenge}"),
            "code_challenge_method=S256".to_owned(),
            format!("redirect_uri={REDIRECT_URI}"),
            "response_type=code".to_owned(),
            "scope=profile events.read".to_owned(),
            "state=the state".to_owned(),
        ]
    );
}

#[test]
fn two_authorizations_have_different_verifiers() {
    let provider = provider(&scheme());
    let verifier = || provider.authorization_url(REDIRECT_URI, "s").unwrap().1.unwrap().expose_secret().to_owned();
    assert_ne!(verifier(), verifier());
}

#[test]
fn a_provider_without_pkce_gets_no_challenge() {
    let (url, verifier) = provider(&Oauth2 { pkce: false, ..scheme() }).authorization_url(REDIRECT_URI, "s").unwrap();
    assert!(verifier.is_none());
    assert!(!url.as_str().contains("code_challenge"), "{url}");
}

#[test]
fn scopes_are_joined_and_named_as_the_manifest_says() {
    let scheme = Oauth2 {
        scopes: vec!["channels:read".to_owned(), "users:read".to_owned()],
        scope_separator: ",".to_owned(),
        scope_parameter: "user_scope".to_owned(),
        ..scheme()
    };
    let query = query(&provider(&scheme).authorization_url(REDIRECT_URI, "s").unwrap().0);
    assert_eq!(query["user_scope"], "channels:read,users:read");
    assert!(!query.contains_key("scope"));
}

#[test]
fn without_scopes_there_is_no_scope_parameter() {
    let query =
        query(&provider(&Oauth2 { scopes: Vec::new(), ..scheme() }).authorization_url(REDIRECT_URI, "s").unwrap().0);
    assert!(!query.contains_key("scope"));
}

#[test]
fn the_manifests_parameters_are_added_and_the_urls_query_is_kept() {
    let scheme = Oauth2 {
        authorization_url: "https://accounts.acme.example/authorize?request=authorize".to_owned(),
        authorization_parameters: pairs(&[("access_type", "offline"), ("prompt", "consent")]),
        ..scheme()
    };
    let query = query(&provider(&scheme).authorization_url(REDIRECT_URI, "s").unwrap().0);
    for (name, value) in [("access_type", "offline"), ("prompt", "consent"), ("request", "authorize")] {
        assert_eq!(query[name], value);
    }
}

#[test]
fn a_manifest_cannot_set_parameters_of_the_protocol() {
    let scheme = Oauth2 {
        authorization_parameters: pairs(&[
            ("redirect_uri", "https://evil.example"),
            ("state", "x"),
            ("client_id", "x"),
            ("response_type", "code"),
        ]),
        ..scheme()
    };
    let query = query(&provider(&scheme).authorization_url(REDIRECT_URI, "s").unwrap().0);
    assert_eq!((query["redirect_uri"].as_str(), query["state"].as_str()), (REDIRECT_URI, "s"));
}

#[test]
fn an_issuer_is_of_the_site_of_the_authorization_url() {
    let provider = provider(&scheme());
    for own in
        ["https://accounts.acme.example", "https://accounts.acme.example/", "https://id.acme.example/tenant/v2.0"]
    {
        assert!(provider.is_issuer(own), "{own}");
    }
    for other in ["https://evil.example", "https://acme.example.evil.test", "http://accounts.acme.example", "acme", ""]
    {
        assert!(!provider.is_issuer(other), "{other}");
    }
}
