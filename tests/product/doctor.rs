//! The command `doctor`, and the warnings of a start at a public address.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use support::accounts::{begin, connect, registered};
use support::oauth::browser;
use support::process::{self, Finished};
use support::setup::KEY;
use support::upstream::free_port;
use support::webhooks::make_secret;
use support::{
    Authority, Dialect, Home, OAuthProvider, Person, Reply, Setup, Store, Upstream, module, runtime, wait_for,
};
use tempfile::NamedTempFile;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// The findings of a report of this level, each as its check, its text and its action.
fn findings(finished: &Finished, level: &str) -> Vec<[String; 3]> {
    let report: Value = serde_json::from_str(&finished.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", finished.stdout, finished.stderr));
    let found = report["findings"].as_array().unwrap().iter().filter(|finding| finding["level"] == level);
    let text = |finding: &Value, member: &str| finding[member].as_str().unwrap().to_owned();
    found.map(|finding| ["check", "finding", "action"].map(|member| text(finding, member))).collect()
}

/// Runs `doctor --json`.
fn examine(home: &Home) -> Finished {
    home.run(&["doctor", "--json"])
}

/// Checks that the command fails with one problem, and that the problem is about `check`, has these
/// words, and says what to do.
#[track_caller]
fn assert_one_problem(finished: &Finished, check: &str, words: &[&str]) {
    let found = findings(finished, "problem");
    let [[found_check, text, action]] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((finished.code, found_check.as_str()), (Some(1), check), "{found:#?}");
    assert!(finished.stderr.contains("1 problem was found"), "{}", finished.stderr);
    for word in words {
        assert!(text.contains(word) || action.contains(word), "`{word}` in {found:#?}");
    }
    assert!(!action.is_empty(), "{found:#?}");
}

/// A home whose data folder only its owner can enter.
fn private(setup: Setup) -> Home {
    let home = setup.prepare();
    make_private(&home);
    home
}

fn make_private(home: &Home) {
    fs::set_permissions(home.data(), Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_gateway_that_lacks_nothing_passes_every_check_while_it_serves() {
    let (provider, service) = (OAuthProvider::start(Dialect::strict()), Upstream::start());
    let setup = Setup::new().guest("hostile").upstream("hostile", "api", &service.url());
    let gateway = registered(private(setup.account("account", &provider)).start(), &provider);
    connect(&gateway.client(), "account", "ada");
    let calls = provider.seen().len();
    let finished = examine(gateway.home());
    assert_eq!(findings(&finished, "problem"), [[""; 3]; 0], "{}", finished.stdout);
    assert_eq!(finished.code, Some(0));
    let passed: Vec<String> = findings(&finished, "ok").into_iter().map(|[check, ..]| check).collect();
    let checks =
        ["descriptors", "memory", "folders", "disk", "clock", "database", "master key", "keys", "connectors", "hosts"];
    for check in checks {
        assert!(passed.iter().any(|passed| passed == check), "{check} in {passed:?}");
    }
    assert_eq!((provider.seen().len(), service.seen().len()), (calls, 0), "the command sends no request");
    let secrets = [provider.secrets(), vec![KEY.to_owned()]].concat();
    for secret in secrets {
        assert!(!finished.stdout.contains(&secret) && !finished.stderr.contains(&secret));
    }
    let people = gateway.home().run_ok(&["doctor"]);
    assert!(
        people.lines().all(|line| line.starts_with("ok ") || line.starts_with("note ") || line.starts_with("  ")),
        "{people}"
    );
    gateway.call("account/forward", json!({"path": "/me"})).ok();
}

#[test]
fn a_new_installation_is_examined_and_nothing_is_made() {
    let service = Upstream::start();
    let setup = Setup::new().cold().guest("hostile").upstream("hostile", "api", &service.url());
    let home = private(setup);
    let finished = examine(&home);
    assert_eq!(finished.code, Some(0), "{}", finished.stdout);
    let notes = findings(&finished, "note");
    assert!(notes.iter().any(|[check, text, _]| check == "database" && text.contains("no database")), "{notes:?}");
    assert!(findings(&finished, "ok").iter().any(|[check, ..]| check == "connectors"));
    assert_eq!(fs::read_dir(home.data()).unwrap().count(), 0);
}

#[test]
fn a_data_folder_and_a_master_key_that_others_can_read_are_problems() {
    let home = private(Setup::new());
    home.run_ok(&["keys", "create", "--name", "app"]);
    fs::set_permissions(home.data(), Permissions::from_mode(0o755)).unwrap();
    assert_one_problem(&examine(&home), "folders", &["755", "chmod 700"]);
    make_private(&home);
    fs::set_permissions(home.data().join("master.key"), Permissions::from_mode(0o644)).unwrap();
    assert_one_problem(&examine(&home), "master key", &["644", "chmod 600"]);
}

#[test]
fn a_master_key_of_another_gateway_is_a_problem() {
    let mut gateway = private(Setup::new()).start();
    gateway.stop();
    let home = gateway.home();
    fs::write(home.data().join("master.key"), "QW5vdGhlciBtYXN0ZXIga2V5IHRoYXQgdGVzdHMgdXM=\n").unwrap();
    assert_one_problem(&examine(home), "master key", &["wrong one"]);
}

#[test]
fn a_refused_module_is_a_problem_with_its_reason() {
    let home = private(Setup::new().guest("hostile").module("liar", module::liar("reserved path")));
    home.run_ok(&["connectors", "list"]);
    let finished = examine(&home);
    let problems = findings(&finished, "problem");
    assert!(
        problems.iter().any(|[check, text, _]| check == "connectors"
            && text.contains("liar.wasm")
            && text.contains("`integrations`")),
        "{problems:?}"
    );
    assert_eq!(finished.code, Some(1));
}

#[test]
fn an_upstream_that_does_not_listen_and_a_name_that_does_not_resolve_are_problems() {
    let url = format!("http://127.0.0.1:{}", free_port());
    let home = private(Setup::new().guest("hostile").upstream("hostile", "api", &url));
    assert_one_problem(&examine(&home), "hosts", &[&url, "upstream `api` of `hostile`"]);
    let home = private(Setup::new().guest("hostile").upstream("hostile", "api", "http://nowhere.invalid"));
    assert_one_problem(&examine(&home), "hosts", &["nowhere.invalid", "resolved", "name server"]);
}

/// A server that completes TLS handshakes and closes the connections.
fn tls_server(authority: &Authority) -> String {
    let acceptor = TlsAcceptor::from(std::sync::Arc::new(authority.server(&["h2"])));
    let listener = runtime().block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    runtime().spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move { drop(acceptor.accept(stream).await) });
        }
    });
    format!("https://{address}")
}

