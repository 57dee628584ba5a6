use hyper::header::{HeaderMap, LOCATION};
use hyper::{Method, StatusCode};

use super::super::send::Repeats;
use super::super::testing::{Stub, answer, egress, fetch, get, in_form_field, ok, request, upstream, with_token};
use super::super::{Body, Credential, EgressError, Headers, Request, UpstreamSettings};
use super::{Hop, Location, Upstream};

/// Redirects `/start` to a place, and responds to all other paths.
async fn redirecting(status: u16, location: String) -> Stub {
    Stub::start(move |seen, _| {
        if seen.path.starts_with("/start") {
            answer(status, &[("location", &location)], "moved")
        } else {
            ok("arrived")
        }
    })
    .await
}

fn host(stub: &Stub) -> String {
    stub.address.to_string()
}

#[tokio::test]
async fn a_redirect_within_the_origin_keeps_the_credential() {
    let stub = redirecting(302, "/there?x=1#part".to_owned()).await;
    let (status, body) = fetch(&egress(), &upstream(&stub.url(), &[]), &with_token(get("/start"))).await.unwrap();
    assert_eq!((status, body.as_str()), (200, "arrived"));
    assert_eq!(stub.seen()[1].path, "/there?x=1");
    assert!(stub.seen()[1].header("authorization").is_some());

    let keyed = Request { credential: Some(Credential::query("key", "k-12345678".into())), ..get("/start") };
    fetch(&egress(), &upstream(&stub.url(), &[]), &keyed).await.unwrap();
    assert_eq!(stub.seen()[3].path, "/there?x=1&key=k-12345678");
}

#[tokio::test]
async fn a_redirect_to_another_origin_takes_no_credential_along() {
    let other = Stub::start(|_, _| ok("file")).await;
    let stub = redirecting(307, format!("{}/file", other.url())).await;
    let own_headers = || Headers::untrusted([("X-Secret", "s"), ("Accept", "text/plain")]).unwrap();
    let credentials = [
        Credential::bearer("token-12345".into()).unwrap(),
        Credential::header("X-Key", "", "token-12345".into()).unwrap(),
        Credential::basic("ada", "token-12345".into()).unwrap(),
        Credential::query("key", "token-12345".into()),
    ];
    for credential in credentials {
        let body = Body::Form(vec![("a".to_owned(), "b".to_owned())]);
        let request =
            Request { credential: Some(credential), headers: own_headers(), body, ..request(Method::POST, "/start") };
        fetch(&egress(), &upstream(&stub.url(), &[host(&other)]), &request).await.unwrap();
    }
    for seen in other.seen() {
        assert!(!format!("{seen:?}").contains("token-12345"), "{seen:?}");
        for name in ["authorization", "x-key", "x-secret"] {
            assert_eq!(seen.header(name), None);
        }
        assert_eq!((seen.header("accept"), &seen.body[..]), (Some("text/plain"), &b"a=b"[..]));
    }
    let form = in_form_field(&stub.url(), &[host(&other)]);
    let body = Body::Form(vec![("a".to_owned(), "b".to_owned())]);
    let request = Request { body, ..with_token(request(Method::POST, "/start")) };
    fetch(&egress(), &form, &request).await.unwrap();
    assert_eq!(&other.seen()[4].body[..], b"a=b");
    assert_eq!(other.seen().len(), 5);
}

#[tokio::test]
async fn a_redirect_that_carries_the_credential_to_another_origin_is_refused() {
    let other = Stub::start(|_, _| ok("never")).await;
    let secret = "k+1/2 3456789=";
    let credentials = [Credential::query("key", secret.into()), Credential::bearer(secret.into()).unwrap()];
    let places = [
        "/x?key=k%2B1%2F2%203456789%3D",
        "/x?key=k%2B1%2F2+3456789%3D",
        "/k%2B1%2F2%203456789=/x",
        "/?k=aysxLzIgMzQ1Njc4OT0",
    ];
    for place in places {
        let stub = redirecting(307, format!("{}{place}", other.url())).await;
        for credential in &credentials {
            let request = Request { credential: Some(credential.clone()), ..request(Method::POST, "/start") };
            let error = fetch(&egress(), &upstream(&stub.url(), &[host(&other)]), &request).await.unwrap_err();
            assert!(matches!(error, EgressError::BadRedirect { .. }), "{place}: {error}");
            assert!(!error.to_string().contains("345678"), "{error}");
        }
    }
    let short = Request { credential: Some(Credential::query("key", "k1".into())), ..get("/start") };
    for (place, follows) in [("/x?key=k1", false), ("/k1/x?key=k11", true)] {
        let stub = redirecting(302, format!("{}{place}", other.url())).await;
        let answer = fetch(&egress(), &upstream(&stub.url(), &[host(&other)]), &short).await;
        assert_eq!(answer.is_ok(), follows, "{place}: {answer:?}");
    }
    assert_eq!(other.seen().len(), 1);
}

