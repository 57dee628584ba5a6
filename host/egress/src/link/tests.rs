use hyper::Method;
use url::Url;

use super::super::testing::{
    Stub, TOKEN, answer, egress, fetch, get, in_form_field, ok, request, upstream, with_token,
};
use super::super::{Body, Credential, EgressError, Headers, Link, Request, Target, Upstream, UpstreamSettings};

/// An upstream at `https://api.example.com/v1` in the public internet.
fn public(link_hosts: &[&str], granted: &[&str]) -> Upstream {
    let owned = |hosts: &[&str]| hosts.iter().map(|host| (*host).to_owned()).collect();
    Upstream::new(UpstreamSettings {
        name: "api".to_owned(),
        base_url: "https://api.example.com/v1".to_owned(),
        granted_hosts: owned(granted),
        link_hosts: owned(link_hosts),
        ..UpstreamSettings::default()
    })
    .unwrap()
}

fn decide(address: &str) -> Result<String, EgressError> {
    let hosts = ["api.example.com", "files.example.com", "*.acme-files.com", "127.0.0.1", "[::1]"];
    let base = Url::parse("https://api.example.com/v1/items/7").unwrap();
    public(&hosts, &hosts).link(&base, address, None).map(|link| link.url.to_string())
}

fn to(link: Link, request: Request) -> Request {
    Request { target: Target::Link(link), ..request }
}

#[test]
fn an_address_is_resolved_against_the_url_of_the_response() {
    for (address, url) in [
        ("https://api.example.com/v2/next?page=2#top", "https://api.example.com/v2/next?page=2"),
        ("/v1/next", "https://api.example.com/v1/next"),
        ("?page=2", "https://api.example.com/v1/items/7?page=2"),
        ("../other", "https://api.example.com/v1/other"),
        ("//files.example.com/f", "https://files.example.com/f"),
        ("https://acme.acme-files.com/upload?guid=1", "https://acme.acme-files.com/upload?guid=1"),
    ] {
        assert_eq!(decide(address).unwrap(), url);
    }
}

#[test]
fn a_link_leads_to_the_upstream_or_to_its_link_hosts() {
    for address in [
        "https://other.example.com/",
        "https://acme-files.com/",
        "https://files.example.com:8443/",
        "https://127.0.0.1/",
        "https://[::1]/",
    ] {
        assert!(
            matches!(decide(address), Err(EgressError::NotLinked { .. } | EgressError::Denied { .. })),
            "{address}"
        );
    }
    let base = Url::parse("https://api.example.com/v1").unwrap();
    let listed_only = public(&["files.example.com", "*.acme.com"], &["api.example.com"]);
    for address in ["https://files.example.com/", "https://a.acme.com/"] {
        let error = listed_only.link(&base, address, None).unwrap_err();
        assert!(matches!(&error, EgressError::Denied { detail } if detail.contains("granted")), "{error}");
    }
}

#[test]
fn a_wildcard_does_not_grant_the_host_of_the_base_url() {
    let error = public(&["*.example.com"], &["*.example.com"]).target("/").unwrap_err();
    assert!(matches!(&error, EgressError::Denied { detail } if detail.contains("not granted")), "{error}");
}

#[test]
fn a_text_that_is_not_an_https_url_is_no_link() {
    for address in [
        "",
        "http://api.example.com/",
        "ftp://api.example.com/",
        "javascript:0",
        "https://",
        "https://user:pass@api.example.com/",
        "https://api.example.com/a%0d%0aHost:x",
        "/a%2500",
    ] {
        assert!(matches!(decide(address), Err(EgressError::BadResponse { .. })), "{address}");
    }
    assert!(decide(&format!("/{}", "a".repeat(16 << 10))).is_err());
}

#[test]
fn a_link_to_another_origin_does_not_contain_the_credential() {
    let base = Url::parse("https://api.example.com/v1").unwrap();
    let upstream = public(&["files.example.com"], &["api.example.com", "files.example.com"]);
    for (secret, address) in
        [(TOKEN, "https://files.example.com/?a=tok-3f%2F9%2BA~secret"), ("k1", "//files.example.com/?k=k1")]
    {
        let credential = Credential::query("key", secret.into());
        let error = upstream.link(&base, address, Some(&credential)).unwrap_err();
        assert!(!error.to_string().contains(secret), "{error}");
    }
    let credential = Credential::query("key", "k1".into());
    assert!(upstream.link(&base, "/?key=k1", Some(&credential)).is_ok(), "the upstream's own");
}

#[tokio::test]
async fn a_link_to_the_upstream_itself_carries_the_credential_as_declared() {
    let stub = Stub::start(|_, _| ok("")).await;
    let standard = upstream(&stub.url(), &[]);
    let base = Url::parse(&stub.url()).unwrap();
    let link = standard.link(&base, "/next?page=2", None).unwrap();
    fetch(&egress(), &standard, &to(link.clone(), with_token(get("")))).await.unwrap();
    let keyed = Request { credential: Some(Credential::query("key", "k-12345678".into())), ..get("") };
    fetch(&egress(), &standard, &to(link.clone(), keyed)).await.unwrap();
    let form = in_form_field(&stub.url(), &[]);
    fetch(&egress(), &form, &to(link, with_token(request(Method::POST, "")))).await.unwrap();
    let seen = stub.seen();
    assert_eq!(seen[0].path, "/next?page=2");
    assert!(seen[0].header("authorization").is_some());
    assert_eq!(seen[1].path, "/next?page=2&key=k-12345678");
    assert_eq!((seen[2].path.as_str(), seen[2].header("authorization")), ("/next?page=2", None));
    assert!(seen[2].body.starts_with(b"token="));
}

