//! The commands `backup` and `restore`: a gateway that is lost is restored elsewhere.

use std::cell::RefCell;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use support::accounts::{connect, registered};
use support::archiving_server::ArchivingServer;
use support::home::path;
use support::process::{self, Process};
use support::upstream::free_port;
use support::{
    Client, Dialect, Gate, Gateway, Home, Load, OAuthProvider, Reply, Setup, Store, Upstream, module, wait_for,
};
use tempfile::TempDir;

use crate::integrations::{record, who_as};

/// The configuration of the drill: `account`, whose users have accounts at the provider, and
/// `worker`, whose jobs call the service. The modules are there only `with_modules`.
fn setup(store: &Store, port: u16, provider: &OAuthProvider, service: &Upstream, with_modules: bool) -> Setup {
    let setup =
        Setup::new().on(store).variable("GATEWAY__LISTEN", &format!("127.0.0.1:{port}")).config("[jobs]\nworkers = 1");
    let setup = match with_modules {
        true => {
            let worker = json!({"identifier": "worker", "auth": "none"});
            setup.account("account", provider).module("worker", module::account(&worker))
        }
        false => setup.provider("account", provider, &[("api", ""), ("other", "")]),
    };
    setup.upstream("worker", "api", &service.url())
}

/// Begins a job of `worker` and returns its id.
#[track_caller]
fn begin_job(client: &Client, operation: &str, path: &str) -> String {
    let begun = client.call(&format!("worker/{operation}"), json!({"path": path})).ok();
    begun["job_id"].as_str().unwrap().to_owned()
}

/// Waits for the end of a job, and returns its record.
fn ended_job(client: &Client, id: &str) -> Value {
    wait_for("the job to end", || {
        let record = client.get(&format!("/jobs/{id}")).ok();
        ["succeeded", "failed"].iter().any(|end| record["status"] == *end).then_some(record)
    })
}

#[test]
fn a_backup_that_is_stopped_leaves_nothing_behind() {
    let home = Setup::new().prepare();
    home.run_ok(&["keys", "create", "--name", "app"]);
    // A sparse file that takes much longer to read than any test runs.
    fs::File::create(home.modules().join("large")).unwrap().set_len(1 << 40).unwrap();
    let folder = TempDir::new().unwrap();
    let mut backup = Process::start(&mut home.command(&["backup", path(&folder.path().join("backup.tar.gz"))]));
    let files = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().collect::<Vec<_>>();
    wait_for("the archive to grow", || {
        let temporary = files(folder.path()).into_iter().flat_map(|scratch| files(&scratch.path()));
        let mut archives = temporary.filter(|file| file.file_name().to_string_lossy().starts_with(".tmp"));
        archives.any(|archive| archive.metadata().is_ok_and(|archive| archive.len() > 0)).then_some(())
    });
    backup.ask_to_end();
    assert_eq!(backup.wait().code(), Some(1));
    assert!(
        backup.lines().iter().any(|line| line.contains("a signal has stopped the command")),
        "{:?}",
        backup.lines()
    );
    assert!(files(folder.path()).is_empty());
}

