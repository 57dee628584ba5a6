//! Accounts of other systems: imported as lines, and exported for other systems.

use std::fs;
use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value, json};
use support::home::{file, path};
use support::process;
use support::setup::KEY;
use support::{
    Answer, Client, Dialect, Endpoint, OAuthProvider, Reply, Setup, Store, Upstream, module, usage, wait_for,
};

use super::{printed, run};
use crate::integrations::{client, connect, gateway, on_each_store, who};

on_each_store!(
    accounts_are_imported_and_recognised_and_replaced_on_request,
    an_account_without_an_access_token_is_refreshed_by_its_first_call,
    what_is_exported_can_be_imported_again,
    credentials_for_tokens_are_imported_and_exported,
);

const IMPORT: &str = "/admin/integrations/import";

fn send(operator: &Client, query: &str, body: impl Into<Vec<u8>>) -> Answer {
    let call = operator.request("POST", &format!("{IMPORT}{query}")).header("content-type", "application/x-ndjson");
    call.body(body.into()).send()
}

/// The answers to lines.
#[track_caller]
fn import(operator: &Client, query: &str, lines: &[Value]) -> Vec<Value> {
    let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
    answers(&send(operator, query, body))
}

#[track_caller]
fn answers(answer: &Answer) -> Vec<Value> {
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/x-ndjson"), "{}", answer.text());
    answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn line(name: &str, credentials: Value) -> Value {
    json!({
        "tenant": "acme", "subject": "ann", "connector": "account", "user_identifier": name, "credentials": credentials,
        "scopes": ["read"], "account": {"email": "ada@example.com"}, "labels": {"team": "blue"},
    })
}

fn accounts_are_imported_and_recognised_and_replaced_on_request(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let operator = gateway.client();
    let user = client(&gateway, "acme", Some("ann"), "operate,integrate");
    // Tokens that the provider knows: another tenant has got them.
    connect(&client(&gateway, "other", None, "integrate"), "account", "ada");
    let [access, refresh] = provider.newest_tokens();
    let first = line("work", json!({"access_token": access, "refresh_token": refresh, "token_type": "Bearer"}));
    let created = import(&operator, "", std::slice::from_ref(&first));
    assert_eq!((&created[0]["line"], &created[0]["status"]), (&json!(1), &json!("created")));
    let id = created[0]["id"].as_str().unwrap();
    who(&user).ok();
    let record = operator.get(&format!("/admin/integrations/{id}")).ok();
    assert_eq!((&record["labels"], &record["scopes"]), (&json!({"team": "blue"}), &json!(["read"])));
    assert_eq!((&record["subject"], &record["user_identifier"]), (&json!("ann"), &json!("work")));

    // The tokens change, and the line is still the same.
    operator.request("POST", &format!("/admin/integrations/{id}/renew")).send().ok();
    assert_eq!(
        import(&operator, "", std::slice::from_ref(&first))[0],
        json!({"line": 1, "status": "unchanged", "id": id})
    );
    let other = line("work", json!({"access_token": "another-token"}));
    let refused = import(&operator, "?replace=false", std::slice::from_ref(&other));
    assert_eq!(refused[0]["status"], "refused");
    assert!(refused[0]["error"].as_str().unwrap().contains("?replace=true"), "{refused:?}");
    who(&user).ok();
    assert_eq!(import(&operator, "?replace=true", &[other])[0], json!({"line": 1, "status": "replaced", "id": id}));
    let audit = operator.get("/admin/audit?action=integration.imported").ok();
    assert_eq!(audit["entries"].as_array().unwrap().len(), 2);
    assert_eq!((&audit["entries"][0]["target"], &audit["entries"][0]["tenant"]), (&json!(id), &json!("acme")));
}

fn an_account_without_an_access_token_is_refreshed_by_its_first_call(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let user = client(&gateway, "acme", Some("ann"), "operate,integrate");
    connect(&client(&gateway, "other", None, "integrate"), "account", "ada");
    let [_, refresh] = provider.newest_tokens();
    let imported = import(&gateway.client(), "", &[line("work", json!({"refresh_token": refresh}))]);
    assert_eq!(imported[0]["status"], "created");
    who(&user).ok();
    assert_eq!(provider.count(Endpoint::Refresh), 1);
}

#[test]
fn each_line_that_is_wrong_says_why_and_the_others_are_imported() {
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({})));
    let described = json!({"identifier": "keyed", "auth": "api_key"});
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = Setup::new()
        .account("account", &provider)
        .module("keyed", module::account(&described))
        .upstream("keyed", "api", &service.url())
        .start();
    let operator = gateway.client();
    let of = |connector: &str, credentials: Value| json!({"tenant": "acme", "connector": connector, "user_identifier": "a", "credentials": credentials});
    let long = format!("{{\"tenant\": \"{}\"}}", "x".repeat(70_000));
    let lines = [
        of("account", json!({"access_token": "a-good-token"})).to_string(),
        "{\"tenant\": ".to_owned(),
        String::new(),
        long,
        of("nowhere", json!({})).to_string(),
        of("account", json!({"api_key": "a-good-key"})).to_string(),
        of("account", json!({"access_token": "short"})).to_string(),
        of("keyed", json!({"access_token": "a-good-token"})).to_string(),
        of("keyed", json!({"api_key": "a-good-key"})).to_string(),
        of("account", json!({"access_token": "a-good-token", "expires_at": "tomorrow"})).to_string(),
        json!({"tenant": "", "connector": "account", "user_identifier": ".", "x": 1}).to_string(),
        "[]".to_owned(),
    ];
    let answers = answers(&send(&operator, "", lines.join("\n")));
    let seen: Vec<_> =
        answers.iter().map(|answer| (answer["line"].as_u64().unwrap(), answer["status"].clone())).collect();
    let refused = json!("refused");
    let created = json!("created");
    let expected = [1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12]
        .map(|line| (line, if matches!(line, 1 | 9) { created.clone() } else { refused.clone() }));
    assert_eq!(seen, expected, "{answers:?}");
    for (index, expected) in
        [(2, "64 KiB"), (3, "nowhere"), (4, "access_token"), (5, "8 bytes"), (6, "auth-schema"), (8, "expires_at")]
    {
        let error = answers[index]["error"].as_str().unwrap();
        assert!(error.contains(expected), "{error}");
    }
    let error = answers[9]["error"].as_str().unwrap();
    assert!(["/tenant", "/user_identifier", "/credentials", "/x"].iter().all(|name| error.contains(name)), "{error}");
    assert_eq!(operator.get("/admin/integrations").ok()["integrations"].as_array().unwrap().len(), 2);
    operator.post(IMPORT, json!({})).problem(415, "unsupported-media-type");
    assert_eq!(send(&operator, "?replace=maybe&x=1", "").violations().len(), 2);
    assert_eq!(answers_of_nothing(&operator), Vec::<Value>::new());
}

