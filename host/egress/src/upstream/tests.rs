use std::sync::Arc;
use std::time::Duration;

use proptest::{prop_assert, prop_assert_eq, proptest};
use url::Url;

use super::super::EgressError;
use super::{Location, Pacing, Upstream, UpstreamSettings};

fn settings(base_url: &str, granted: &[&str]) -> UpstreamSettings {
    UpstreamSettings {
        name: "api".to_owned(),
        base_url: base_url.to_owned(),
        granted_hosts: granted.iter().map(|host| (*host).to_owned()).collect(),
        ..UpstreamSettings::default()
    }
}

fn target(base_url: &str, path: &str) -> String {
    let host = base_url.trim_start_matches("https://").split('/').next().unwrap();
    Upstream::new(settings(base_url, &[host])).unwrap().target(path).unwrap().into()
}

#[test]
fn a_path_is_appended_to_the_base_url() {
    let cases = [
        ("https://api.example.com", "/a?b=c", "https://api.example.com/a?b=c"),
        ("https://api.example.com/", "/a", "https://api.example.com/a"),
        ("https://api.example.com/v1", "/a%2Fb", "https://api.example.com/v1/a%2Fb"),
        ("https://api.example.com/v1/", "/a", "https://api.example.com/v1/a"),
        ("https://api.example.com/v1/", "", "https://api.example.com/v1/"),
        ("https://api.example.com/v1", "?q=1", "https://api.example.com/v1?q=1"),
        ("https://api.example.com", "?q=1", "https://api.example.com/?q=1"),
        ("https://API.Example.com:443/v1", "/@evil.test/{x}", "https://api.example.com/v1/@evil.test/%7Bx%7D"),
        ("https://api.example.com:8443", "/:80", "https://api.example.com:8443/:80"),
    ];
    for (base_url, path, expected) in cases {
        assert_eq!(target(base_url, path), expected, "{base_url} {path}");
    }
}

proptest! {
    #[test]
    fn any_path_that_keeps_to_the_rules_makes_the_url_that_its_text_makes(path in "(/[!-.0-~]{0,20}){0,4}(\\?[!-~]{0,20})?") {
        for base_url in ["https://api.example.com", "https://api.example.com:8443/v1/a%20b/"] {
            let upstream = Upstream::new(settings(base_url, &["api.example.com", "api.example.com:8443"])).unwrap();
            if let Ok(location) = upstream.locate(&path, None) {
                let beginning = if path.starts_with('/') { base_url.trim_end_matches('/') } else { base_url };
                let url = Url::parse(&format!("{beginning}{path}")).unwrap();
                // The URL is sent as it is, however it was made.
                prop_assert_eq!(location.uri().unwrap(), url.as_str());
                prop_assert_eq!(location.url(), url);
            }
        }
    }

    #[test]
    fn a_plain_path_makes_an_address_without_parsing(path in "(/[a-zA-Z0-9._~!$&()*+,;=:@%-]{1,20}){1,4}(\\?[a-z0-9=&%/?]{0,20})?") {
        let upstream = Upstream::new(settings("https://api.example.com/v1", &["api.example.com"])).unwrap();
        if let Ok(location) = upstream.locate(&path, None) {
            let is_at_origin = matches!(location, Location::AtOrigin { .. });
            prop_assert!(is_at_origin);
            let uri = location.uri().unwrap();
            let url = Url::parse(&format!("https://api.example.com/v1{path}")).unwrap();
            prop_assert_eq!(uri, url.as_str());
        }
    }
}

#[test]
fn the_clones_of_an_authority_are_counted_for_each_request() {
    let upstream = Upstream::new(settings("https://api.example.com:8443", &["api.example.com:8443"])).unwrap();
    let uris = [(), ()].map(|()| upstream.locate("/items", None).unwrap().uri().unwrap());
    let [one, other] = uris.each_ref().map(|uri| uri.authority().unwrap().as_str());
    assert_eq!((one, other), ("api.example.com:8443", "api.example.com:8443"));
    assert_ne!(one.as_ptr(), other.as_ptr(), "they share their bytes, and the count of references to them");
}

#[test]
fn grants_are_exact_in_host_and_port() {
    let granted =
        |base_url: &str, granted: &str| Upstream::new(settings(base_url, &[granted])).unwrap().target("/").is_ok();
    assert!(granted("https://api.example.com", "api.example.com"));
    assert!(granted("https://api.example.com", "API.example.com:443"));
    assert!(granted("http://api.example.com", "api.example.com"));
    assert!(granted("https://api.example.com:8443", "api.example.com:8443"));
    assert!(granted("https://bücher.example", "xn--bcher-kva.example"));
    assert!(!granted("https://api.example.com:8443", "api.example.com"));
    assert!(!granted("https://api.example.com", "api.example.com:80"));
    assert!(!granted("https://api.example.com", "example.com"));
    assert!(!granted("https://evil-api.example.com", "api.example.com"));
    assert!(!granted("https://api.example.com.evil.test", "api.example.com"));
    assert!(!granted("https://api.example.com.", "api.example.com"));
}