/// The drill. `back_up` backs up a gateway that serves, and `restore` makes a new home of the
/// backup.
fn drill<B>(
    store: &Store,
    back_up: impl FnOnce(&Gateway) -> B,
    restore: impl FnOnce(B, u16, &OAuthProvider, &Upstream) -> (Home, Value),
) {
    let (provider, service, gate) = (OAuthProvider::start(Dialect::strict()), Upstream::start(), Gate::default());
    service.reply("*", Reply::json(json!({})).behind(&gate));
    let port = free_port();
    let gateway = registered(setup(store, port, &provider, &service, true).start(), &provider);
    let client = gateway.client();
    for name in ["ada", "bob", "eve"] {
        connect(&client, "account", name);
    }
    // One job runs, and the others wait for the only worker.
    let changes: Vec<String> =
        (0..4).map(|number| begin_job(&client, "change", &format!("/change/{number}"))).collect();
    let read = begin_job(&client, "collect", "/read");
    service.wait_for_requests(1);
    let call = {
        let client = client.clone();
        move || {
            let request = client.request("POST", "/connectors/account/forward");
            request.header("x-user-identifier", "bob@example.com").json(&json!({"path": "/me"}))
        }
    };
    let load = Load::start(call, |answer| match answer.status {
        200 => Ok(()),
        status => Err(status.to_string()),
    });
    load.wait_for_more(20);
    let backup = back_up(&gateway);
    load.wait_for_more(20);

    // The gateway continues. It uses two refresh tokens, and sends changes that wait in the backup.
    provider.expire();
    who_as(&client, "ada").ok();
    load.wait_for_more(20);
    gate.open();
    for id in &changes[..2] {
        assert_eq!(ended_job(&client, id)["status"], "succeeded");
    }
    gateway.kill();
    drop(load.stop());
    drop(gateway);

    let (home, report) = restore(backup, port, &provider, &service);
    assert_eq!((&report["accounts"], &report["cut_off_jobs"]), (&json!(3), &json!(4)), "{report}");
    let gateway = home.start();
    let client = gateway.client();
    let audited = client.get("/admin/audit?action=database.restored").ok();
    let actors: Vec<&str> =
        audited["entries"].as_array().unwrap().iter().map(|entry| entry["actor"].as_str().unwrap()).collect();
    assert!(matches!(actors[..], [actor] if actor.starts_with("person:")), "{audited}");
    for id in &changes {
        let job = ended_job(&client, id);
        assert_eq!((&job["status"], &job["error"]["outcome"]), (&json!("failed"), &json!("unknown")), "{job}");
    }
    assert_eq!(ended_job(&client, &read)["status"], "succeeded");
    // The refresh token of this account was not used since.
    let eve = wait_for("eve's account", || Some(who_as(&client, "eve")).filter(|answer| answer.status == 200));
    assert_eq!(eve.ok()["email"], "eve@example.com");
    for name in ["ada", "bob"] {
        let answer = wait_for("the provider's answer", || {
            Some(who_as(&client, name)).filter(|answer| matches!(answer.status, 200 | 424))
        });
        answer.problem(424, "reauthorization-required");
        let found = record(&client, name);
        assert_eq!((&found["status"], &found["reason"]["owner"]), (&json!("expired"), &json!("user")), "{found}");
        connect(&client, "account", name);
        who_as(&client, name).ok();
    }
    let mut sent: Vec<String> = service.seen().into_iter().map(|seen| seen.path).collect();
    sent.retain(|path| path.starts_with("/change/"));
    let count = sent.len();
    sent.sort_unstable();
    sent.dedup();
    assert_eq!(sent.len(), count, "a change was sent twice: {sent:?}");
}

#[test]
fn a_gateway_under_load_is_backed_up_killed_and_restored_elsewhere() {
    let folder = TempDir::new().unwrap();
    let archive = folder.path().join("backup.tar.gz");
    drill(
        &Store::Sqlite,
        |gateway| {
            gateway.home().run_ok(&["backup", path(&archive)]);
            archive.clone()
        },
        |archive, port, provider, service| {
            let home = setup(&Store::Sqlite, port, provider, service, false).prepare();
            let report = home.run_ok(&["restore", path(&archive)]);
            (home, serde_json::from_str(&report).unwrap())
        },
    );
}

#[test]
fn a_gateway_on_postgres_is_dumped_killed_and_restored_elsewhere() {
    let (store, other) = (Store::postgres(), Store::empty_postgres());
    drill(
        &store,
        |_| store.dump(),
        |dump, port, provider, service| {
            other.database().load(&dump);
            let home = setup(&other, port, provider, service, false).prepare();
            let report = home.run_ok(&["restore", "--prepare-database"]);
            (home, serde_json::from_str(&report).unwrap())
        },
    );
}

#[test]
fn a_gateway_on_postgres_is_recovered_as_of_a_moment() {
    let server = RefCell::new(ArchivingServer::start());
    let store = server.borrow().store();
    drill(
        &store,
        |gateway| {
            server.borrow().back_up();
            // Only the archived log has this change.
            gateway.home().run_ok(&["keys", "create", "--name", "later"]);
            server.borrow().mark("moment");
        },
        |(), port, provider, service| {
            server.borrow_mut().recover("moment");
            let home = setup(&server.borrow().store(), port, provider, service, false).prepare();
            let report = home.run_ok(&["restore", "--prepare-database"]);
            assert!(home.run_ok(&["keys", "list"]).contains("later"));
            (home, serde_json::from_str(&report).unwrap())
        },
    );
}