#[test]
fn a_name_that_looks_like_another_and_a_token_that_no_request_can_carry_are_refused() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = Setup::new().account("account", &provider).start();
    let line = |tenant: &str, user: &str, credentials: Value| json!({"tenant": tenant, "connector": "account", "user_identifier": user, "credentials": credentials});
    let token = json!({"access_token": "a-good-token"});
    let lines = [
        line("ac\u{200b}me", "a", token.clone()),
        line("acme", "a\u{202e}", token.clone()),
        line("acme", "a", json!({"access_token": "a-good-token\n"})),
        line("acme", "a", json!({"refresh_token": "a-good\r\ntoken"})),
        line("acme", "a", json!({"access_token": "a-good-token", "expires_at": "9999-12-31T23:59:59.9999Z"})),
        line("acme", "a", json!({"access_token": "a-good-token", "expires_at": "9999-12-31T23:59:59Z"})),
    ];
    let answers = import(&gateway.client(), "", &lines);
    for (answer, place) in answers.iter().zip([
        "/tenant",
        "/user_identifier",
        "/credentials/access_token",
        "/credentials/refresh_token",
        "/credentials/expires_at",
    ]) {
        assert_eq!(answer["status"], "refused", "{answer}");
        assert!(answer["error"].as_str().unwrap().starts_with(place), "{answer}");
    }
    assert_eq!(answers[5]["status"], "created", "{}", answers[5]);
    let listed = gateway.client().get("/admin/integrations").ok();
    assert_eq!(listed["integrations"][0]["expires_at"], "9999-12-31T23:59:59.000Z");
}

