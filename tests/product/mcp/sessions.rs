//! Agent sessions: tokens for one address of agents, which can do no more than their makers.

use serde_json::{Value, json};
use support::jwt::{SigningKey, at, publish};
use support::{Client, Dialect, Gate, Gateway, OAuthProvider, Reply, Setup, Store, Upstream, module, wait_for};

use super::{Agent, code, result, text_of};
use crate::fleet::key_of;
use crate::integrations::{client, connect, email, on_each_store, registered};

on_each_store!(
    a_session_can_do_no_more_than_its_maker,
    a_session_is_bound_to_its_set,
    a_session_is_bound_to_its_account_and_its_user,
    a_session_ends_with_the_key_that_made_it,
);

/// A gateway with operations that need no account, and their service.
fn world(store: &Store, config: &str) -> (Gateway, Upstream) {
    let service = Upstream::start();
    service.reply("/a", Reply::json(json!({"done": true})));
    let gateway = Setup::new()
        .on(store)
        .module("account", module::account(&json!({"identifier": "account", "auth": "none"})))
        .upstream("account", "api", &service.url())
        .config(config)
        .start();
    (gateway, service)
}

/// A session that this client makes.
#[track_caller]
fn make(client: &Client, body: Value) -> Value {
    let made = client.post("/agent-sessions", body);
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()
}

/// An agent with the token of a session, at its address or one below it.
fn agent(gateway: &Gateway, session: &Value, below: &str) -> Agent {
    let path = session["url"].as_str().unwrap().strip_prefix(&gateway.address()).unwrap();
    Agent::new(&gateway.anonymous().with_key(session["token"].as_str().unwrap()), &format!("{path}{below}"))
}

/// A key of the operator's tenant with these members.
fn key(gateway: &Gateway, more: Value) -> (Value, Client) {
    let mut body = json!({"name": "maker", "scopes": ["operate"]});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let made = gateway.client().post("/admin/keys", body).json();
    let client = gateway.anonymous().with_key(made["key"].as_str().unwrap());
    (made, client)
}

