//! Services whose base URL differs from account to account. The user gives a part of it, or the
//! service tells it when the account is connected.

use serde_json::{Value, json};
use support::oauth::browser;
use support::{Client, Dialect, Gateway, OAuthProvider, Person, Reply, Setup, Store, Upstream, module};

use super::{client, ended, init, on_each_store, registered};

on_each_store!(
    the_address_of_an_oauth_account_is_asked_for_and_found_and_survives_a_refresh_and_an_import,
    the_address_of_a_key_is_kept_with_it,
);

const KEY: &str = "key-of-the-user-0123456789";

/// A part that the user gives, and one that the service tells.
fn parts() -> Value {
    json!([
        {"name": "region", "form": "segment", "max": 12},
        {"name": "cloud", "form": "segment", "pointer": "/cloud"},
    ])
}

/// Each account has its own path. The operation that identifies accounts has none.
const BASE_URL: &str = "https://other.example/{region}/ex/{cloud}";

/// Sends the request of an operation to the upstream whose URL differs from account to account.
fn call(client: &Client, path: &str) -> support::Answer {
    client.call("account/composed", json!({"upstream": "other", "path": path}))
}

fn begun(client: &Client, address: &Value) -> String {
    let mut init = init();
    init["address"] = address.clone();
    let begun = client.post("/connectors/account/integrations", init).ok();
    begun["authorization_url"].as_str().unwrap().to_owned()
}

fn oauth_gateway(store: &Store, provider: &OAuthProvider, service: &Upstream) -> Gateway {
    let described = json!({
        "identifier": "account", "auth": "oauth2", "scopes": ["read", "write"], "address": parts(), "other_url": BASE_URL,
    });
    let setup = Setup::new().on(store).module("account", module::account(&described));
    let setup = setup.provider("account", provider, &[("api", "")]);
    // The operator's URL has the parts too.
    let setup = setup.config(&format!("upstreams.other = \"{}/{{region}}/ex/{{cloud}}\"", service.url()));
    registered(setup.start(), provider)
}

fn the_address_of_an_oauth_account_is_asked_for_and_found_and_survives_a_refresh_and_an_import(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    provider.on_api(|_, account| Reply::json(json!({"id": account.id, "email": account.email, "cloud": "c-17"})));
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({})));
    let gateway = oauth_gateway(store, &provider, &service);
    let user = client(&gateway, "acme", Some("ann"), "operate,integrate");

    let way = user.get("/connectors/account/auth-schema").ok()["auth_types"][0].clone();
    let asked = &way["schema"]["properties"]["address"];
    assert_eq!(asked["required"], json!(["region"]), "{way}");
    assert_eq!(asked["properties"]["region"]["title"], "Your region");
    let refused = |address: Value| {
        let mut init = init();
        init["address"] = address;
        user.post("/connectors/account/integrations", init).violations()[0].0.clone()
    };
    assert_eq!(user.post("/connectors/account/integrations", init()).violations()[0].0, "/address");
    assert_eq!(refused(json!({})), "/address/region");
    for wrong in ["", "a/b", "..", "longer-than-twelve", "a b", "a?b"] {
        assert_eq!(refused(json!({"region": wrong})), "/address/region", "{wrong}");
    }
    assert_eq!(refused(json!({"region": "eu", "cloud": "mine"})), "/address/cloud", "the service tells it");

    let callback = Person::named("ada").consents(&begun(&user, &json!({"region": "eu"})));
    assert_eq!(ended(&browser::open(&callback))[1].1, "success");
    let path = "/connectors/account/integrations/ada%40example.com";
    assert_eq!(user.get(path).ok()["address"], json!({"cloud": "c-17", "region": "eu"}));
    assert_eq!(call(&user, "/issues?page=2").ok()["status"], 200);
    assert_eq!(service.take_seen()[0].path, "/eu/ex/c-17/issues");

    provider.expire();
    let id = gateway.client().get("/admin/integrations").ok()["integrations"][0]["id"].as_str().unwrap().to_owned();
    gateway.client().request("POST", &format!("/admin/integrations/{id}/renew")).send().ok();
    call(&user, "/after").ok();
    assert_eq!(service.take_seen()[0].path, "/eu/ex/c-17/after");

    // The user comes back with another address, which is another account.
    let other = begun(&user, &json!({"region": "us"}));
    let answer = browser::open(&Person::named("ada").consents(&other));
    assert_eq!(answer.status, 409, "{}", answer.text());
    assert!(answer.text().contains("ada@example.com (c-17, eu)"), "{}", answer.text());
    assert_eq!(user.get(path).ok()["address"]["region"], "eu");

    let [access, refresh] = provider.newest_tokens();
    let line = |address: Value| {
        let line = json!({
            "tenant": "acme", "subject": "ann", "connector": "account", "user_identifier": "imported",
            "credentials": {"access_token": access, "refresh_token": refresh}, "address": address,
        });
        let call = gateway.client().request("POST", "/admin/integrations/import");
        let answer = call.header("content-type", "application/x-ndjson").body(line.to_string()).send();
        serde_json::from_str::<Value>(answer.text().trim()).unwrap()
    };
    for (wrong, part) in [(json!({}), "region"), (json!({"region": "eu", "cloud": "a/b"}), "cloud")] {
        let refused = line(wrong);
        assert!(refused["error"].as_str().unwrap().starts_with(&format!("/address/{part}: ")), "{refused}");
    }
    assert_eq!(line(json!({"region": "ap", "cloud": "c-9"}))["status"], "created");
    let call = user.request("POST", "/connectors/account/composed").header("x-user-identifier", "imported");
    call.json(&json!({"upstream": "other", "path": "/imported"})).send().ok();
    assert_eq!(service.take_seen()[0].path, "/ap/ex/c-9/imported");
}

