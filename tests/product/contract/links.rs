//! Links: a connector can follow an address that an upstream gave, and cannot make one up.

use serde_json::{Value, json};
use support::{Answer, Gateway, Reply, Setup, Upstream, module};

use super::{Connected, assert_without};
use support::hostile::{assert_serves, gateway};

/// The two ways in which a connector takes a link from a response.
fn sources() -> [Value; 2] {
    [json!({"header": "location"}), json!({"pointer": "/@odata.nextLink"})]
}

/// The response with a link in a header and in the body.
fn page(link: &str) -> Reply {
    Reply::json(json!({"@odata.nextLink": link})).header("location", link)
}

/// The input of `follow` and `forward_link`: a request for `/page`, and `source` says where the
/// link is.
fn at(source: &Value, more: &Value) -> Value {
    let mut input = json!({"path": "/page"});
    for (name, value) in source.as_object().into_iter().chain(more.as_object()).flatten() {
        input[name] = value.clone();
    }
    input
}

/// A gateway with the hostile guest, for which the operator lists a link host.
fn with_link_host(upstream: &Upstream, elsewhere: &Upstream) -> Gateway {
    gateway(upstream, &format!("link_hosts.api = [\"127.0.0.1:{}\"]", elsewhere.port()))
}

#[test]
fn a_link_to_a_host_that_was_not_granted_is_refused_and_nothing_is_sent_there() {
    let (upstream, victim) = (Upstream::start(), Upstream::start());
    victim.reply("*", Reply::json(json!({"secret": true})));
    let (port, own) = (victim.port(), upstream.port());
    let targets = [
        format!("{}/", victim.url()),
        format!("//127.0.0.1:{port}/"),
        format!("\\\\127.0.0.1:{port}/"),
        format!("http://localhost:{port}/"),
        format!("http://localhost:{own}/"),
        format!("http://2130706433:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://127.0.0.1:{own}@127.0.0.1:{port}/"),
        format!("http://user:password@127.0.0.1:{own}/"),
        format!("https://127.0.0.1:{own}/"),
        "http://elsewhere.example/".to_owned(),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "file:///etc/passwd".to_owned(),
        "data:application/json,{}".to_owned(),
        "http://".to_owned(),
        String::new(),
    ];
    let gateway = gateway(&upstream, "");
    for target in targets {
        upstream.reply("/page", page(&target));
        for source in sources() {
            let result = gateway.call("hostile/follow", at(&source, &json!({}))).ok();
            assert!(["denied", "bad-answer"].map(Value::from).contains(&result["error"]), "{target:?}: {result}");
            let passed_on = at(&source, &json!({"as_fault": true}));
            for operation in ["hostile/follow", "hostile/forward_link"] {
                let answer = gateway.call(operation, passed_on.clone());
                let kind =
                    if result["error"] == "denied" { (403, "egress-denied") } else { (502, "upstream-not-understood") };
                answer.problem(kind.0, kind.1);
            }
        }
    }
    assert_serves(&gateway);
    assert!(victim.seen().is_empty(), "{:?}", victim.seen());
    assert!(upstream.seen().iter().all(|seen| seen.path == "/page"), "{:?}", upstream.seen());
}

#[test]
fn the_denial_names_the_host_and_not_the_address() {
    let upstream = Upstream::start();
    upstream.reply("/page", page("https://elsewhere.test/a?signature=s3cret"));
    let gateway = gateway(&upstream, "");
    for (target, words, owner) in [
        ("https://elsewhere.test/a?signature=s3cret", "elsewhere.test, which is not among its link hosts", "connector"),
        ("https://elsewhere.example/a?signature=s3cret", "elsewhere.example, which was not granted", "operator"),
    ] {
        upstream.reply("/page", page(target));
        let input = at(&sources()[0], &json!({"as_fault": true}));
        let problem = gateway.call("hostile/follow", input).problem(403, "egress-denied");
        assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
        assert_eq!(problem["owner"], owner, "{problem}");
        assert!(!problem.to_string().contains("s3cret"), "{problem}");
    }
}