#[tokio::test]
async fn a_link_that_another_origin_gave_does_not_carry_the_credential_back() {
    let stub = Stub::start(|_, _| ok("")).await;
    let base = Url::parse("http://files.example/folder").unwrap();
    let key = Credential::query("key", "k-12345678".into());
    for upstream in [upstream(&stub.url(), &[]), in_form_field(&stub.url(), &[])] {
        let link = upstream.link(&base, &format!("{}/next", stub.url()), None).unwrap();
        let post = request(Method::POST, "");
        fetch(&egress(), &upstream, &to(link.clone(), with_token(post.clone()))).await.unwrap();
        fetch(&egress(), &upstream, &to(link, Request { credential: Some(key.clone()), ..post })).await.unwrap();
    }
    assert_eq!(stub.seen().len(), 4);
    for seen in stub.seen() {
        assert_eq!((seen.path.as_str(), seen.header("authorization"), seen.body.len()), ("/next", None, 0), "{seen:?}");
    }
}

#[tokio::test]
async fn a_link_of_another_place_at_the_origin_does_not_carry_the_credential() {
    let stub = Stub::start(|_, _| ok("")).await;
    let upstream = upstream(&stub.url(), &[]);
    let link = upstream.link(&Url::parse(&stub.url()).unwrap(), "/next", None).unwrap();
    assert!(link.is_own(&upstream));
    fetch(&egress(), &upstream, &to(link.of_another_place(), with_token(get("")))).await.unwrap();
    assert_eq!((stub.seen()[0].path.as_str(), stub.seen()[0].header("authorization")), ("/next", None));
}

#[tokio::test]
async fn a_link_to_another_host_has_the_headers_of_the_request_and_no_credential() {
    let other =
        Stub::start(|seen, _| if seen.path == "/moved" { answer(307, &[("location", "/file")], "") } else { ok("") })
            .await;
    let stub = Stub::start(|_, _| ok("")).await;
    let host = [other.address.to_string()];
    let base = Url::parse(&stub.url()).unwrap();
    let headers = || Headers::untrusted([("Content-Range", "bytes 0-1/2")]).unwrap();
    for upstream in [upstream(&stub.url(), &host), in_form_field(&stub.url(), &host)] {
        let link = upstream.link(&base, &format!("{}/moved", other.url()), None).unwrap();
        for credential in [Credential::bearer(TOKEN.into()).unwrap(), Credential::query("key", TOKEN.into())] {
            let body = Body::Json("{}".into());
            let put = Request { credential: Some(credential), headers: headers(), body, ..request(Method::PUT, "") };
            assert!(fetch(&egress(), &upstream, &to(link.clone(), put)).await.is_ok());
        }
    }
    assert_eq!(other.seen().len(), 8);
    for seen in other.seen() {
        assert!(!format!("{seen:?}").contains("secret"), "{seen:?}");
        assert_eq!(seen.header("content-range"), Some("bytes 0-1/2"), "the redirect stays at the host");
    }
    assert!(stub.seen().is_empty());
}

#[tokio::test]
async fn a_link_that_redirects_to_another_origin_loses_its_headers_and_never_gets_the_credential() {
    let stub = Stub::start(|_, _| ok("")).await;
    let home = stub.url();
    let other = Stub::start(move |_, _| answer(307, &[("location", &home)], "")).await;
    let upstream = upstream(&stub.url(), &[other.address.to_string()]);
    let link = upstream.link(&Url::parse(&stub.url()).unwrap(), &other.url(), None).unwrap();
    let headers = Headers::untrusted([("X-Upload-Key", "k")]).unwrap();
    fetch(&egress(), &upstream, &to(link, Request { headers, ..with_token(get("")) })).await.unwrap();
    let seen = &stub.seen()[0];
    assert_eq!((seen.header("x-upload-key"), seen.header("authorization")), (None, None));
}

#[tokio::test]
async fn a_link_of_another_upstream_is_refused() {
    let stub = Stub::start(|_, _| ok("")).await;
    let other = Upstream::new(UpstreamSettings {
        name: "other".to_owned(),
        base_url: stub.url(),
        granted_hosts: vec![stub.address.to_string()],
        allow_private_network: true,
        ..UpstreamSettings::default()
    })
    .unwrap();
    let link = other.link(&Url::parse(&stub.url()).unwrap(), "/a", None).unwrap();
    let error = fetch(&egress(), &upstream(&stub.url(), &[]), &to(link, get(""))).await.unwrap_err();
    assert!(matches!(&error, EgressError::InvalidRequest { detail } if detail.contains("`other`")), "{error}");
    assert!(stub.seen().is_empty());
}