#[test]
fn the_action_of_a_problem_renews_an_account_at_its_address() {
    let provider = OAuthProvider::start(Dialect::strict());
    provider.on_api(|_, account| Reply::json(json!({"id": account.id, "email": account.email, "cloud": "c-17"})));
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({})));
    let gateway = oauth_gateway(&Store::Sqlite, &provider, &service);
    let client = gateway.client();
    ended(&browser::open(&Person::named("ada").consents(&begun(&client, &json!({"region": "eu"})))));
    provider.withdraw();
    let id = client.get("/admin/integrations").ok()["integrations"][0]["id"].as_str().unwrap().to_owned();
    assert_ne!(client.request("POST", &format!("/admin/integrations/{id}/renew")).send().status, 200);

    let action = call(&client, "/issues").problem(424, "reauthorization-required")["action"].clone();
    assert_eq!(action["body"]["address"], json!({"region": "eu"}), "the service tells the other part");
    let mut body = init();
    body.as_object_mut().unwrap().extend(action["body"].as_object().unwrap().clone());
    let begun = client.post(action["path"].as_str().unwrap(), body).ok();
    ended(&browser::open(&Person::named("ada").consents(begun["authorization_url"].as_str().unwrap())));
    call(&client, "/issues").ok();
    assert_eq!(service.take_seen()[0].path, "/eu/ex/c-17/issues");
}

/// A service with keys. The base URL has a part that the user gives.
fn key_gateway(store: &Store, service: &Upstream) -> Gateway {
    let described = json!({
        "identifier": "account", "auth": "api_key", "check": "whoami",
        "base_url": "https://api.example/{region}", "address": [parts()[0]],
    });
    let setup = Setup::new().on(store).module("account", module::account(&described));
    let url = format!("{}/{{region}}", service.url());
    setup.upstream("account", "api", &url).config(&format!("upstreams.other = \"{}\"", service.url())).start()
}

