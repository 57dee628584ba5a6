//! Secrets at rest. They are encrypted with keys that can be rotated while gateways serve, and
//! bound to their rows.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;
use serde_json::json;
use support::process::Process;
use support::{Dialect, Gateway, Load, OAuthProvider, Setup, Store};

use super::{begin, connect, email, gateway, me, on_each_store, started, who, who_as};

on_each_store!(
    no_secret_is_written_in_plain_text,
    a_start_with_another_master_key_fails_and_changes_nothing,
    a_start_without_the_master_key_does_not_create_another,
    the_master_key_is_rotated_under_load,
    a_rotation_that_was_not_begun_is_not_finished,
    a_rotation_that_is_killed_many_times_loses_nothing,
);

/// Every file below a folder, without the cache of compiled modules, which tests share.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => files.extend(self::files(&path)),
            kind if kind.is_file() => files.push((path.display().to_string(), fs::read(&path).unwrap())),
            _ => {}
        }
    }
    files.sort();
    files
}

/// Byte sequences that show a secret: plain, and in base64.
fn forms(secret: &str) -> Vec<Vec<u8>> {
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    // The text before the secret shifts its base64. The ends depend on the neighbours and are left
    // out.
    let shifted = |padding: &str| STANDARD.encode(format!("{padding}{secret}"))[4..].trim_end_matches('=').to_owned();
    let base64 = ["", "a", "ab"].map(|padding| {
        let text = shifted(padding);
        text[..text.len() - 4].to_owned()
    });
    let json = secret.replace('/', "\\/");
    [secret.to_owned(), hex.to_uppercase(), hex, json].into_iter().chain(base64).map(String::into_bytes).collect()
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    memmem::find(haystack, needle).is_some()
}