fn answers_of_nothing(operator: &Client) -> Vec<Value> {
    answers(&send(operator, "", ""))
}

#[test]
fn a_caller_that_sends_all_lines_before_it_reads_gets_an_answer_to_each() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = Setup::new().account("account", &provider).start();
    // The answers have many megabytes, which no socket holds.
    let count = 1_000_000;
    assert_eq!(import(&gateway.client(), "", &[json!({})]).len(), 1);
    let before = usage::peak_mb(gateway.process_id());
    let body = "{\"tenant\": \"acme\"}\n".repeat(count);
    let answers = answers(&send(&gateway.client(), "", body));
    let grown = usage::peak_mb(gateway.process_id()) - before;
    assert!(grown < 64, "the memory grew by {grown} MB");
    assert_eq!((answers.len(), &answers[count - 1]["line"]), (count, &json!(count)));
}

#[test]
fn lines_of_a_caller_that_does_not_read_the_answer_are_imported() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = Setup::new().account("account", &provider).start();
    let refused = "{\"tenant\": \"acme\"}\n".repeat(100_000);
    let last = line("last", json!({"access_token": "a-good-token"}));
    let body = format!("{refused}{last}\n");
    let address = gateway.address().replace("http://", "");
    let mut connection = TcpStream::connect(&address).unwrap();
    write!(
        connection,
        "POST {IMPORT} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {KEY}\r\ncontent-type: application/x-ndjson\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    wait_for("the last line to be imported", || {
        let found = gateway.client().get("/admin/integrations?user_identifier=last").ok();
        (found["integrations"].as_array()?.len() == 1).then_some(())
    });
    // The connection is still open, and the gateway serves.
    gateway.anonymous().get("/healthz").ok();
    drop(connection);
}

