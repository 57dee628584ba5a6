use contract::{AddressPart, ApiKey, Imprint, KeyHeader, PartForm, PartSource, UpstreamAdditions};

use super::*;

fn upstream(name: &str, base_url: &str) -> contract::Upstream {
    contract::Upstream {
        name: name.to_owned(),
        base_url: base_url.to_owned(),
        credential: contract::CredentialUse::Standard,
        link_hosts: Vec::new(),
        pacing: None,
    }
}

fn manifest(auth: AuthScheme, upstreams: Vec<contract::Upstream>) -> Manifest {
    Manifest {
        identifier: "demo".to_owned(),
        version: String::new(),
        title: String::new(),
        description: String::new(),
        imprint: Imprint { license: String::new(), homepage: None, author: None, icon: None },
        auth,
        upstreams,
        rate_limits: Vec::new(),
        settings: Vec::new(),
        operations: Vec::new(),
    }
}

fn key(placement: KeyPlacement) -> AuthScheme {
    AuthScheme::ApiKey(ApiKey { placement, form_field: Some("token".to_owned()), check: None })
}

/// The address of `userinfo`, which the manifest puts below `api`.
fn userinfo(api: &str, config: &config::Connector) -> (String, bool) {
    let none = Additions::default();
    let api = address(&upstream("api", api), &none, config, &HashMap::new());
    let userinfo = address(&upstream("userinfo", "{api}/me"), &none, config, &HashMap::from([("api", api)]));
    (userinfo.base_url, userinfo.by_operator)
}

#[test]
fn an_upstream_below_another_follows_its_address() {
    let mut config = config::Connector::default();
    assert_eq!(userinfo("https://a.test/v1", &config), ("https://a.test/v1/me".to_owned(), false));
    assert_eq!(userinfo("", &config), (String::new(), false));
    config.upstreams.insert("api".to_owned(), "http://localhost:9000".parse().unwrap());
    assert_eq!(userinfo("https://a.test/v1", &config), ("http://localhost:9000/me".to_owned(), true));
}

#[test]
fn the_operators_url_may_have_the_declared_parts_of_an_address_in_its_path() {
    let part = AddressPart {
        name: "cloud".to_owned(),
        title: "Cloud".to_owned(),
        form: PartForm::Segment,
        max_length: 64,
        source: PartSource::User,
    };
    let additions =
        Additions { upstreams: UpstreamAdditions { parts: vec![part], sites: Vec::new() }, ..Additions::default() };
    let mut config = config::Connector::default();
    config.upstreams.insert("api".to_owned(), "http://localhost:9000/{cloud}/{other}".parse().unwrap());
    let api = address(&upstream("api", "https://a.test"), &additions, &config, &HashMap::new());
    assert_eq!(api.base_url, "http://localhost:9000/{cloud}/%7Bother%7D");
}

#[test]
fn the_operator_can_set_the_address_of_userinfo() {
    let mut config = config::Connector::default();
    config.oauth.userinfo_url = Some("https://id.test/claims".parse().unwrap());
    assert_eq!(userinfo("https://a.test/v1", &config), ("https://id.test/claims".to_owned(), true));
    let other = address(&upstream("api", "https://a.test"), &Additions::default(), &config, &HashMap::new());
    assert_eq!((other.base_url.as_str(), other.by_operator), ("https://a.test", false));
}