fn no_secret_is_written_in_plain_text(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let setup = Setup::new().on(store).general("log = \"trace\"").config("[calls]\nkeep = \"all\"");
    let setup = setup.account("account", &provider);
    let gateway = started(setup, &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    provider.expire();
    assert_eq!(who(&client).ok(), me("ada"));
    // A pending authorization has a verifier and a state.
    let url = begin(&client, "account");
    let state = url.split("state=").nth(1).unwrap().split('&').next().unwrap().to_owned();
    let mut secrets = provider.secrets();
    secrets.push(state);
    secrets.extend(of_the_operator(&gateway));
    let verifiers = provider.seen().into_iter().filter(|seen| seen.path == "/token").flat_map(|seen| seen.form());
    secrets.extend(verifiers.filter(|(name, _)| name == "code_verifier").map(|(_, value)| value));
    let mut written = files(&gateway.home().data());
    written.push(("the database".to_owned(), store.dump().into_bytes()));
    written.push(("the log".to_owned(), gateway.lines().join("\n").into_bytes()));
    for (name, bytes) in &written {
        for secret in &secrets {
            for form in forms(secret) {
                assert!(!contains(bytes, &form), "{secret} as {} in {name}", String::from_utf8_lossy(&form));
            }
        }
    }
    let key = gateway.home().data().join("master.key");
    assert_eq!(fs::metadata(key).unwrap().permissions().mode() & 0o777, 0o600);
}

/// Makes everything with a secret that an operator or an application can make, and returns the
/// secrets.
fn of_the_operator(gateway: &Gateway) -> Vec<String> {
    let operator = gateway.client();
    let [of_client, of_import] =
        ["the-secret-of-a-client-of-acme", "the-token-of-an-imported-account"].map(str::to_owned);
    let client = json!({"client_id": "acme-client", "client_secret": of_client});
    operator.request("PUT", "/admin/tenants/acme/oauth_clients/account").json(&client).send().ok();
    let line = json!({
        "tenant": "acme", "connector": "account", "user_identifier": "bob", "credentials": {"access_token": of_import},
    });
    let import = operator.request("POST", "/admin/integrations/import").header("content-type", "application/x-ndjson");
    assert!(import.body(line.to_string()).send().text().contains("created"));
    let key = operator.post("/admin/keys", json!({"name": "x", "scopes": ["integrate"]})).json()["key"].clone();
    // The browser that sends the form of a link gets a cookie with a secret.
    let made = operator.post("/connect-links", json!({"connectors": ["account"]})).json();
    let url = made["url"].as_str().unwrap();
    let form = gateway.anonymous().without_redirects().at(url).request("POST", "");
    let sent = form.header("content-type", "application/x-www-form-urlencoded").body("connector=account").send();
    let cookie = sent.header("set-cookie").split([';', '=', '.']).nth(1).unwrap().to_owned();
    let link = url.rsplit('/').next().unwrap().to_owned();
    let webhook = operator.post("/webhooks/secrets", json!({})).ok()["secret"].clone();
    let shown = [key, webhook].map(|value| value.as_str().unwrap().to_owned());
    // The gateway sent the browser to the provider with a new state.
    let state = sent.header("location").split("state=").nth(1).unwrap().split('&').next().unwrap().to_owned();
    let lists = ["tenants/acme/oauth_clients", "integrations", "keys", "calls", "audit", "webhooks", "jobs", "tenants"];
    let answers: String = lists.iter().map(|list| operator.get(&format!("/admin/{list}")).text()).collect();
    let secrets = [of_client, of_import, cookie, link, state].into_iter().chain(shown).collect::<Vec<_>>();
    assert!(secrets.iter().all(|secret| secret.len() > 20 && !answers.contains(secret)), "{secrets:?} in {answers}");
    secrets
}

fn a_start_with_another_master_key_fails_and_changes_nothing(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let mut gateway = gateway(store, &provider);
    connect(&gateway.client(), "account", "ada");
    gateway.stop();
    let file = gateway.home().data().join("master.key");
    let right = fs::read(&file).unwrap();
    fs::write(&file, format!("{}\n", STANDARD.encode([7; 32]))).unwrap();
    let before = (files(&gateway.home().data()), store.dump());
    for arguments in [&["serve"][..], &["keys", "rotate-master"]] {
        let finished = gateway.home().run(arguments);
        assert_ne!(finished.code, Some(0), "{arguments:?}");
        let said = format!("{}{}", finished.stdout, finished.stderr);
        assert!(said.contains("master.key"), "{arguments:?}: {said}");
        assert!(said.contains("master key"), "{arguments:?}: {said}");
        assert!(said.trim().lines().count() <= 3, "{arguments:?}: {said}");
    }
    let without_journal = |files: Vec<(String, Vec<u8>)>| -> Vec<(String, Vec<u8>)> {
        // SQLite creates and deletes its journal, and a lock is a file too.
        files.into_iter().filter(|(name, _)| ["-wal", "-shm", ".lock"].iter().all(|end| !name.ends_with(end))).collect()
    };
    let after = (files(&gateway.home().data()), store.dump());
    for (before, after) in without_journal(before.0).into_iter().zip(without_journal(after.0)) {
        assert_eq!(before.0, after.0);
        assert!(before.1 == after.1, "{} has changed", before.0);
    }
    assert_eq!(
        before.1.lines().filter(|line| !line.starts_with('\\')).collect::<Vec<_>>(),
        after.1.lines().filter(|line| !line.starts_with('\\')).collect::<Vec<_>>()
    );
    fs::write(&file, right).unwrap();
    let gateway = gateway.start_again();
    assert_eq!(who(&gateway.client()).ok(), me("ada"));
}

fn a_start_without_the_master_key_does_not_create_another(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let mut gateway = gateway(store, &provider);
    connect(&gateway.client(), "account", "ada");
    gateway.stop();
    let file = gateway.home().data().join("master.key");
    let aside = gateway.home().data().join("aside");
    fs::rename(&file, &aside).unwrap();
    let finished = gateway.home().run(&["serve"]);
    assert_ne!(finished.code, Some(0));
    assert!(finished.stderr.contains("master.key"), "{}", finished.stderr);
    assert!(!file.exists(), "no other key was created");
    fs::rename(&aside, &file).unwrap();
    let gateway = gateway.start_again();
    assert_eq!(who(&gateway.client()).ok(), me("ada"));
}

#[test]
fn a_lost_database_next_to_its_master_key_stops_the_start_unless_the_operator_begins_a_new_one() {
    let provider = OAuthProvider::start(Dialect::strict());
    let mut gateway = gateway(&Store::Sqlite, &provider);
    connect(&gateway.client(), "account", "ada");
    gateway.stop();
    let database = gateway.home().data().join("gateway.db");
    let whole = fs::read(&database).unwrap();
    // Removed, half copied, and without the log that had the content.
    for left in [None, Some(&whole[..whole.len() / 2]), Some(&[][..])] {
        match left {
            None => fs::remove_file(&database).unwrap(),
            Some(bytes) => fs::write(&database, bytes).unwrap(),
        }
        let finished = gateway.home().run(&["serve"]);
        let log = fs::metadata(database.with_extension("db-wal")).map_or(0, |log| log.len());
        assert_eq!(log, 0, "no log of the empty database is left next to the file that is put back");
        assert_ne!(finished.code, Some(0), "{:?}", left.map(<[u8]>::len));
        if left.is_none_or(<[u8]>::is_empty) {
            assert!(finished.stderr.contains("--new-database"), "{}", finished.stderr);
        }
    }
    fs::write(&database, whole).unwrap();
    let mut gateway = gateway.start_again();
    assert_eq!(who(&gateway.client()).ok(), me("ada"));

    gateway.stop();
    fs::remove_file(&database).unwrap();
    let mut begun = Process::start(&mut gateway.home().command(&["serve", "--new-database"]));
    begun.wait_for_line("Connector Gateway is at ");
    begun.ask_to_end();
    assert!(begun.wait().success(), "{:?}", begun.lines());
    assert!(database.exists());
    assert!(gateway.home().run_ok(&["keys", "list"]).lines().count() <= 2);
}

#[test]
fn a_copy_of_the_database_file_alone_is_whole_while_the_gateway_serves() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    connect(&gateway.client(), "account", "ada");
    let database = gateway.home().data().join("gateway.db");
    // The log is moved into the file every few seconds. A copy that is made meanwhile may have some of
    // the moved pages only, so the file must stay the same for some reads.
    let (mut copy, mut same) = (Vec::new(), 0);
    support::wait_for("a copy with the account", || {
        let read = fs::read(&database).unwrap();
        same = if read == copy { same + 1 } else { 0 };
        copy = read;
        (same >= 20 && contains(&copy, email("ada").as_bytes())).then_some(())
    });
    gateway.kill();
    let mut gateway = gateway;
    gateway.wait();
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(gateway.home().data().join(format!("gateway.db{end}")));
    }
    fs::write(&database, copy).unwrap();
    let gateway = gateway.start_again();
    assert_eq!(who(&gateway.client()).ok(), me("ada"));
}