#[test]
fn a_certificate_that_is_not_trusted_is_a_problem_of_an_upstream() {
    let authority = Authority::new();
    let url = tls_server(&authority);
    let home = |trusted: &Authority, roots: &NamedTempFile| {
        trusted.write_roots(roots.path());
        let setup = Setup::new().guest("hostile").upstream("hostile", "api", &url);
        private(setup.variable("SSL_CERT_FILE", roots.path().to_str().unwrap()))
    };
    let (right, wrong) = (NamedTempFile::new().unwrap(), NamedTempFile::new().unwrap());
    assert_eq!(examine(&home(&authority, &right)).code, Some(0));
    assert_one_problem(&examine(&home(&Authority::new(), &wrong)), "hosts", &[&url, "certificate"]);
}

#[test]
fn a_token_endpoint_that_cannot_be_reached_is_a_problem() {
    let provider = OAuthProvider::start(Dialect::strict());
    let closed = format!("http://127.0.0.1:{}", free_port());
    let setup = Setup::new().account("account", &provider);
    let home =
        private(setup.variable("GATEWAY__CONNECTORS__ACCOUNT__OAUTH__TOKEN_URL", &format!("{closed}/token?a=hidden")));
    let finished = examine(&home);
    assert_one_problem(&finished, "hosts", &[&closed, "token endpoint of `account`"]);
    assert!(!finished.stdout.contains("hidden"));
}

#[test]
fn an_oauth_client_is_a_problem_once_accounts_need_it() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = registered(private(Setup::new().account("account", &provider)).start(), &provider);
    connect(&gateway.client(), "account", "ada");
    let home = gateway.home();
    let config = fs::read_to_string(home.config()).unwrap();
    let without: String =
        config.lines().filter(|line| !line.contains("client_")).map(|line| format!("{line}\n")).collect();
    fs::write(home.config(), without).unwrap();
    assert_one_problem(&examine(home), "oauth clients", &["`account`", "[oauth_clients.account]"]);

    let home = private(Setup::new().account_without_client("account", &provider));
    let finished = examine(&home);
    assert_eq!(finished.code, Some(0), "{}", finished.stdout);
    assert!(findings(&finished, "note").iter().any(|[check, ..]| check == "oauth clients"));
}