#[test]
fn a_line_of_a_gigabyte_is_refused_in_constant_memory_and_the_others_are_imported() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = Setup::new().account("account", &provider).start();
    let operator = gateway.client();
    let good = |name: &str| format!("{}\n", line(name, json!({"access_token": "a-good-token"}))).into_bytes();
    assert_eq!(
        import(&operator, "", &[line("first", json!({"access_token": "a-good-token"}))])[0]["status"],
        "created"
    );
    let before = usage::peak_mb(gateway.process_id());
    let mut long = vec![b'x'; 1 << 30];
    long.push(b'\n');
    let answers = answers(&send(&operator, "", [good("ann"), long, good("bob")].concat()));
    let statuses: Vec<_> = answers.iter().map(|answer| answer["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["created", "refused", "created"], "{answers:?}");
    let grown = usage::peak_mb(gateway.process_id()) - before;
    assert!(grown < 64, "the memory grew by {grown} MB");
}

fn what_is_exported_can_be_imported_again(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let operator = gateway.client();
    let user = client(&gateway, "acme", Some("ann"), "operate,integrate");
    connect(&user, "account", "ada");
    let folder = gateway.home().data();
    let (sealed, open) = (folder.join("accounts.age"), folder.join("accounts"));
    let identity = support::age::Identity::generate();
    let recipient = identity.recipient();
    let export = ["integrations", "export", "--recipient", &recipient, sealed.to_str().unwrap()];
    gateway.home().run_ok(&export);
    assert_ne!(gateway.home().run(&export).code, Some(0), "the file exists");
    let bytes = fs::read(&sealed).unwrap();
    assert!(bytes.starts_with(b"age-encryption.org/v1"));
    let lines = identity.decrypt(&sealed);
    fs::write(&open, &lines).unwrap();
    let exported: Value = serde_json::from_slice(&lines).unwrap();
    assert_eq!((&exported["tenant"], &exported["subject"]), (&json!("acme"), &json!("ann")));
    let audit = operator.get("/admin/audit?action=integration.exported").ok();
    assert_eq!(audit["entries"].as_array().unwrap().len(), 1);

    // The account is gone without a revocation, as if the lines came from another gateway.
    let id = operator.get("/admin/integrations").ok()["integrations"][0]["id"].as_str().unwrap().to_owned();
    provider.break_revocation(Reply::empty(503));
    operator.delete(&format!("/admin/integrations/{id}")).ok();
    who(&user).problem(424, "integration-required");
    let file = open.to_str().unwrap();
    assert_eq!(printed(&gateway, &["integrations", "import", file])[0]["status"], "created");
    who(&user).ok();
    assert_eq!(printed(&gateway, &["integrations", "import", file])[0]["status"], "unchanged");
    fs::write(&open, [&lines[..], b"{}\n"].concat()).unwrap();
    let finished = run(&gateway, &["integrations", "import", file]);
    assert!(finished.code == Some(1) && finished.stdout.contains("/tenant"), "{} {}", finished.stdout, finished.stderr);
}

fn credentials_for_tokens_are_imported_and_exported(store: &Store) {
    const SECRET: &str = "secret-of-the-robot";
    let provider = OAuthProvider::start(Dialect::strict());
    provider.add_client("robot", SECRET);
    let additions = json!({"additions": [{"is": "client_credentials"}]});
    let gateway = Setup::new().on(store).account_with("account", &provider, &additions).start();
    let operator = gateway.client();
    let user = client(&gateway, "acme", Some("ann"), "operate,integrate");
    let grant = json!({"type": "client_credentials", "client_id": "robot", "client_secret": SECRET});
    let imported = import(&operator, "", &[line("robot", json!({"grant": grant}))]);
    assert_eq!(imported[0]["status"], "created", "{imported:?}");
    assert_eq!(who(&user).ok()["id"], "robot");
    assert_eq!(provider.count(Endpoint::Direct), 1, "the first call fetches the token");
    let record = user.get("/connectors/account/integrations/robot").ok();
    assert_eq!(record["auth_type"], "oauth2_client_credentials");

    let refused = import(
        &operator,
        "",
        &[
            line("a", json!({"grant": {"type": "app_installation", "installation_id": "1"}})),
            line("b", json!({"grant": {"type": "client_credentials", "client_id": "robot"}})),
        ],
    );
    assert!(refused[0]["error"].as_str().unwrap().contains("auth-schema"), "{refused:?}");
    assert!(refused[1]["error"].as_str().unwrap().contains("/credentials/grant"), "{refused:?}");

    let sealed = gateway.home().data().join("accounts.age");
    let identity = support::age::Identity::generate();
    let recipient = identity.recipient();
    gateway.home().run_ok(&["integrations", "export", "--recipient", &recipient, sealed.to_str().unwrap()]);
    let lines = identity.decrypt(&sealed);
    let exported: Value = serde_json::from_slice(&lines).unwrap();
    assert_eq!(exported["credentials"]["grant"], grant);
    let replaced = import(&operator, "?replace=true", &[exported]);
    assert_eq!(replaced[0]["status"], "replaced", "{replaced:?}");
    provider.expire();
    assert_eq!(who(&user).ok()["id"], "robot");
    assert!(gateway.lines().iter().all(|line| !line.contains(SECRET)));
}

#[test]
fn an_export_names_an_account_whose_secret_is_damaged_and_has_the_others() {
    let store = Store::postgres();
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&store, &provider);
    let operator = gateway.client();
    let good = json!({"access_token": "a-good-token"});
    let imported = import(&operator, "", &[line("ann", good.clone()), line("bob", good)]);
    let id = imported[0]["id"].as_str().unwrap();
    store.database().sql(&format!("UPDATE integrations SET secret = '\\x00' WHERE id = '{id}'"));
    let sealed = gateway.home().data().join("accounts.age");
    let identity = support::age::Identity::generate();
    let recipient = identity.recipient();
    let export = ["integrations", "export", "--recipient", &recipient, sealed.to_str().unwrap()];
    let finished = gateway.home().run(&export);
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    assert!(finished.stderr.contains(&format!("{id} is left out")), "{}", finished.stderr);
    let lines = identity.decrypt(&sealed);
    let exported: Value = serde_json::from_slice(&lines).unwrap();
    assert_eq!(exported["user_identifier"], "bob");
}

#[test]
fn an_export_that_fails_leaves_no_file_behind() {
    let store = Store::postgres();
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&store, &provider);
    import(&gateway.client(), "", &[line("ann", json!({"access_token": "a-good-token"}))]);
    let labels = |text: &str| store.database().sql(&format!("UPDATE integrations SET labels = '{text}'"));
    labels("no labels");
    let sealed = gateway.home().data().join("accounts.age");
    let recipient = support::age::Identity::generate().recipient();
    let export = ["integrations", "export", "--recipient", &recipient, sealed.to_str().unwrap()];
    let finished = gateway.home().run(&export);
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    assert!(!sealed.exists(), "nobody could read it");
    labels("{}");
    gateway.home().run_ok(&export);
}