fn the_master_key_is_rotated_under_load(store: &Store) {
    const ACCOUNTS: usize = 12;
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    for number in 0..ACCOUNTS {
        connect(&client, "account", &format!("user{number}"));
    }
    let previous = fs::read_to_string(gateway.home().data().join("master.key")).unwrap();
    let caller = client.clone();
    let load = Load::start(
        move || {
            let number =
                std::time::SystemTime::now().elapsed().map_or(0, |elapsed| elapsed.subsec_nanos()) as usize % ACCOUNTS;
            caller
                .request("POST", "/connectors/account/forward")
                .header("x-user-identifier", &email(&format!("user{number}")))
                .json(&json!({"path": "/me"}))
        },
        |answer| {
            if answer.status == 200 {
                Ok(())
            } else {
                eprintln!("{}", answer.text());
                Err(answer.text())
            }
        },
    );
    load.wait_for_more(20);
    for _ in 0..3 {
        // Tokens are refreshed meanwhile, so that secrets are written as well as read.
        provider.expire();
        gateway.home().run_ok(&["keys", "rotate-master"]);
        gateway.home().run_ok(&["keys", "rotate-master", "--finish"]);
        load.wait_for_more(20);
    }
    connect(&client, "account", "late");
    let outcome = load.stop();
    assert_eq!(outcome.failures, Vec::<String>::new());
    let now = fs::read_to_string(gateway.home().data().join("master.key")).unwrap();
    assert!(previous.lines().all(|line| !now.contains(line)), "the previous key is gone");
    let gateway = gateway.start_again();
    for number in 0..ACCOUNTS {
        let name = format!("user{number}");
        assert_eq!(who_as(&gateway.client(), &name).ok(), me(&name));
    }
    assert_eq!(provider.reuses(), 0);
}

