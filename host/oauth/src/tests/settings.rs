use super::*;

fn missing(scheme: &Oauth2, config: &Config) -> super::super::NotConfigured {
    Provider::new("demo", scheme, &AuthAdditions::default(), config, &Recipients::OfManifest, egress(), None)
        .err()
        .unwrap()
}

#[test]
fn missing_settings_are_named_in_full() {
    let empty = Oauth2 { authorization_url: String::new(), token_url: String::new(), ..scheme() };
    let error = missing(&empty, &Config::default());
    assert_eq!(
        error.missing,
        [
            "oauth_clients.acme.client_id",
            "oauth_clients.acme.client_secret",
            "connectors.demo.oauth.authorization_url",
            "connectors.demo.oauth.token_url",
        ]
    );
    assert_eq!(error.variables()[0], "GATEWAY__OAUTH_CLIENTS__ACME__CLIENT_ID");
    assert_eq!(error.variables()[3], "GATEWAY__CONNECTORS__DEMO__OAUTH__TOKEN_URL");
    let text = missing(&scheme(), &Config::default()).to_string();
    assert_eq!(
        text,
        "the connector `demo` cannot be authorized yet; the configuration lacks \
         `oauth_clients.acme.client_id` (or GATEWAY__OAUTH_CLIENTS__ACME__CLIENT_ID), \
         `oauth_clients.acme.client_secret` (or GATEWAY__OAUTH_CLIENTS__ACME__CLIENT_SECRET)"
    );
}

#[test]
fn a_manifest_without_a_provider_needs_a_registration_under_the_connectors_identifier() {
    let error = missing(&Oauth2 { provider: String::new(), ..scheme() }, &config());
    assert_eq!(error.missing[0], "oauth_clients.demo.client_id");
}

#[test]
fn the_operators_urls_scopes_and_client_replace_the_manifests() {
    let mut config = config();
    let own = OauthClient { client_id: "own".to_owned(), client_secret: None };
    config.oauth_clients.insert("demo".to_owned(), own.into());
    config.connectors.get_mut("demo").unwrap().oauth = Oauth {
        authorization_url: Some("http://127.0.0.1:9/authorize".parse().unwrap()),
        scopes: Some(vec!["one".to_owned()]),
        ..Oauth::default()
    };
    let provider =
        Provider::new("demo", &scheme(), &AuthAdditions::default(), &config, &Recipients::OfManifest, egress(), None)
            .unwrap();
    assert_eq!(provider.scopes(), ["one"]);
    let url = provider.authorization_url(REDIRECT_URI, "s").unwrap().0;
    assert!(url.as_str().starts_with("http://127.0.0.1:9/authorize?"), "{url}");
    assert_eq!((query(&url)["client_id"].as_str(), query(&url)["scope"].as_str()), ("own", "one"));
}

#[test]
fn a_manifest_may_leave_urls_empty_that_the_operator_sets() {
    let empty = Oauth2 { authorization_url: String::new(), token_url: String::new(), ..scheme() };
    let mut config = config();
    config.connectors.get_mut("demo").unwrap().oauth = Oauth {
        authorization_url: Some("https://people.example/authorize".parse().unwrap()),
        token_url: Some("https://people.example/token".parse().unwrap()),
        ..Oauth::default()
    };
    assert!(
        Provider::new("demo", &empty, &AuthAdditions::default(), &config, &Recipients::OfManifest, egress(), None)
            .is_ok()
    );
}

#[test]
fn missing_grants_are_named_after_missing_settings() {
    let mut error = missing(&scheme(), &Config::default());
    error.missing.truncate(1);
    error.ungranted = vec!["acme.example".to_owned(), "login.acme.example:8443".to_owned()];
    assert_eq!(
        error.to_string(),
        "the connector `demo` cannot be authorized yet; the configuration lacks \
         `oauth_clients.acme.client_id` (or GATEWAY__OAUTH_CLIENTS__ACME__CLIENT_ID); \
         it was not granted acme.example, login.acme.example:8443"
    );
}