#[test]
fn a_response_without_the_address_is_not_understood() {
    let upstream = Upstream::start();
    let gateway = gateway(&upstream, "");
    let cases = [
        (Reply::json(json!({})), json!({"header": "location"})),
        (Reply::json(json!({})), json!({"pointer": "/next"})),
        (Reply::json(json!({"next": null})), json!({"pointer": "/next"})),
        (Reply::json(json!({"next": {"href": "/a"}})), json!({"pointer": "/next"})),
        (Reply::typed("text/html", "<a href='/a'>"), json!({"pointer": "/next"})),
        (Reply::cut_off("application/json", r#"{"next": "/a", "#), json!({"pointer": "/next"})),
    ];
    for (reply, source) in cases {
        upstream.reply("/page", reply);
        let result = gateway.call("hostile/follow", at(&source, &json!({}))).ok();
        assert_eq!(result["error"], "bad-answer", "{source}: {result}");
        gateway.call("hostile/forward_link", at(&source, &json!({}))).problem(502, "upstream-not-understood");
    }
    assert!(upstream.seen().iter().all(|seen| seen.path == "/page"), "{:?}", upstream.seen());
}

#[test]
fn relative_addresses_are_resolved_against_the_response() {
    let upstream = Upstream::start();
    upstream.reply("*", Reply::json(json!({"arrived": true})));
    let gateway = Setup::new().guest("hostile").upstream("hostile", "api", &format!("{}/v1", upstream.url())).start();
    let cases = [
        ("next?page=2", "/v1/items/next", "page=2"),
        ("?page=2", "/v1/items/page", "page=2"),
        ("../other", "/v1/other", ""),
        ("/beside/the/base?a=%2F", "/beside/the/base", "a=%2F"),
        ("//127.0.0.1:PORT/absolute", "/absolute", ""),
        ("http://127.0.0.1:PORT/absolute?b#fragment", "/absolute", "b"),
    ];
    for (address, path, query) in cases {
        let address = address.replace("PORT", &upstream.port().to_string());
        upstream.reply("/v1/items/page", page(&address));
        for source in sources() {
            for operation in ["hostile/follow", "hostile/forward_link"] {
                upstream.take_seen();
                let mut input = at(&source, &json!({}));
                input["path"] = "/items/page".into();
                gateway.call(operation, input).ok();
                let seen = upstream.take_seen();
                assert_eq!((seen[1].path.as_str(), seen[1].query.as_str()), (path, query), "{address}");
            }
        }
    }
}

#[test]
fn a_pointer_finds_the_address_at_any_depth_and_under_any_name() {
    let upstream = Upstream::start();
    upstream.reply("/found", Reply::json(json!({"arrived": true})));
    upstream.reply("/page", Reply::json(json!({"links": [{"a/b": "/wrong"}, {"a/b": {"m~n": "/found"}}]})));
    let gateway = gateway(&upstream, "");
    let source = json!({"pointer": "/links/1/a~1b/m~0n"});
    assert_eq!(gateway.call("hostile/forward_link", at(&source, &json!({}))).ok(), json!({"arrived": true}));
}

#[test]
fn a_link_to_the_upstreams_own_host_carries_the_credential() {
    let world = Connected::start();
    world.provider.on_api(|seen, _| match seen.path.as_str() {
        "/api/page" => page("/api/next?$skiptoken=2"),
        _ => Reply::json(json!({"arrived": true})),
    });
    for source in sources() {
        for (more, bearer) in [(json!({}), true), (json!({"credential": "omitted"}), false)] {
            let call = || drop(world.client.call("account/follow", at(&source, &more)));
            let seen = world.api_calls_of(call);
            if bearer {
                assert_eq!((seen[1].path.as_str(), seen[1].query.as_str()), ("/api/next", "$skiptoken=2"));
                assert_eq!(seen[1].header("authorization"), format!("Bearer {}", world.token()));
            } else {
                assert!(seen.iter().all(|seen| seen.header("authorization").is_empty()), "{seen:?}");
            }
        }
        let answer = world.client.call("account/forward_link", at(&source, &json!({}))).ok();
        assert_eq!(answer, json!({"arrived": true}));
    }
}

#[test]
fn a_link_is_followed_with_the_token_of_a_refresh() {
    let world = Connected::start();
    world.provider.on_api(|seen, _| match seen.path.as_str() {
        "/api/page" => page("/api/next"),
        _ => Reply::json(json!({"arrived": true})),
    });
    world.provider.expire();
    let answer = world.client.call("account/forward_link", at(&sources()[0], &json!({}))).ok();
    assert_eq!(answer, json!({"arrived": true}));
}

/// The guest `account` with a link host, which answers every request.
fn with_elsewhere() -> (Connected, Upstream) {
    let elsewhere = Upstream::start();
    elsewhere.reply("*", Reply::json(json!({"elsewhere": true})));
    let hosts = format!("[\"127.0.0.1:{}\"]", elsewhere.port());
    let world = Connected::with(&json!({}), &format!("link_hosts = {{ api = {hosts}, form = {hosts} }}"));
    (world, elsewhere)
}

#[test]
fn a_link_to_a_link_host_is_followed_without_the_credential() {
    let (world, elsewhere) = with_elsewhere();
    let target = format!("{}/upload/1?signature=abc", elsewhere.url());
    world.provider.on_api(move |_, _| page(&target));
    let secrets = world.provider.secrets();
    for source in sources() {
        for upstream in [json!({}), json!({"upstream": "form", "method": "POST", "path": ""})] {
            for operation in ["account/follow", "account/forward_link"] {
                world.client.call(operation, at(&source, &upstream)).ok();
                let seen = elsewhere.take_seen();
                assert_eq!((seen.len(), seen[0].path.as_str()), (1, "/upload/1"), "{operation}");
                assert_eq!(seen[0].query, "signature=abc");
                assert_eq!(seen[0].header("authorization"), "");
                assert_without(&secrets, &seen[0]);
            }
        }
        let upload = json!({"link_method": "PUT", "link_body": r#"{"part": 1}"#});
        world.client.call("account/follow", at(&source, &upload)).ok();
        let seen = elsewhere.take_seen();
        assert_eq!((seen[0].method.as_str(), &*seen[0].body), ("PUT", br#"{"part": 1}"#.as_slice()));
        assert_without(&secrets, &seen[0]);
    }
}

#[test]
fn a_401_of_a_link_host_refreshes_nothing() {
    let (world, elsewhere) = with_elsewhere();
    elsewhere.reply("/", Reply::empty(401));
    let target = format!("{}/", elsewhere.url());
    world.provider.on_api(move |_, _| page(&target));
    assert_eq!(world.client.call("account/follow", at(&sources()[0], &json!({}))).ok()["status"], 401);
    assert_eq!(elsewhere.seen().len(), 1);
    assert_eq!(world.provider.count(support::Endpoint::Refresh), 0);
}

#[test]
fn a_link_does_not_take_a_credential_that_the_service_shows_to_another_host() {
    let (world, elsewhere) = with_elsewhere();
    let base = elsewhere.url();
    world.provider.on_api(move |seen, _| {
        let token = seen.header("authorization").trim_start_matches("Bearer ").to_owned();
        page(&format!("{base}/{token}?t={}", support::encoding::percent(&token)))
    });
    let secrets = world.provider.secrets();
    for source in sources() {
        for operation in ["account/follow", "account/forward_link"] {
            // The token is masked in everything that a connector gets, also in the address behind a
            // link.
            world.client.call(operation, at(&source, &json!({}))).ok();
        }
    }
    assert_eq!(elsewhere.seen().len(), 4);
    for seen in elsewhere.seen() {
        assert_without(&secrets, &seen);
    }
}

#[test]
fn a_link_host_cannot_send_a_request_back_with_the_credential() {
    let (world, elsewhere) = with_elsewhere();
    let (there, back) = (format!("{}/", elsewhere.url()), format!("{}/back", world.provider.api()));
    world.provider.on_api(move |seen, _| match seen.path.as_str() {
        "/api/page" => page(&there),
        _ => Reply::json(json!({"arrived": true})),
    });
    elsewhere.reply("/", Reply::redirect(&back));
    let seen = world.api_calls_of(|| drop(world.client.call("account/follow", at(&sources()[0], &json!({})))));
    let returned: Vec<_> = seen.iter().filter(|seen| seen.path == "/api/back").collect();
    assert_eq!(returned.len(), 1, "{seen:?}");
    assert_without(&world.provider.secrets(), returned[0]);
}

/// A path of the service may belong to another customer of it. A redirect leads there without the
/// credential, and nothing that stands there says where the credential goes.
#[test]
fn a_link_in_a_response_from_outside_of_the_base_url_does_not_carry_the_credential() {
    let service = Upstream::start();
    let document = json!({"identifier": "account", "auth": "api_key", "placement": "header"});
    let setup = Setup::new().module("account", module::account(&document));
    let setup = setup.upstream("account", "api", &format!("{}/mine", service.url()));
    let gateway = setup.config(&format!("upstreams.other = \"{}/unused\"", service.url())).start();
    let key = "key-of-the-user-0123456789";
    let body = json!({"auth_type": "api_key", "credentials": {"api_key": key}, "user_identifier": "mine"});
    gateway.client().post("/connectors/account/integrations", body).ok();
    service.reply("*", Reply::json(json!({"arrived": true}))).reply("/mine/page", Reply::redirect("/other/page"));
    for target in ["/other/next", "/mine/next"] {
        service.reply("/other/page", page(target));
        for source in sources() {
            for operation in ["account/follow", "account/forward_link"] {
                service.take_seen();
                gateway.call(operation, at(&source, &json!({}))).ok();
                let seen = service.take_seen();
                let paths: Vec<&str> = seen.iter().map(|seen| seen.path.as_str()).collect();
                assert_eq!(paths, ["/mine/page", "/other/page", target], "{operation}");
                assert_eq!(seen[0].header("x-api-key"), format!("Key {key}"));
                seen[1..].iter().for_each(|seen| assert_without(&[key.to_owned()], seen));
            }
        }
    }
}

#[test]
fn a_link_of_one_upstream_is_refused_by_another() {
    let world = Connected::start();
    world.provider.on_api(|seen, _| match seen.path.as_str() {
        "/api/me" => page("/api/again"),
        _ => page("/api/next"),
    });
    let requests = [
        json!({"through": "form"}),
        json!({"through": "other"}),
        json!({"through": "absent"}),
        json!({"upstream": "form", "method": "POST", "path": "", "through": "api"}),
        json!({"upstream": "form", "method": "POST", "path": "", "through": "other"}),
    ];
    for request in requests {
        for source in sources() {
            for operation in ["account/follow", "account/forward_link"] {
                let call = || {
                    let answer: Answer = world.client.call(operation, at(&source, &request));
                    answer.problem(500, "connector-failed");
                };
                let seen = world.api_calls_of(call);
                assert_eq!(seen.len(), 1, "{operation} {request} {source}: {seen:?}");
            }
        }
    }
}

#[test]
fn a_link_host_of_one_upstream_is_none_of_another() {
    let (upstream, elsewhere) = (Upstream::start(), Upstream::start());
    elsewhere.reply("*", Reply::json(json!({})));
    let hosts =
        format!("upstreams.other = \"{}\"\nlink_hosts.other = [\"127.0.0.1:{}\"]", upstream.url(), elsewhere.port());
    let gateway = gateway(&upstream, &hosts);
    upstream.reply("/page", page(&format!("{}/", elsewhere.url())));
    for source in sources() {
        let result = gateway.call("hostile/follow", at(&source, &json!({}))).ok();
        assert_eq!(result["error"], "denied", "{result}");
        let result = gateway.call("hostile/follow", at(&source, &json!({"upstream": "other"}))).ok();
        assert_eq!(result["status"], 200, "{result}");
    }
}

#[test]
fn a_redirect_behind_a_link_is_checked_like_any_redirect() {
    let (upstream, elsewhere, victim) = (Upstream::start(), Upstream::start(), Upstream::start());
    victim.reply("*", Reply::json(json!({"secret": true})));
    elsewhere.reply("/", Reply::redirect(&format!("{}/", victim.url())));
    upstream.reply("/page", page(&format!("{}/", elsewhere.url())));
    let gateway = with_link_host(&upstream, &elsewhere);
    for source in sources() {
        let result = gateway.call("hostile/follow", at(&source, &json!({}))).ok();
        assert_eq!(result["error"], "denied", "{result}");
        gateway.call("hostile/forward_link", at(&source, &json!({}))).problem(403, "egress-denied");
    }
    assert!(victim.seen().is_empty(), "{:?}", victim.seen());
}

#[test]
fn a_forwarded_link_streams_to_the_caller() {
    let (upstream, elsewhere) = (Upstream::start(), Upstream::start());
    // Larger than anything that the gateway may hold for an invocation.
    let text = format!("[{}0]", "1, ".repeat(2 << 20));
    elsewhere.reply("/large", Reply::pieces("application/json", &[&text[..1000], &text[1000..]]));
    upstream.reply("/page", page(&format!("{}/large", elsewhere.url())));
    let limits = format!("limits.response_mb = 1\nlink_hosts.api = [\"127.0.0.1:{}\"]", elsewhere.port());
    let gateway = gateway(&upstream, &limits);
    for source in sources() {
        let answer = gateway.call("hostile/forward_link", at(&source, &json!({})));
        assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
        assert!(answer.text() == text, "the answer is the whole response");
        let shaped = at(&source, &json!({"response_fields": ["a"]}));
        gateway.call("hostile/forward_link", shaped).problem(413, "answer-too-large");
    }
}

#[test]
fn a_wildcard_is_granted_and_shown_as_such() {
    let (upstream, elsewhere) = (Upstream::start(), Upstream::start());
    elsewhere.reply("*", Reply::json(json!({})));
    let gateway = gateway(&upstream, "link_hosts.api = [\"*.sharepoint.com\"]");
    let hosts = gateway.connector("hostile").unwrap()["hosts"].clone();
    assert!(hosts["granted"].as_array().unwrap().contains(&json!("*.sharepoint.com")), "{hosts}");
    for target in [
        "https://sharepoint.com/",
        "https://evilsharepoint.com/",
        "https://acme.sharepoint.com.evil.test/",
        "https://acme.sharepoint.com:8443/",
        &format!("{}/", elsewhere.url()),
    ] {
        upstream.reply("/page", page(target));
        let result = gateway.call("hostile/follow", at(&sources()[0], &json!({}))).ok();
        assert_eq!(result["error"], "denied", "{target}: {result}");
    }
    assert!(elsewhere.seen().is_empty());
}