#[test]
fn accounts_that_bring_their_own_credentials_need_no_oauth_client() {
    let provider = OAuthProvider::start(Dialect::strict());
    provider.add_client("robot:1", "secret-of-the-account");
    let described = json!({"additions": [{"is": "client_credentials"}]});
    let gateway = registered(private(Setup::new().account_with("account", &provider, &described)).start(), &provider);
    let credentials = json!({"client_id": "robot:1", "client_secret": "secret-of-the-account"});
    let init =
        json!({"auth_type": "oauth2_client_credentials", "user_identifier": "robot", "credentials": credentials});
    gateway.client().post("/connectors/account/integrations", init).ok();
    let home = gateway.home();
    let config = fs::read_to_string(home.config()).unwrap();
    let without: String =
        config.lines().filter(|line| !line.contains("client_")).map(|line| format!("{line}\n")).collect();
    fs::write(home.config(), without).unwrap();
    let finished = examine(home);
    assert_eq!(finished.code, Some(0), "{}", finished.stdout);
    let notes = findings(&finished, "note");
    assert!(notes.iter().any(|[check, text, _]| check == "oauth clients" && text.contains("`account`")), "{notes:?}");
}

#[test]
fn an_oauth_client_that_the_provider_refuses_is_a_problem_until_a_refresh_succeeds() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = registered(private(Setup::new().account("account", &provider)).start(), &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    let id = client.get("/admin/integrations").ok()["integrations"][0]["id"].as_str().unwrap().to_owned();
    let renew = || client.request("POST", &format!("/admin/integrations/{id}/renew")).send();
    provider.break_tokens(Reply::json(json!({"error": "invalid_client"})).status(401));
    assert_ne!(renew().status, 200);
    let words = ["`account`", "invalid_client", "with [oauth_clients.account]"];
    assert_one_problem(&examine(gateway.home()), "oauth clients", &words);
    provider.repair();
    renew().ok();
    let finished = examine(gateway.home());
    assert_eq!(finished.code, Some(0), "{}", finished.stdout);
}

#[test]
fn a_connection_that_failed_because_of_the_oauth_client_is_noted_until_another_succeeds() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = registered(private(Setup::new().account("account", &provider)).start(), &provider);
    let client = gateway.client();
    let noted = || -> Vec<String> {
        let finished = examine(gateway.home());
        assert_eq!(finished.code, Some(0), "{}", finished.stdout);
        let notes = findings(&finished, "note").into_iter().filter(|[check, ..]| check == "oauth clients");
        notes.map(|[_, text, _]| text).collect()
    };
    let wait_for_note = |words: &str| {
        let notes =
            wait_for("the note", || Some(noted()).filter(|notes| notes.iter().any(|note| note.contains(words))));
        assert!(notes.len() == 1 && notes[0].contains("`account`") && notes[0].contains("invalid_client"), "{notes:?}");
    };
    let of_acme = crate::integrations::client(&gateway, "acme", None, "integrate");
    let [of_acmes, of_defaults] =
        [&of_acme, &client].map(|client| Person::named("ada").consents(&begin(client, "account")));
    provider.break_tokens(Reply::json(json!({"error": "invalid_client"})).status(401));
    browser::open(&of_acmes);
    wait_for_note("the tenant `acme`");
    browser::open(&of_defaults);
    wait_for_note("the tenant `default`");
    provider.repair();
    connect(&client, "account", "ada");
    // The user of the other tenant still has no account.
    wait_for_note("the tenant `acme`");
    connect(&of_acme, "account", "ada");
    wait_for("the end of the note", || noted().is_empty().then_some(()));
}

#[test]
fn an_url_for_events_of_the_operator_without_a_webhook_secret_is_a_problem() {
    let receiver = Upstream::start();
    let callbacks = format!("[callbacks]\nallow_private_network = true\nevents_url = \"{}\"", receiver.url());
    let gateway = private(Setup::new().config(&callbacks)).start();
    let words = ["`callbacks.events_url`", "`default`", "POST /webhooks/secrets"];
    assert_one_problem(&examine(gateway.home()), "webhooks", &words);
    make_secret(&gateway.client());
    let finished = examine(gateway.home());
    assert_eq!(finished.code, Some(0), "{}", finished.stdout);
    assert!(findings(&finished, "ok").iter().any(|[check, ..]| check == "webhooks"), "{}", finished.stdout);
}