fn a_session_can_do_no_more_than_its_maker(store: &Store) {
    let (gateway, service) = world(store, "");
    service.reply("/gone", Reply::json(json!({})).status(404));
    let limits = json!({"allow": ["account/forward", "account/erase"], "effects": ["read", "destructive"]});
    let (_, maker) = key(&gateway, limits);
    let all = make(&maker, json!({}));
    assert_eq!(all["url"], format!("{}/mcp", gateway.address()));
    assert!(all["token"].as_str().unwrap().starts_with("cgs_") && all["expires_at"].is_string(), "{all}");
    assert_eq!(agent(&gateway, &all, "").names(), ["account__erase", "account__forward"]);
    let narrow = make(&maker, json!({"allow": ["account"], "effects": ["read", "write"], "expires_in_s": 60}));
    let of_session = agent(&gateway, &narrow, "");
    assert_eq!(of_session.names(), ["account__forward"]);
    assert_eq!(agent(&gateway, &narrow, "/account").names(), ["forward"]);
    assert_eq!(agent(&gateway, &narrow, "/readonly").names(), ["account__forward"]);
    assert_eq!(of_session.text("account__forward", json!({"path": "/a"})), r#"{"done":true}"#);
    assert_eq!(code(&of_session.call("account__erase", json!({"path": "/a"})), 200), -32602);
    maker.post("/agent-sessions", json!({"effects": ["write"]})).problem(403, "not-allowed");
    maker.post("/agent-sessions", json!({"allow": ["account/fetch"]})).problem(403, "not-allowed");

    // The token is for the address of agents alone.
    let session = gateway.anonymous().with_key(narrow["token"].as_str().unwrap());
    for path in ["/connectors", "/jobs", "/integrations", "/admin/keys", "/mcp-sets", "/mcp-sets/any", "/metrics"] {
        session.get(path).problem(403, "not-allowed");
    }
    session.call("account/forward", json!({"path": "/a"})).problem(403, "not-allowed");
    session.post("/agent-sessions", json!({})).problem(403, "not-allowed");
    session.post("/console/session", json!({})).problem(403, "not-allowed");
    Agent::new(&session, "/mcp/sets/any").send("tools/list", json!({})).problem(403, "not-allowed");

    // Records and the audit name the session.
    let id = narrow["id"].as_str().unwrap();
    of_session.refusal("account__forward", json!({"path": "/gone"}));
    let record = wait_for("the record of the call", || {
        let calls = gateway.client().get("/admin/calls?problem=upstream-rejected").ok();
        calls["calls"].as_array().unwrap().first().cloned()
    });
    assert_eq!((&record["key_id"], &record["operation"]), (&json!(id), &json!("forward")), "{record}");
    let unknown = maker.delete("/agent-sessions/ags_none").problem(404, "unknown-agent-session");
    assert!(unknown["detail"].as_str().unwrap().contains("ags_none"), "{unknown}");
    let other = client(&gateway, "other", None, "operate");
    other.delete(&format!("/agent-sessions/{id}")).problem(404, "unknown-agent-session");
    assert_eq!(maker.delete(&format!("/agent-sessions/{id}")).ok(), json!({"id": id, "deleted": true}));
    let ended = of_session.send("tools/list", json!({}));
    let problem = ended.problem(401, "unauthenticated");
    assert!(problem["detail"].as_str().unwrap().contains("POST /agent-sessions"), "{problem}");
    assert!(ended.header("www-authenticate").contains("resource_metadata"), "{:?}", ended.headers);
    maker.delete(&format!("/agent-sessions/{id}")).problem(404, "unknown-agent-session");
    let audit = gateway.client().get(&format!("/admin/audit?target={id}")).ok();
    let actions: Vec<_> = audit["entries"].as_array().unwrap().iter().map(|entry| entry["action"].clone()).collect();
    assert_eq!(actions, ["agent_session.deleted", "agent_session.created"]);
    // The database has the hash of a token, never the token.
    let everything = gateway.client().get("/admin/audit").text();
    assert!(!everything.contains(narrow["token"].as_str().unwrap()));
    agent(&gateway, &all, "").text("account__forward", json!({"path": "/a"}));
}

fn a_session_is_bound_to_its_set(store: &Store) {
    let (gateway, service) = world(store, "");
    let acme = client(&gateway, "acme", None, "operate,integrate");
    for (name, allow) in [("reports", "account/forward"), ("jobs", "account/fetch")] {
        assert_eq!(acme.post("/mcp-sets", json!({"name": name, "allow": [allow]})).status, 201);
    }
    let made = make(&acme, json!({"set": "reports"}));
    assert_eq!(made["url"], format!("{}/mcp/sets/reports", gateway.address()));
    assert_eq!(agent(&gateway, &made, "").names(), ["account__forward"]);
    assert_eq!(agent(&gateway, &made, "/readonly").names(), ["account__forward"]);
    let token = gateway.anonymous().with_key(made["token"].as_str().unwrap());
    for path in ["/mcp", "/mcp/account", "/mcp/sets/jobs", "/mcp/readonly"] {
        Agent::new(&token, path).send("tools/list", json!({})).problem(403, "not-allowed");
    }
    // A job of an operation that the set does not have is none of the session.
    let gate = Gate::default();
    service.reply("/slow", Reply::json(json!({})).behind(&gate));
    let job = acme.call("account/fetch", json!({"path": "/slow"})).json();
    let about = |session: &Value| {
        let tasks = agent(&gateway, session, "").with(json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}));
        let id = job["job_id"].as_str().unwrap();
        tasks.request("tasks/get", json!({"taskId": id})).header("mcp-name", id).send()
    };
    assert_eq!(code(&about(&made), 200), -32602);
    assert_eq!(result(&about(&make(&acme, json!({"set": "jobs"}))))["status"], "working");
    gate.open();
    // A set of another tenant is unknown, and a set that is gone serves no one.
    let other = client(&gateway, "other", None, "operate");
    let violations = other.post("/agent-sessions", json!({"set": "reports"})).violations();
    assert_eq!(violations[0].0, "/set");
    acme.delete("/mcp-sets/reports").ok();
    agent(&gateway, &made, "").send("tools/list", json!({})).problem(404, "unknown-tool-set");
}