#[test]
fn a_broken_line_among_many_good_ones_is_named_and_nothing_else_is_lost() {
    const COUNT: usize = 2500;
    const BROKEN: usize = 1234;
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = Setup::new().account("account", &provider).start();
    // A user has at most 1000 accounts of a connector.
    let good = |number: usize| {
        let mut line = line("work", json!({"access_token": "a-good-token"}));
        line["subject"] = format!("user{number}").into();
        line.to_string()
    };
    let mut lines: Vec<String> = (1..=COUNT).map(good).collect();
    lines[BROKEN - 1].pop();
    let file = gateway.home().data().join("accounts");
    fs::write(&file, lines.join("\n")).unwrap();
    let arguments = ["integrations", "import", file.to_str().unwrap()];
    let finished = run(&gateway, &[&arguments[..], &["--json"]].concat());
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    assert!(finished.stderr.contains("2499 created, 0 replaced, 0 unchanged, 1 refused."), "{}", finished.stderr);
    let answers: Vec<Value> = serde_json::from_str(&finished.stdout).unwrap();
    for (number, answer) in (1..).zip(&answers) {
        let expected = if number == BROKEN { "refused" } else { "created" };
        assert_eq!((&answer["line"], &answer["status"]), (&json!(number), &json!(expected)));
    }
    assert_eq!(answers.len(), COUNT);
    // The file is sent again once the line is mended.
    lines[BROKEN - 1] = good(BROKEN);
    fs::write(&file, lines.join("\n")).unwrap();
    let finished = run(&gateway, &arguments);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), ""), "{}", finished.stderr);
    assert!(finished.stderr.contains("1 created, 0 replaced, 2499 unchanged, 0 refused."), "{}", finished.stderr);
}

#[test]
fn the_command_that_imports_fails_if_the_gateway_answers_fewer_lines_than_it_got() {
    // A stand-in for a gateway that stops in the middle. The previous version ends its answer as a
    // whole one.
    let stopping = Upstream::start();
    let answered = "{\"line\":1,\"status\":\"created\",\"id\":\"int_1\"}\n";
    let home = Setup::new().prepare();
    let accounts = file(&home, "accounts", b"{}\n\n{}\n");
    let arguments = ["integrations", "import", path(&accounts), "--key", KEY, "--url", &stopping.url()];
    for reply in [
        Reply::cut_off("application/x-ndjson", &format!("{answered}{{\"line\":")),
        Reply::typed("application/x-ndjson", answered),
    ] {
        stopping.reply("*", reply);
        let finished = process::run(&mut home.command(&arguments));
        assert_eq!(finished.code, Some(1), "{}", finished.stderr);
        assert!(finished.stderr.contains("stopped after the answers to 1 lines"), "{}", finished.stderr);
    }
    fs::write(&accounts, "{}\n\n").unwrap();
    let finished = process::run(&mut home.command(&arguments));
    assert_eq!(finished.code, Some(0), "a blank line gets no answer: {}", finished.stderr);
}

#[test]
fn the_command_that_imports_reads_a_file_of_any_size_in_constant_memory() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = Setup::new().account("account", &provider).start();
    let file = gateway.home().data().join("accounts");
    let mut lines = b"{\"tenant\": \"acme\"}\n".repeat(5000);
    lines.extend(vec![b'x'; 256 << 20]);
    fs::write(&file, lines).unwrap();
    let arguments = ["integrations", "import", file.to_str().unwrap(), "--key", KEY, "--url", &gateway.address()];
    // With all of the last line in memory, it would need more address space than this.
    let limited = "ulimit -v 700000; exec \"$0\" \"$@\"";
    let finished = process::run(&mut process::in_shell(limited, &gateway.home().command(&arguments)));
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    assert!(finished.stdout.contains("5001        The line is longer than 64 KiB."), "{}", finished.stderr);
    assert!(finished.stderr.contains("5001 of 5001 lines were refused"), "{}", finished.stderr);
}