#[test]
fn link_hosts_are_granted_one_by_one_and_wildcards_as_they_are_written() {
    let mut api = upstream("api", "https://api.acme.com/v1");
    api.link_hosts = vec!["files.acme.com".to_owned(), "*.acme.com".to_owned()];
    let manifest = manifest(AuthScheme::None, vec![api]);
    let reach = |shipped: bool, grants: &[&str], config: &config::Connector| {
        let grants: Vec<String> = grants.iter().map(|host| (*host).to_owned()).collect();
        let (none, metrics) = (Additions::default(), Metrics::default());
        let reach = super::reach(&manifest, &none, shipped, &grants, config, &metrics, None).unwrap();
        (
            reach.granted.into_iter().collect::<Vec<_>>().join(" "),
            reach.missing.into_iter().collect::<Vec<_>>().join(" "),
        )
    };
    let none = config::Connector::default();
    let all = "*.acme.com api.acme.com files.acme.com";
    assert_eq!(reach(true, &[], &none), (all.to_owned(), String::new()));
    assert_eq!(reach(false, &[], &none), (String::new(), all.to_owned()));
    assert_eq!(
        reach(false, &["*.acme.com"], &none),
        ("*.acme.com".to_owned(), "api.acme.com files.acme.com".to_owned()),
        "a wildcard does not grant the hosts that it covers"
    );
    let mut set = config::Connector::default();
    set.link_hosts.insert("api".to_owned(), vec!["127.0.0.1:9001".to_owned()]);
    assert_eq!(reach(false, &[], &set).0, "127.0.0.1:9001", "the operator's own entries are granted");
}

#[test]
fn a_shell_takes_no_host_of_the_command_that_grants_for_names_of_files() {
    let hosts = ["api.acme.com:8443", "*.acme.com", "[::1]"];
    assert_eq!(grant_command("mail", &hosts), format!("{GRANT_COMMAND} mail api.acme.com:8443 '*.acme.com' '[::1]'"));
}

#[test]
fn the_place_of_the_credential_is_shown_for_each_upstream() {
    use contract::CredentialUse::{FormField, None as Nothing, Standard};
    let header = KeyHeader { name: "X-Key".to_owned(), prefix: String::new() };
    for (auth, declared, shown) in [
        (key(KeyPlacement::Header(header)), Standard, Some(("header", "X-Key"))),
        (key(KeyPlacement::Basic), Standard, Some(("header", "Authorization"))),
        (key(KeyPlacement::Query("key".to_owned())), Standard, Some(("query", "key"))),
        (key(KeyPlacement::Query("key".to_owned())), FormField, Some(("form_field", "token"))),
        (AuthScheme::Oauth2(contract::sample::scheme()), Standard, Some(("header", "Authorization"))),
        (key(KeyPlacement::Basic), Nothing, None),
        (AuthScheme::None, Standard, None),
    ] {
        let place = credential_place(declared, &auth);
        assert_eq!(place.as_ref().map(|place| (place.part, place.name.as_str())), shown);
    }
}

#[test]
fn a_form_field_refuses_the_other_names_of_the_credential() {
    let query = key(KeyPlacement::Query("api_key".to_owned()));
    let CredentialUse::FormField(field) = credential_use(contract::CredentialUse::FormField, &query) else { panic!() };
    assert_eq!(
        (field.name.as_str(), field.other_names),
        ("token", vec!["access_token".to_owned(), "api_key".to_owned()])
    );
    let mut scheme = contract::sample::scheme();
    scheme.form_field = Some("token".to_owned());
    let oauth2 = AuthScheme::Oauth2(scheme);
    let CredentialUse::FormField(field) = credential_use(contract::CredentialUse::FormField, &oauth2) else { panic!() };
    assert_eq!(field.other_names, ["access_token"]);
}

#[test]
fn a_credential_goes_over_http_only_where_the_operator_says_so() {
    let metrics = Metrics::default();
    let reached = |auth, base_url: &str, config: &config::Connector| {
        let manifest = manifest(auth, vec![upstream("api", base_url)]);
        reach(&manifest, &Additions::default(), false, &[], config, &metrics, None).map(drop)
    };
    let basic = || key(KeyPlacement::Basic);
    let unset = config::Connector::default();
    let refusal = reached(basic(), "http://api.example/v1", &unset).unwrap_err();
    assert!(refusal.contains("`http`") && refusal.contains("connectors.demo.upstreams.api"), "{refusal}");
    assert!(reached(basic(), "http://127.0.0.1:1", &unset).is_err());
    for (auth, base_url) in [(basic(), "https://api.example"), (AuthScheme::None, "http://api.example")] {
        assert!(reached(auth, base_url, &unset).is_ok(), "{base_url}");
    }
    let mut set = config::Connector::default();
    set.upstreams.insert("api".to_owned(), "http://people.intern".parse().unwrap());
    assert!(reached(basic(), "http://api.example/v1", &set).is_ok());
}