fn a_session_is_bound_to_its_account_and_its_user(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = registered(Setup::new().on(store).account("account", &provider).start(), &provider);
    let acme = client(&gateway, "acme", None, "operate,integrate");
    let ann = client(&gateway, "acme", Some("ann"), "operate,integrate");
    for person in ["ada", "ben"] {
        connect(&acme, "account", person);
    }
    connect(&ann, "account", "cyn");

    let bound = agent(&gateway, &make(&acme, json!({"user_identifier": email("ben")})), "");
    let tools = bound.tools();
    let forward = tools.iter().find(|tool| tool["name"] == "account__forward").unwrap();
    assert!(forward["inputSchema"]["properties"].get("account").is_none(), "{forward}");
    assert!(bound.text("account__forward", json!({"path": "/me"})).contains("ben"));
    let refused = bound.refusal("account__forward", json!({"path": "/me", "account": email("ada")}));
    assert!(refused.contains(&email("ben")) && refused.contains("leave the account out"), "{refused}");
    let params = json!({"name": "account__forward", "arguments": {"path": "/me"}});
    let by_header = result(&bound.request("tools/call", params).header("x-user-identifier", &email("ada")).send());
    assert!(text_of(&by_header).contains("leave the account out"), "{by_header}");
    let listed = bound.text("list_accounts", json!({}));
    assert!(listed.contains("ben") && !listed.contains("ada"), "{listed}");
    // The jobs of another account are none of the session.
    let job = |account: &str| {
        let call = acme.request("POST", "/connectors/account/fetch").header("x-user-identifier", &email(account));
        call.json(&json!({"path": "/me"})).send().json()["job_id"].as_str().unwrap().to_owned()
    };
    assert!(bound.refusal("get_job", json!({"job_id": job("ada")})).contains("There is no job"));
    assert!(bound.text("get_job", json!({"job_id": job("ben")})).contains("fetch"));

    let of_ann = agent(&gateway, &make(&acme, json!({"subject": "ann"})), "");
    assert!(of_ann.text("account__forward", json!({"path": "/me"})).contains("cyn"));
    let listed = of_ann.text("list_accounts", json!({}));
    assert!(listed.contains("cyn") && !listed.contains("ada"), "{listed}");
    // A key of a user makes sessions of this user alone, and ends no others.
    let own = make(&ann, json!({}));
    assert!(agent(&gateway, &own, "").text("account__forward", json!({"path": "/me"})).contains("cyn"));
    make(&ann, json!({"subject": "ann"}));
    let refused = ann.post("/agent-sessions", json!({"subject": "bob"})).problem(403, "not-allowed");
    assert!(refused["detail"].as_str().unwrap().contains("`ann`"), "{refused}");
    let of_bob = make(&acme, json!({"subject": "bob"}));
    let path = format!("/agent-sessions/{}", of_bob["id"].as_str().unwrap());
    ann.delete(&path).problem(404, "unknown-agent-session");
    acme.delete(&path).ok();
    // The page on which a user connects an account ends with the session.
    let made = make(&acme, json!({"subject": "dan"}));
    let text = agent(&gateway, &made, "").text("connect_account", json!({"connector": "account"}));
    let url = text.split_whitespace().find(|word| word.starts_with("http")).unwrap();
    let page = url.strip_prefix(&gateway.address()).unwrap();
    assert_eq!(gateway.anonymous().get(page).status, 200);
    acme.delete(&format!("/agent-sessions/{}", made["id"].as_str().unwrap())).ok();
    assert_eq!(gateway.anonymous().get(page).status, 410);
}