fn the_address_of_a_key_is_kept_with_it(store: &Store) {
    let service = Upstream::start();
    service.on("*", |seen| match seen.path.starts_with("/eu/") {
        true => Reply::json(json!({"id": "1", "next": "/eu/second", "elsewhere": "/us/second"})),
        false => Reply::json(json!({})).status(404),
    });
    let gateway = key_gateway(store, &service);
    let client = gateway.client();
    let connect = |region: &str, name: &str| {
        client.post(
            "/connectors/account/integrations",
            json!({"auth_type": "api_key", "credentials": {"api_key": KEY}, "user_identifier": name, "address": {"region": region}}),
        )
    };
    // The key is tried at the account's own address.
    connect("us", "american").problem(404, "upstream-rejected");
    assert_eq!(service.take_seen()[0].path, "/us/me");
    assert_eq!(connect("eu", "european").ok()["address"], json!({"region": "eu"}));
    assert_eq!(client.get("/integrations").ok()["integrations"][0]["address"], json!({"region": "eu"}));
    service.take_seen();
    assert_eq!(client.call("account/forward", json!({"path": "/first"})).ok()["id"], "1");
    // An upstream below it has the address too, and the other one does not.
    client.call("account/composed", json!({"upstream": "other", "path": "/eu/x"})).ok();
    let follow = json!({"path": "/first", "pointer": "/next"});
    assert_eq!(client.call("account/follow", follow).ok()["status"], 200);
    let seen = service.take_seen();
    let paths: Vec<&str> = seen.iter().map(|seen| seen.path.as_str()).collect();
    assert_eq!(paths, ["/eu/first", "/eu/x", "/eu/first", "/eu/second"]);
    assert_eq!(seen[3].header("x-api-key"), format!("Key {KEY}"), "the link is at the account's own host");
    let proxied = super::client(&gateway, "default", None, "operate,proxy").get("/proxy/account/api/third");
    assert_eq!((proxied.status, service.take_seen()[0].path.as_str()), (200, "/eu/third"));
}

#[test]
fn an_account_that_was_connected_before_the_connector_had_the_part_must_be_connected_again() {
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({"id": "1"})));
    let before = json!({"identifier": "account", "auth": "api_key"});
    let setup = Setup::new().module("account", module::account(&before));
    let url = format!("{}/{{region}}", service.url());
    // Without a part, the braces are only letters of a path.
    let gateway = setup.upstream("account", "api", &url).start();
    let client = gateway.client();
    let init = json!({"auth_type": "api_key", "credentials": {"api_key": KEY}, "user_identifier": "mine"});
    client.post("/connectors/account/integrations", init.clone()).ok();

    let after = json!({
        "identifier": "account", "auth": "api_key", "base_url": "https://api.example/{region}", "address": [parts()[0]],
    });
    let file = gateway.home().config().with_file_name("next");
    std::fs::write(&file, module::account(&after)).unwrap();
    gateway.home().run_ok(&["connectors", "add", file.to_str().unwrap(), "--accept"]);
    let problem = support::wait_for("the next version", || {
        let answer = client.call("account/forward", json!({"path": "/first"}));
        (answer.status == 424).then(|| answer.problem(424, "reauthorization-required"))
    });
    assert!(problem["detail"].as_str().unwrap().contains("with `region` in `address`"), "{problem}");
    let mut again = init;
    again["address"] = json!({"region": "eu"});
    client.post("/connectors/account/integrations", again).ok();
    client.call("account/forward", json!({"path": "/first"})).ok();
    assert_eq!(service.take_seen().last().unwrap().path, "/eu/first");
}