/// A time from now, as options take it.
fn in_days(days: u64) -> String {
    humantime::format_rfc3339_seconds(SystemTime::now() + Duration::from_secs(days * 86_400)).to_string()
}

/// Makes the key `soon`, which was made two months ago.
fn make_key_that_expires_soon(home: &Home) {
    const TWO_MONTHS_MS: u64 = 60 * 86_400_000;
    home.run_ok(&["keys", "create", "--name", "soon", "--expires-at", &in_days(3)]);
    let made =
        home.sqlite(&format!("UPDATE api_keys SET created_at = created_at - {TWO_MONTHS_MS} WHERE name = 'soon'"));
    assert_eq!(made, 1);
}

#[test]
fn a_key_that_expires_soon_is_a_problem_and_one_that_expires_later_is_not() {
    let home = private(Setup::new());
    home.run_ok(&["keys", "create", "--name", "later", "--expires-at", &in_days(60)]);
    home.run_ok(&["keys", "create", "--name", "of some days", "--expires-at", &in_days(3)]);
    let finished = examine(&home);
    assert_eq!(finished.code, Some(0), "a key that was made for some days is meant to expire: {}", finished.stdout);
    make_key_that_expires_soon(&home);
    assert_one_problem(&examine(&home), "keys", &["`soon`", "keys create"]);
}

#[test]
fn a_certificate_that_expires_soon_or_cannot_be_used_is_a_problem() {
    let authority = Authority::new();
    let home = private(Setup::new().tls(&authority));
    let finished = examine(&home);
    assert_eq!(finished.code, Some(0), "{}", finished.stdout);
    assert!(findings(&finished, "ok").iter().any(|[check, ..]| check == "certificates"), "{}", finished.stdout);

    let (certificate, key) = home.pair();
    let soon = in_days(5);
    let mut parts = soon[..10].split('-');
    let mut part = || parts.next().unwrap();
    let day = (part().parse().unwrap(), part().parse().unwrap(), part().parse().unwrap());
    authority.issue_until(day).write(&certificate, &key);
    assert_one_problem(&examine(&home), "certificates", &["`tls` expires at", "Renew it"]);
    authority.issue_until((2020, 1, 1)).write(&certificate, &key);
    assert_one_problem(&examine(&home), "certificates", &["has expired at 2020-01-01"]);
    fs::write(&certificate, authority.issue().certificate).unwrap();
    assert_one_problem(&examine(&home), "certificates", &["not the key", "Name the two files"]);
    authority.issue().write(&certificate, &key);
    fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    assert_one_problem(&examine(&home), "certificates", &["mode 644", "Set its mode to 600"]);
}

#[test]
fn a_public_gateway_says_at_its_start_what_is_dangerous_and_doctor_fails() {
    let gateway = Setup::new().variable("GATEWAY__LISTEN", "0.0.0.0:0").start();
    let dangers =
        ["without TLS", "may call everything and do not expire", "all users of this machine can enter `data_dir`"];
    let warnings = wait_for("the warnings", || {
        let log = gateway.log();
        let warnings = log.iter().filter(|line| line["level"] == "WARN");
        let warnings: Vec<String> = warnings.map(|line| line["message"].as_str().unwrap().to_owned()).collect();
        let is_there = |words: &&str| warnings.iter().any(|warning| warning.contains(words));
        dangers.iter().all(is_there).then_some(warnings)
    });
    for words in dangers {
        assert_eq!(warnings.iter().filter(|warning| warning.contains(words)).count(), 1, "{words} in {warnings:?}");
    }
    let finished = examine(gateway.home());
    let checks: Vec<String> = findings(&finished, "problem").into_iter().map(|[check, ..]| check).collect();
    assert_eq!(checks, ["folders", "exposure", "exposure"], "{}", finished.stdout);

    // With TLS or behind a proxy that has it, with limited keys and a private folder, nothing is
    // dangerous.
    let proxied = Setup::new().general("public_url = \"https://gateway.example\"");
    for setup in [proxied, Setup::new().tls(&Authority::new())] {
        let home = private(setup.variable("GATEWAY__LISTEN", "0.0.0.0:0").with_first_key());
        home.run_ok(&["keys", "create", "--name", "app", "--allow", "hostile", "--expires-at", &in_days(60)]);
        let finished = examine(&home);
        assert_eq!(finished.code, Some(0), "{}", finished.stdout);
    }
}