#[test]
fn the_base_url_of_an_account_is_below_the_granted_site_and_nowhere_else() {
    let of_site = |granted: &[&str]| {
        Upstream::new(UpstreamSettings { differs_by_account: true, ..settings("", granted) }).unwrap()
    };
    let template = of_site(&["*.acme.example"]);
    assert_eq!(template.target("/a"), Err(EgressError::NoAccountUrl { upstream: "api".to_owned() }));
    let at = |url: &str| template.at(url, Some("acme.example"));
    assert_eq!(
        at("https://ann.acme.example/v1").unwrap().target("/a").unwrap().as_str(),
        "https://ann.acme.example/v1/a"
    );
    for url in [
        "https://acme.example",
        "https://ann.acme.example:8443",
        "http://ann.acme.example",
        "https://evilacme.example",
        "https://ann.acme.example.evil.test",
        "https://ann@evil.test/.acme.example",
        "https://127.0.0.1",
    ] {
        assert!(matches!(at(url), Err(EgressError::InvalidRequest { .. })), "{url}");
    }
    let ungranted = of_site(&["ann.acme.example"]).at("https://ann.acme.example", Some("acme.example")).unwrap();
    let Err(EgressError::Denied { detail }) = ungranted.target("/") else { panic!() };
    assert!(detail.contains("acme.example were not granted"), "{detail}");
    // A path that differs needs the grant of the host.
    let in_path = of_site(&["api.acme.example"]).at("https://api.acme.example/ex/c-1", None).unwrap();
    assert_eq!(in_path.target("/x").unwrap().as_str(), "https://api.acme.example/ex/c-1/x");
    assert!(of_site(&[]).at("https://api.acme.example/ex/c-1", None).unwrap().target("/x").is_err());
}

#[test]
fn only_the_origin_of_the_account_itself_is_owned_and_accounts_share_a_queue() {
    let pacing = Some(Pacing { interval: Duration::from_secs(1), concurrency: 1, max_wait: Duration::ZERO });
    let paced = UpstreamSettings { differs_by_account: true, pacing, ..settings("", &["*.acme.example"]) };
    let template = Upstream::new(paced).unwrap();
    let [ann, bob] =
        ["ann", "bob"].map(|name| template.at(&format!("https://{name}.acme.example"), Some("acme.example")).unwrap());
    let url = |text: &str| Url::parse(text).unwrap();
    assert!(ann.owns(&url("https://ann.acme.example/x")) && !ann.owns(&url("https://bob.acme.example/x")));
    // A redirect to the host of another account is no way for the credential.
    assert!(ann.permit(&url("https://bob.acme.example/x"), "redirects to").is_err());
    assert!(Arc::ptr_eq(ann.pacer.as_ref().unwrap(), bob.pacer.as_ref().unwrap()));
}

#[test]
fn wrong_addresses_in_the_settings_are_refused() {
    let base_urls = "api.example.com ftp://a.test file:///a https://user@a.test https://:p@a.test https://a.test?q https://a.test#f https://";
    for base_url in base_urls.split(' ') {
        assert!(Upstream::new(settings(base_url, &["a.test"])).is_err(), "{base_url}");
    }
    for host in ["*.", "https://a.test", "a.test/x", "user@a.test", "", "a.test:99999", "a b"] {
        assert!(Upstream::new(settings("https://a.test", &[host])).is_err(), "{host}");
    }
}

#[test]
fn forbidden_addresses_are_refused_before_anything_is_sent() {
    for host in ["127.0.0.1", "10.0.0.1", "[::1]", "[fd00::1]:8443"] {
        let base_url = format!("https://{host}");
        let guarded = Upstream::new(settings(&base_url, &[host])).unwrap();
        assert!(matches!(guarded.target("/"), Err(EgressError::Denied { .. })), "{host}");
        let open = UpstreamSettings { allow_private_network: true, ..settings(&base_url, &[host]) };
        assert!(Upstream::new(open).unwrap().target("/").is_ok(), "{host}");
    }
}

#[test]
fn a_queue_survives_a_swap_if_place_and_pace_are_the_same() {
    let paced = |base_url: &str, seconds| {
        let pacing =
            Pacing { interval: Duration::from_secs(seconds), concurrency: 1, max_wait: Duration::from_secs(9) };
        Upstream::new(UpstreamSettings { pacing: Some(pacing), ..settings(base_url, &["a.test"]) }).unwrap()
    };
    let old = paced("https://a.test/v1", 3);
    for (mut new, same) in [
        (paced("https://a.test/v2", 3), true),
        (paced("https://a.test/v1", 4), false),
        (paced("https://b.test/v1", 3), false),
    ] {
        new.inherit(&old);
        assert_eq!(Arc::ptr_eq(new.pacer.as_ref().unwrap(), old.pacer.as_ref().unwrap()), same);
    }
}