/// A home with a connector and a database, and the archive of its backup.
fn backed_up(arguments: &[&str]) -> (Home, TempDir, PathBuf, String) {
    let home = Setup::new().cold().prepare();
    home.put("liar", &module::liar("version=1.0.0"));
    home.run_ok(&["connectors", "list"]);
    home.run_ok(&["keys", "create", "--name", "app"]);
    let folder = TempDir::new().unwrap();
    let archive = folder.path().join("backup.tar.gz");
    let said = process::run(home.command(&["backup", path(&archive)]).args(arguments));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    (home, folder, archive, said.stderr)
}

/// The paths in an archive.
fn entries(archive: &Path) -> Vec<String> {
    let listed = process::run(Command::new("tar").arg("-tzf").arg(archive));
    listed.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn the_master_key_is_in_an_archive_only_if_it_is_asked_for() {
    let (_home, _folder, archive, said) = backed_up(&[]);
    assert!(!entries(&archive).iter().any(|entry| entry.contains("master")), "{:?}", entries(&archive));
    let needed = said.split_whitespace().find(|word| word.starts_with("mk_")).unwrap().to_owned();
    let elsewhere = Setup::new().cold().prepare();
    let finished = elsewhere.run(&["restore", path(&archive)]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stderr.contains(&format!("It needs the master key {needed}")), "{}", finished.stderr);
    assert_eq!(elsewhere.run(&["connectors", "list"]).code, Some(1), "no key is made");

    let (home, _folder, archive, said) = backed_up(&["--with-master-key"]);
    assert!(entries(&archive).contains(&"data/master.key".to_owned()));
    assert!(said.contains("is in it"), "{said}");
    let elsewhere = Setup::new().cold().prepare();
    let finished = elsewhere.run(&["restore", path(&archive)]);
    assert!(finished.stderr.contains("fits"), "{}", finished.stderr);
    let key = |home: &Home| fs::read(home.data().join("master.key")).unwrap();
    assert_eq!(key(&elsewhere), key(&home));
    assert!(elsewhere.run_ok(&["keys", "list"]).contains("app"));
    assert!(elsewhere.run_ok(&["connectors", "versions", "liar"]).contains("1.0.0"));
    let configuration = fs::read(elsewhere.data().join("restored-gateway.toml")).unwrap();
    assert_eq!(configuration, fs::read(home.config()).unwrap());
}

/// The configuration of the archive names the folders of the old gateway, or any others.
#[test]
fn an_archive_does_not_say_where_it_is_restored() {
    let (home, _folder, archive, _) = backed_up(&["--with-master-key"]);
    fs::remove_dir_all(home.data()).unwrap();
    fs::remove_file(home.module("liar")).unwrap();
    let empty = TempDir::new().unwrap();
    let run =
        |arguments: &[&str]| process::run(Command::new(process::binary()).args(arguments).current_dir(empty.path()));
    let restored = run(&["restore", path(&archive)]);
    assert_eq!(restored.code, Some(0), "{}", restored.stderr);
    assert!(!home.data().exists() && !home.module("liar").exists(), "nothing is written where the archive says");
    assert!(!empty.path().join("gateway.toml").exists(), "the next start reads no configuration of the archive");
    let configuration = fs::read(empty.path().join("data/restored-gateway.toml")).unwrap();
    assert_eq!(configuration, fs::read(home.config()).unwrap());
    assert!(restored.stderr.contains("restored-gateway.toml. The gateway does not read it"), "{}", restored.stderr);
    assert!(run(&["keys", "list"]).stdout.contains("app"));
    assert!(empty.path().join("modules/liar.wasm").exists());
}

#[test]
fn a_restore_replaces_no_file_and_names_the_one_that_is_there() {
    let (_home, _folder, archive, _) = backed_up(&["--with-master-key"]);
    for name in ["master.key", "restored-gateway.toml", "versions"] {
        let elsewhere = Setup::new().cold().prepare();
        let occupied = elsewhere.data().join(name);
        let content = if name == "versions" { occupied.join("own") } else { occupied.clone() };
        fs::create_dir_all(content.parent().unwrap()).unwrap();
        fs::write(&content, "mine").unwrap();
        let finished = elsewhere.run(&["restore", path(&archive)]);
        assert_eq!(finished.code, Some(1), "{name}: {}", finished.stderr);
        assert!(finished.stderr.contains(&format!("{} exists", occupied.display())), "{}", finished.stderr);
        assert_eq!(fs::read_to_string(content).unwrap(), "mine");
        assert_eq!(fs::read_dir(elsewhere.data()).unwrap().count(), 1, "nothing is restored next to {name}");
        assert_eq!(fs::read_dir(elsewhere.modules()).unwrap().count(), 0);
    }
}

/// Copies an archive. The last byte of the file `changed` differs in the copy, and the empty file
/// `added` is new. An empty name is no file.
fn alter(archive: &Path, altered: &Path, changed: &str, added: &str) {
    let mut old = tar::Archive::new(GzDecoder::new(fs::File::open(archive).unwrap()));
    let mut new = tar::Builder::new(GzEncoder::new(fs::File::create(altered).unwrap(), Compression::fast()));
    for entry in old.entries().unwrap() {
        let mut entry = entry.unwrap();
        let header = entry.header().clone();
        let mut data = Vec::new();
        entry.read_to_end(&mut data).unwrap();
        if entry.path().unwrap() == Path::new(changed) {
            *data.last_mut().unwrap() = b'!';
        }
        new.append(&header, &data[..]).unwrap();
    }
    if !added.is_empty() {
        let mut header = tar::Header::new_ustar();
        // A builder refuses the name of a file outside, so it is written into the header.
        header.as_mut_bytes()[..added.len()].copy_from_slice(added.as_bytes());
        header.set_size(0);
        header.set_mode(0o644);
        header.set_cksum();
        new.append(&header, &[][..]).unwrap();
    }
    new.into_inner().unwrap().finish().unwrap();
}

#[test]
fn a_damaged_archive_restores_nothing() {
    let (_home, folder, archive, _) = backed_up(&[]);
    let whole = fs::read(&archive).unwrap();
    let cut = folder.path().join("cut.tar.gz");
    fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    let altered = folder.path().join("altered.tar.gz");
    let alter = |changed: &str, added: &str| alter(&archive, &altered, changed, added);
    let refused = |archive: &Path, words: &str| {
        let elsewhere = Setup::new().cold().prepare();
        let finished = elsewhere.run(&["restore", path(archive)]);
        assert_eq!(finished.code, Some(1), "{}", finished.stderr);
        assert!(finished.stderr.contains(words), "{}", finished.stderr);
        assert_eq!(fs::read_dir(elsewhere.data()).unwrap().count(), 0);
        assert_eq!(fs::read_dir(elsewhere.modules()).unwrap().count(), 0);
    };
    refused(&cut, "damaged");
    alter("modules/liar.wasm", "");
    refused(&altered, "`modules/liar.wasm` is missing or differs from its digest");
    alter("", "../outside");
    refused(&altered, "`../outside`, which no backup has");
    alter("", "modules/more.wasm");
    refused(&altered, "`modules/more.wasm` is not in its backup.json");
}

#[test]
fn neither_an_archive_nor_a_gateway_is_overwritten() {
    let (home, _folder, archive, _) = backed_up(&[]);
    let before = fs::read(&archive).unwrap();
    let finished = home.run(&["backup", path(&archive)]);
    assert!(finished.code == Some(1) && finished.stderr.contains("exists"), "{}", finished.stderr);
    assert_eq!(fs::read(&archive).unwrap(), before);
    let finished = home.run(&["restore", path(&archive)]);
    assert!(finished.code == Some(1) && finished.stderr.contains("empty folders"), "{}", finished.stderr);
    let with_module = Setup::new().cold().guest("hostile").prepare();
    let finished = with_module.run(&["restore", path(&archive)]);
    assert!(finished.code == Some(1) && finished.stderr.contains("empty folders"), "{}", finished.stderr);
    let nothing = Setup::new().cold().prepare();
    let finished = nothing.run(&["backup", path(&archive.with_extension("other"))]);
    assert!(finished.code == Some(1) && finished.stderr.contains("no database"), "{}", finished.stderr);
}

#[test]
fn with_postgres_the_commands_name_its_tools() {
    let store = Store::postgres();
    let home = Setup::new().on(&store).prepare();
    let finished = home.run(&["backup", "backup.tar.gz"]);
    assert!(finished.code == Some(1) && finished.stderr.contains("pg_dump"), "{}", finished.stderr);
    let (_home, _folder, archive, _) = backed_up(&[]);
    let finished = home.run(&["restore", path(&archive)]);
    assert!(finished.code == Some(1) && finished.stderr.contains("--prepare-database"), "{}", finished.stderr);
}