fn a_session_ends_with_the_key_that_made_it(store: &Store) {
    let (gateway, service) = world(store, "[jobs]\nworkers = 1");
    service.reply("/file", Reply::typed("application/pdf", "PDF"));
    let (made, maker) = key(&gateway, json!({}));
    let session = make(&maker, json!({}));
    let file = result(&agent(&gateway, &session, "").call("account__forward", json!({"path": "/file"})));
    let file = file["content"][0]["uri"].as_str().unwrap().strip_prefix(&gateway.address()).unwrap().to_owned();
    assert_eq!(gateway.anonymous().get(&file).status, 200);
    // A job that waits while its session ends does not run.
    let gate = Gate::default();
    service.reply("/slow", Reply::json(json!({})).behind(&gate));
    let first = gateway.client().call("account/fetch", json!({"path": "/slow"})).json();
    let tasks = agent(&gateway, &session, "").with(json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}));
    let waiting = result(&tasks.call("account__fetch", json!({"path": "/a"})));
    let before = service.seen().len();
    gateway.client().delete(&format!("/admin/keys/{}", made["id"].as_str().unwrap())).ok();
    agent(&gateway, &session, "").send("tools/list", json!({})).problem(401, "unauthenticated");
    let refused = gateway.anonymous().get(&file).problem(403, "not-allowed");
    assert!(refused["detail"].as_str().unwrap().contains("session has ended"), "{refused}");
    gate.open();
    let ended = |id: &Value| {
        let path = format!("/jobs/{}", id.as_str().unwrap());
        wait_for("the end of the job", || {
            let job = gateway.client().get(&path).ok();
            ["succeeded", "failed"].iter().any(|status| job["status"] == *status).then_some(job)
        })
    };
    assert_eq!(ended(&first["job_id"])["status"], "succeeded");
    let refused = ended(&waiting["taskId"]);
    assert!(refused["error"]["detail"].as_str().unwrap().contains("session has ended"), "{refused}");
    assert!(service.seen()[before..].iter().all(|request| request.path != "/a"));
    // Nor does it come back.
    let gateway = gateway.start_again();
    agent(&gateway, &json!({"url": format!("{}/mcp", gateway.address()), "token": session["token"]}), "")
        .send("tools/list", json!({}))
        .problem(401, "unauthenticated");
}

#[test]
fn every_mistake_in_a_session_is_named() {
    let (gateway, _service) = world(&Store::Sqlite, "");
    let client = gateway.client();
    client.post("/mcp-sets", json!({"name": "mine", "allow": ["account"], "account": "ada"}));
    let wrong =
        json!({"subject": "", "effects": ["reed"], "allow": [], "expires_in_s": 59, "confirm": "yes", "more": 1});
    let violations = client.post("/agent-sessions", wrong).violations();
    let pointers: Vec<&str> = violations.iter().map(|(pointer, _)| pointer.as_str()).collect();
    for pointer in ["/subject", "/effects/0", "/allow", "/expires_in_s", "/confirm", "/more"] {
        assert!(pointers.contains(&pointer), "{pointer}: {violations:?}");
    }
    let unknown = json!({"set": "mone", "allow": ["account", "acount", "account/forwad", "account/forward"]});
    let violations = client.post("/agent-sessions", unknown).violations();
    let told: Vec<_> = violations.iter().map(|(pointer, detail)| (pointer.as_str(), detail.as_str())).collect();
    assert_eq!(told.iter().map(|(pointer, _)| *pointer).collect::<Vec<_>>(), ["/set", "/allow/1", "/allow/2"]);
    assert!(told[0].1.contains("did you mean `mine`?"), "{told:?}");
    assert!(told[1].1.contains("Did you mean `account`?"), "{told:?}");
    assert!(told[2].1.contains("Did you mean `account/forward`?"), "{told:?}");
    let violations = client.post("/agent-sessions", json!({"set": "mine", "user_identifier": "ben"})).violations();
    assert!(violations[0].0 == "/user_identifier" && violations[0].1.contains("`ada`"), "{violations:?}");
    make(&client, json!({"set": "mine", "user_identifier": "ada", "expires_in_s": 86_400}));
    crate::integrations::client(&gateway, "default", None, "integrate")
        .post("/agent-sessions", json!({}))
        .problem(403, "missing-scope");
    gateway.anonymous().with_key("cgs_x").get("/connectors").problem(401, "unauthenticated");
}