#[tokio::test]
async fn a_request_that_another_origin_sends_back_has_lost_its_credential() {
    let home = std::sync::Arc::new(std::sync::OnceLock::<String>::new());
    let back = std::sync::Arc::clone(&home);
    let other =
        Stub::start(move |_, _| answer(302, &[("location", &format!("{}/back", back.get().unwrap()))], "")).await;
    let stub = redirecting(302, format!("{}/hop", other.url())).await;
    home.set(stub.url()).unwrap();
    fetch(&egress(), &upstream(&stub.url(), &[host(&other)]), &with_token(get("/start"))).await.unwrap();
    let seen = stub.seen();
    assert_eq!(seen[1].path, "/back");
    assert_eq!(seen[1].header("authorization"), None);
}

#[tokio::test]
async fn a_redirect_to_a_host_that_is_not_listed_is_refused() {
    let other = Stub::start(|_, _| ok("never")).await;
    let stub = redirecting(302, format!("{}/?q=private", other.url())).await;
    let error = fetch(&egress(), &upstream(&stub.url(), &[]), &get("/start")).await.unwrap_err();
    assert!(matches!(error, EgressError::NotLinked { .. }), "{error}");
    assert!(!error.to_string().contains("private"), "{error}");
    assert!(other.seen().is_empty());

    let listed_only = Upstream::new(UpstreamSettings {
        base_url: stub.url(),
        granted_hosts: vec![host(&stub)],
        link_hosts: vec![host(&other)],
        allow_private_network: true,
        ..UpstreamSettings::default()
    });
    let error = fetch(&egress(), &listed_only.unwrap(), &get("/start")).await.unwrap_err();
    assert!(matches!(&error, EgressError::Denied { detail } if detail.contains("granted")), "{error}");
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn at_most_three_redirects_are_followed() {
    let stub = Stub::start(|seen, _| {
        let left: usize = seen.path[1..].parse().unwrap();
        if left == 0 { ok("end") } else { answer(302, &[("location", &format!("/{}", left - 1))], "") }
    })
    .await;
    assert_eq!(fetch(&egress(), &upstream(&stub.url(), &[]), &get("/3")).await.unwrap().1, "end");
    let error = fetch(&egress(), &upstream(&stub.url(), &[]), &get("/4")).await.unwrap_err();
    assert!(matches!(error, EgressError::BadRedirect { .. }), "{error}");
    assert_eq!(stub.seen().len(), 8);
}

#[tokio::test]
async fn a_redirect_keeps_the_method_and_the_body() {
    for (status, method) in
        [(307, Method::POST), (308, Method::POST), (301, Method::PUT), (302, Method::PATCH), (303, Method::GET)]
    {
        let stub = redirecting(status, "/end".to_owned()).await;
        let request = Request { body: Body::Json("{}".into()), ..request(method.clone(), "/start") };
        fetch(&egress(), &upstream(&stub.url(), &[]), &request).await.unwrap();
        let last = &stub.seen()[1];
        assert_eq!((&last.method, &last.body[..]), (&method, &b"{}"[..]), "{status}");
        assert!(last.header("content-type").is_some(), "{method} {status}");
    }
}

#[tokio::test]
async fn a_redirect_never_turns_a_request_that_changes_data_into_get() {
    let cases =
        [(301, Method::POST), (302, Method::POST), (303, Method::POST), (303, Method::PUT), (303, Method::DELETE)];
    for (status, method) in cases {
        let stub = redirecting(status, "/end".to_owned()).await;
        let error =
            fetch(&egress(), &upstream(&stub.url(), &[]), &request(method.clone(), "/start")).await.unwrap_err();
        assert!(matches!(&error, EgressError::BadResponse { detail, .. } if detail.contains("GET")), "{error}");
        assert_eq!(stub.seen().len(), 1, "{method} {status}");
    }
}

#[tokio::test]
async fn what_is_not_a_redirect_is_an_answer() {
    for (status, location) in [(304, "/x"), (300, "/x"), (201, "/x"), (305, "/x")] {
        let stub = redirecting(status, location.to_owned()).await;
        assert_eq!(fetch(&egress(), &upstream(&stub.url(), &[]), &get("/start")).await.unwrap().0, status);
    }
    let stub = Stub::start(|_, _| answer(302, &[], "nowhere")).await;
    assert_eq!(fetch(&egress(), &upstream(&stub.url(), &[]), &get("/")).await.unwrap(), (302, "nowhere".to_owned()));
}

/// Decides about a redirect from `https://api.example.com/v1`, in a guarded upstream that lists
/// every host in question.
fn decide(location: &str) -> Result<Option<Hop>, EgressError> {
    let hosts = ["files.example.com", "127.0.0.1", "[::1]", "10.0.0.1", "169.254.169.254"].map(str::to_owned);
    let upstream = Upstream::new(UpstreamSettings {
        name: "api".to_owned(),
        base_url: "https://api.example.com/v1".to_owned(),
        granted_hosts: [&["api.example.com".to_owned()], &hosts[..]].concat(),
        link_hosts: hosts.to_vec(),
        ..UpstreamSettings::default()
    })
    .unwrap();
    let headers = HeaderMap::from_iter([(LOCATION, location.parse().unwrap())]);
    Hop::first(&upstream, &get("/a"))?.next_hop(&upstream, &get("/a"), StatusCode::FOUND, &headers)
}

#[test]
fn a_redirect_to_a_private_address_is_refused() {
    for location in
        ["https://127.0.0.1/", "https://2130706433/", "https://[::1]/", "//10.0.0.1/", "https://169.254.169.254/latest"]
    {
        let error = decide(location).err().unwrap();
        assert!(matches!(error, EgressError::Denied { .. }), "{location}: {error}");
    }
}

#[tokio::test]
async fn a_redirect_to_a_name_of_a_private_address_is_refused() {
    let stub = Stub::start(|_, _| ok("never")).await;
    let upstream = Upstream::new(UpstreamSettings {
        base_url: "http://api.example.com".to_owned(),
        granted_hosts: vec!["api.example.com".to_owned()],
        ..UpstreamSettings::default()
    })
    .unwrap();
    let url = format!("http://other.test:{}/", stub.address.port()).parse().unwrap();
    let hop =
        Hop { location: Location::Elsewhere(url), at_upstream: false, ..Hop::first(&upstream, &get("/")).unwrap() };
    let error = egress().attempts(&upstream, &get("/"), &hop, &mut None, &mut Repeats::default()).await.unwrap_err();
    assert!(matches!(error, EgressError::Denied { .. }), "{error}");
    assert!(stub.seen().is_empty());
}

#[test]
fn a_redirect_within_the_origin_keeps_the_credential_only_below_the_base_url() {
    for location in ["/v1", "/v1/", "/v1/b?x=/../v2", "b", "https://api.example.com:443/v1/b"] {
        assert!(decide(location).unwrap().unwrap().at_upstream, "{location}");
    }
    for location in
        ["/", "/v2/b", "../v2/b", "/v1x/b", "/v1/../v2", "/v1/%2e%2e/v2", "/v1/..%2fv2", "//api.example.com/"]
    {
        let hop = decide(location).unwrap().unwrap();
        assert!(!hop.at_upstream && hop.at_origin, "{location}");
    }
}

#[tokio::test]
async fn a_redirect_out_of_the_base_url_is_followed_without_the_credential() {
    let stub = Stub::start(|seen, _| match seen.path.as_str() {
        "/v1/start" => answer(302, &[("location", "/v2/there")], ""),
        "/v2/there" => answer(302, &[("location", "/v1/back")], ""),
        _ => ok("arrived"),
    })
    .await;
    let upstream = upstream(&format!("{}/v1", stub.url()), &[]);
    let (status, body) = fetch(&egress(), &upstream, &with_token(get("/start"))).await.unwrap();
    assert_eq!((status, body.as_str()), (200, "arrived"));
    let carried: Vec<_> = stub.seen().iter().map(|seen| seen.header("authorization").is_some()).collect();
    assert_eq!(carried, [true, false, false]);
}

#[test]
fn redirects_go_to_https_and_to_nothing_else() {
    for location in
        ["http://api.example.com/", "ftp://api.example.com/", "file:///etc/passwd", "javascript:0", "https://"]
    {
        let error = decide(location).err().unwrap();
        assert!(matches!(error, EgressError::BadRedirect { .. }), "{location}: {error}");
    }
    assert!(matches!(decide("https://user:pass@api.example.com/"), Err(EgressError::BadRedirect { .. })));
    let hop = decide("https://files.example.com/f").unwrap().unwrap();
    assert!(!hop.at_upstream);
    let hop = decide("../v1/b").unwrap().unwrap();
    assert!(hop.at_upstream);
    assert_eq!(hop.location.url().as_str(), "https://api.example.com/v1/b");
}