/// The names of hosts cannot be resolved in tests, so the problem says which host would be called.
#[test]
fn a_part_of_the_host_needs_a_grant_of_the_site_and_leads_nowhere_else() {
    let described = json!({
        "identifier": "account", "auth": "api_key", "base_url": "https://{shop}.acme-shops.example/v1",
        "address": [{"name": "shop", "form": "label"}], "sites": [["api", "acme-shops.example"]],
    });
    let gateway = Setup::new().module("account", module::account(&described)).start();
    let client = gateway.client();
    let hosts = gateway.connector("account").unwrap()["hosts"].clone();
    assert!(hosts["missing"].as_array().unwrap().contains(&json!("*.acme-shops.example")), "{hosts}");
    let connect = |shop: &str| {
        client.post(
            "/connectors/account/integrations",
            json!({"auth_type": "api_key", "credentials": {"api_key": KEY}, "user_identifier": "mine", "address": {"shop": shop}}),
        )
    };
    for wrong in ["evil.test/", "evil.test#", "user@evil", "a.b", "A", "-a", "127.0.0.1:80"] {
        assert_eq!(connect(wrong).violations()[0].0, "/address/shop", "{wrong}");
    }
    connect("ann").ok();
    let call = || client.call("account/forward", json!({"path": "/items"}));
    let denied = call().problem(403, "egress-denied");
    assert!(denied["detail"].as_str().unwrap().contains("*.acme-shops.example"), "{denied}");
    gateway.home().run_ok(&["connectors", "grant", "account", "*.acme-shops.example"]);
    let unresolved = support::wait_for("the grant", || {
        let answer = call();
        (answer.status == 502).then(|| answer.problem(502, "upstream-unreachable"))
    });
    assert!(unresolved["detail"].as_str().unwrap().contains("ann.acme-shops.example"), "{unresolved}");
}

#[test]
fn an_authorization_at_the_accounts_own_host_goes_to_the_granted_site_only() {
    let described = json!({
        "identifier": "account", "auth": "oauth2", "base_url": "https://{shop}.acme-shops.example/v1",
        "authorization_url": "https://{shop}.acme-shops.example/admin/authorize",
        "token_url": "https://{shop}.acme-shops.example/admin/token",
        "address": [{"name": "shop", "form": "label"}], "sites": [["api", "acme-shops.example"]],
    });
    let client_of_operator = "[oauth_clients.account]\nclient_id = \"id\"\nclient_secret = \"a-secret-of-the-client\"";
    let setup = Setup::new().module("account", module::account(&described)).config(client_of_operator);
    let gateway = setup.start();
    let client = gateway.client();
    let mut body = init();
    body["address"] = json!({"shop": "ann"});
    let begin = || client.post("/connectors/account/integrations", body.clone());
    let missing = begin().problem(503, "integration-not-configured");
    assert_eq!(missing["missing_hosts"], json!(["*.acme-shops.example"]), "{missing}");
    gateway.home().run_ok(&["connectors", "grant", "account", "*.acme-shops.example"]);
    let begun = support::wait_for("the grant", || Some(begin()).filter(|answer| answer.status == 200));
    let url = begun.ok()["authorization_url"].as_str().unwrap().to_owned();
    assert!(url.starts_with("https://ann.acme-shops.example/admin/authorize?"), "{url}");
    let link = client.post("/connect-links", json!({"connectors": ["account"]})).json();
    let page = gateway.anonymous().get(
        link["url"]
            .as_str()
            .unwrap()
            .split_once("/connect/")
            .map(|(_, token)| format!("/connect/{token}"))
            .unwrap()
            .as_str(),
    );
    assert!(page.header("content-security-policy").contains("https://*.acme-shops.example"));
    assert!(page.text().contains("name=\"address.shop\"") && page.text().contains("Your shop"), "{}", page.text());
}

#[test]
fn additions_are_declared_in_describe_only() {
    let described = json!({"identifier": "account", "auth": "none"});
    let gateway = Setup::new().module("account", module::account(&described)).start();
    gateway.client().call("account/declare_site", json!({})).problem(500, "connector-failed");
    gateway.wait_for_log("the reason of the trap", |line| {
        line.to_string().contains("it called `upstream-additions.declare-site` in an operation")
    });
    let wrong = json!({
        "identifier": "wrong", "auth": "api_key", "base_url": "https://{shop}.acme-shops.example",
        "address": [{"name": "shop", "form": "label"}], "sites": [["api", "other.example"]],
    });
    gateway.home().put("wrong", &module::account(&wrong));
    let reason = gateway.wait_for_refusal("wrong.wasm");
    assert!(reason.contains("its host is below the declared site"), "{reason}");
}