#[test]
fn a_repeated_idempotency_key_gets_the_same_token_and_another_api_key_does_not() {
    let (gateway, _service) = world(&Store::Sqlite, "");
    let post = |client: &Client, body: Value| {
        client.request("POST", "/agent-sessions").header("idempotency-key", "k-1").json(&body).send()
    };
    let ((_, one), (_, other)) = (key(&gateway, json!({})), key(&gateway, json!({})));
    let (made, again) = (post(&one, json!({})), post(&one, json!({})));
    assert_eq!((made.status, again.status, again.header("idempotent-replayed")), (201, 201, "true"));
    assert_eq!(made.json(), again.json());
    post(&other, json!({})).problem(422, "idempotency-key-reused");
}

#[test]
fn a_session_confirms_if_it_or_its_maker_says_so() {
    let (gateway, _service) = world(&Store::Sqlite, "");
    let asks = |session: &Value| {
        let answer = agent(&gateway, session, "").call("account__erase", json!({"path": "/a"}));
        text_of(&result(&answer)).contains("destroys data")
    };
    let ((_, careful), (_, other)) = (key(&gateway, json!({"confirm": true})), key(&gateway, json!({})));
    assert!(asks(&make(&careful, json!({"confirm": false}))));
    assert!(asks(&make(&other, json!({"confirm": true}))));
    assert!(!asks(&make(&other, json!({}))));
}

#[test]
fn a_session_of_a_jwt_is_of_its_subject_and_ends_no_later() {
    let (signing, issuer) = (SigningKey::es256("one"), Upstream::start());
    publish(&issuer, &[&signing]);
    let config = format!(
        "[jwt_issuers.test]\nissuer = \"https://id.example\"\naudience = \"gateway\"\njwks_url = \"{}/jwks.json\"\nallow_private_network = true",
        issuer.url()
    );
    let (gateway, _service) = world(&Store::Sqlite, &config);
    let claims = json!({"iss": "https://id.example", "aud": "gateway", "sub": "ada", "iat": at(-10), "exp": at(300)});
    let maker = gateway.anonymous().with_key(&signing.sign(&claims));
    let made = make(&maker, json!({}));
    assert!(made["expires_at"].as_str().unwrap() < make(&gateway.client(), json!({}))["expires_at"].as_str().unwrap());
    assert_eq!(agent(&gateway, &made, "").text("account__forward", json!({"path": "/a"})), r#"{"done":true}"#);
    maker.post("/agent-sessions", json!({"subject": "bob"})).problem(403, "not-allowed");
    maker.delete(&format!("/agent-sessions/{}", made["id"].as_str().unwrap())).ok();
}

#[test]
fn a_session_holds_and_ends_at_every_gateway() {
    let store = Store::postgres();
    let (one, service) = world(&store, "");
    let setup = Setup::new().on(&store).general(&key_of(&one));
    let other = setup
        .module("account", module::account(&json!({"identifier": "account", "auth": "none"})))
        .upstream("account", "api", &service.url())
        .start();
    let (made, maker) = key(&one, json!({}));
    let [deleted, kept] = [(), ()].map(|()| make(&maker, json!({})));
    let at = |gateway: &Gateway, session: &Value| {
        Agent::new(&gateway.anonymous().with_key(session["token"].as_str().unwrap()), "/mcp")
            .send("tools/list", json!({}))
    };
    for session in [&deleted, &kept] {
        assert_eq!((at(&one, session).status, at(&other, session).status), (200, 200));
    }
    maker.at(&other.address()).delete(&format!("/agent-sessions/{}", deleted["id"].as_str().unwrap())).ok();
    wait_for("the end of the session", || (at(&one, &deleted).status == 401).then_some(()));
    assert_eq!((at(&other, &deleted).status, at(&one, &kept).status), (401, 200));
    one.client().delete(&format!("/admin/keys/{}", made["id"].as_str().unwrap())).ok();
    wait_for("the end of the sessions of the key", || (at(&other, &kept).status == 401).then_some(()));
    assert_eq!(at(&one, &kept).status, 401);
}