#[test]
fn a_postgres_server_is_examined_with_its_clock_and_one_that_is_away_is_a_problem() {
    let store = Store::postgres();
    let mut gateway = private(Setup::new().on(&store)).start();
    gateway.stop();
    let finished = examine(gateway.home());
    assert_eq!(finished.code, Some(0), "{}", finished.stdout);
    let passed = findings(&finished, "ok");
    assert!(passed.iter().any(|[check, text, _]| check == "clock" && text.contains("agree")), "{passed:?}");

    let url = format!("database_url = \"postgres://gateway:hunter2@127.0.0.1:{}/gateway\"", free_port());
    let finished = examine(&private(Setup::new().general(&url)));
    assert_one_problem(&finished, "database", &["127.0.0.1"]);
    assert!(!finished.stdout.contains("hunter2") && !finished.stderr.contains("hunter2"));
}

#[test]
fn a_database_of_a_newer_release_is_a_problem_and_stays_as_it_is() {
    let home = private(Setup::new());
    home.run_ok(&["keys", "create", "--name", "app"]);
    home.sqlite("PRAGMA user_version = 999");
    assert_one_problem(&examine(&home), "database", &["999"]);
    home.sqlite("PRAGMA user_version = 1");
    let finished = examine(&home);
    assert_eq!(finished.code, Some(0));
    let notes = findings(&finished, "note");
    assert!(notes.iter().any(|[_, text, action]| text.contains("version 1") && action.contains("backup")), "{notes:?}");
}

#[test]
fn what_has_the_same_cause_is_one_problem() {
    let refused = module::liar("reserved path");
    let home = private(
        Setup::new()
            .module("one", refused.clone())
            .module("two", refused)
            .guest("hostile")
            .upstream("hostile", "api", "http://first.invalid")
            .guest("liar")
            .upstream("liar", "api", "http://second.invalid"),
    );
    let finished = examine(&home);
    let problems = findings(&finished, "problem");
    let [[modules, refused, _], [hosts, unresolved, _]] = &problems[..] else { panic!("{problems:#?}") };
    assert_eq!((modules.as_str(), hosts.as_str()), ("connectors", "hosts"));
    assert!(refused.contains("one.wasm, two.wasm are refused"), "{refused}");
    for host in
        ["http://first.invalid (upstream `api` of `hostile`)", "http://second.invalid (upstream `api` of `liar`)"]
    {
        assert!(unresolved.contains(host), "{unresolved}");
    }
}

#[test]
fn a_running_gateway_is_asked_by_its_address() {
    let gateway = private(Setup::new().module("liar", module::liar("reserved path"))).start();
    let at = |arguments: &[&str]| process::run(gateway.home().command(&["doctor", "--json"]).args(arguments));
    let address = gateway.address();
    let finished = at(&["--url", &address]);
    assert_eq!(finished.code, Some(0), "{}", finished.stdout);
    assert!(findings(&finished, "ok").iter().any(|[_, text, _]| text.contains("reachable and ready")));
    assert!(findings(&finished, "note").iter().any(|[_, _, action]| action.contains("GATEWAY_KEY")));

    make_key_that_expires_soon(gateway.home());
    let finished = at(&["--url", &address, "--key", KEY]);
    let problems = findings(&finished, "problem");
    let checks: Vec<&str> = problems.iter().map(|[check, ..]| check.as_str()).collect();
    assert_eq!((finished.code, checks), (Some(1), vec!["keys", "connectors"]), "{problems:?}");
    let passed: Vec<String> = findings(&finished, "ok").into_iter().map(|[check, ..]| check).collect();
    for check in ["gateway", "descriptors", "memory", "folders", "database", "clock", "master key"] {
        assert!(passed.iter().any(|passed| passed == check), "the gateway examines its {check}: {passed:?}");
    }
    assert!(!finished.stdout.contains(KEY) && !finished.stderr.contains(KEY));

    let away = format!("http://127.0.0.1:{}", free_port());
    assert_one_problem(&at(&["--url", &away]), "gateway", &[&away, "does not answer"]);
}