fn a_rotation_that_was_not_begun_is_not_finished(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let file = gateway.home().data().join("master.key");
    let before = fs::read(&file).unwrap();
    let finished = gateway.home().run(&["keys", "rotate-master", "--finish"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stderr.contains("no rotation is in progress, so nothing was changed"), "{}", finished.stderr);
    assert!(fs::read(&file).unwrap() == before);
}

fn a_rotation_that_is_killed_many_times_loses_nothing(store: &Store) {
    const ACCOUNTS: usize = 20;
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    for number in 0..ACCOUNTS {
        connect(&gateway.client(), "account", &format!("user{number}"));
    }
    let all_serve = |gateway: &Gateway| {
        for number in 0..ACCOUNTS {
            let name = format!("user{number}");
            assert_eq!(who_as(&gateway.client(), &name).ok(), me(&name));
        }
    };
    for milliseconds in [5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 130, 160] {
        let mut command = Process::start(&mut gateway.home().command(&["keys", "rotate-master"]));
        std::thread::sleep(Duration::from_millis(milliseconds));
        if command.ended().is_none() {
            command.kill();
        }
        command.wait();
        all_serve(&gateway);
    }
    let gateway = gateway.start_again();
    all_serve(&gateway);
    gateway.home().run_ok(&["keys", "rotate-master"]);
    let gateway = gateway.start_again();
    all_serve(&gateway);
    assert_eq!(provider.reuses(), 0);
}

#[test]
fn a_secret_that_was_copied_to_another_row_cannot_be_decrypted() {
    let store = Store::postgres();
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&store, &provider);
    connect(&gateway.client(), "account", "ada");
    connect(&gateway.client(), "account", "mallory");
    let Store::Postgres(database) = &store else { unreachable!() };
    database.sql(
        "update integrations set secret = (select secret from integrations where user_identifier = 'ada@example.com'), version = version + 1 \
         where user_identifier = 'mallory@example.com'",
    );
    let gateway = gateway.start_again();
    let called = provider.api_calls().len();
    who_as(&gateway.client(), "mallory").problem(500, "internal");
    assert_eq!(provider.api_calls().len(), called);
    assert_eq!(who_as(&gateway.client(), "ada").ok(), me("ada"));
}

#[test]
fn a_secret_that_cannot_be_decrypted_is_not_told_as_a_busy_account_once_it_has_expired() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    connect(&gateway.client(), "account", "ada");
    connect(&gateway.client(), "account", "mallory");
    gateway.home().sqlite(
        "update integrations set secret = (select secret from integrations where user_identifier = 'ada@example.com'), \
         expires_at = 1, next_refresh_at = 1, version = version + 1 where user_identifier = 'mallory@example.com'",
    );
    let gateway = gateway.start_again();
    who_as(&gateway.client(), "mallory").problem(500, "internal");
    assert_eq!(who_as(&gateway.client(), "ada").ok(), me("ada"));
}
