//! `connectors dev` with a project of its author.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use support::process::Process;
use support::{Answer, Client, Reply, Setup, Upstream, wait_at_most, wait_for};
use tempfile::TempDir;

use super::Project;

/// Time for a build on a busy machine.
const BUILD: Duration = Duration::from_secs(1800);

/// A running `connectors dev`, with a dedicated folder for temporary files.
struct Dev<'a> {
    project: &'a Project,
    process: Process,
    temporary: TempDir,
    client: Client,
}

impl<'a> Dev<'a> {
    /// Starts the command. It ends its greeting when the first version is live.
    fn start(project: &'a Project, arguments: &[&str]) -> Self {
        let temporary = TempDir::new().unwrap();
        let folder = project.folder.to_str().unwrap();
        let mut command = project.home.command(&[&["connectors", "dev", folder], arguments].concat());
        let mut process = Process::start(command.env("TMPDIR", temporary.path()));
        let greeting = wait_at_most(BUILD, "the first version", || {
            let lines = process.lines();
            let greeting = lines.iter().find_map(|line| line.strip_prefix("The gateway is at ").map(str::to_owned));
            assert!(greeting.is_some() || process.ended().is_none(), "the command has ended:\n{}", lines.join("\n"));
            greeting
        });
        let (address, key) = greeting.split_once(", until this command ends. Its API key is ").unwrap();
        Self { project, temporary, client: Client::new(address).with_key(key), process }
    }

    fn define(&self) -> Answer {
        self.client.call("words/define", json!({"word": "hello"}))
    }

    /// Saves the source, with one text replaced by another.
    fn save(&self, from: &str, to: &str) {
        let source = self.project.read("src/lib.rs");
        assert!(source.contains(from), "{from} in\n{source}");
        fs::write(self.project.folder.join("src/lib.rs"), source.replace(from, to)).unwrap();
    }

    #[track_caller]
    fn wait_for_screen(&self, words: &str) {
        wait_at_most(BUILD, &format!("`{words}` on the screen"), || {
            self.process.lines().iter().any(|line| line.contains(words)).then_some(())
        });
    }

    /// Ends it as Ctrl-C does. It must leave nothing behind.
    fn end(mut self) {
        kill_process(Pid::from_raw(self.process.id().cast_signed()).unwrap(), Signal::INT).unwrap();
        assert_eq!(self.process.wait().code(), Some(0), "{:?}", self.process.lines());
        let left: Vec<PathBuf> =
            fs::read_dir(self.temporary.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, Vec::<PathBuf>::new());
    }
}

#[test]
#[ignore = "make test-authors"]
fn a_saved_change_is_live_and_a_mistake_keeps_the_version_before() {
    let (project, _) = Project::new(&["words"]);
    let service = Upstream::start();
    for language in ["en", "de"] {
        service.reply(&format!("/entries/{language}/hello"), Reply::json(json!({"in": language})));
    }
    let dev = Dev::start(&project, &["--upstream", &format!("api={}", service.url())]);
    assert_eq!(dev.define().ok(), json!({"in": "en"}));
    dev.wait_for_screen("words 0.1.0 is live after ");
    dev.wait_for_screen(&format!("GET {}/entries/en/hello -> 200, ", service.url()));

    dev.save("/entries/en/{word}", "/entries/de/{word}");
    wait_at_most(BUILD, "the change to be live", || (dev.define().json() == json!({"in": "de"})).then_some(()));

    dev.save("define: GET api", "define: GOT api");
    dev.wait_for_screen("error: could not compile `words`");
    dev.wait_for_screen("The previous version stays live.");
    assert_eq!(dev.define().ok(), json!({"in": "de"}));

    // An operation that needs code writes to the log and panics.
    dev.save("define: GOT api \"/entries/de/{word}\" example", "define: read fn define { word: string } example");
    let source = dev.project.read("src/lib.rs");
    let function = "fn define(input: Define) -> Result<connector_sdk::Outcome, connector_sdk::Fault> {\n    \
                    connector_sdk::log::info(&format!(\"looking for {}\", input.word));\n    panic!(\"no dictionary\");\n}\n";
    fs::write(dev.project.folder.join("src/lib.rs"), format!("{source}\n{function}")).unwrap();
    wait_at_most(BUILD, "the panic", || (dev.define().status == 500).then_some(()));
    dev.wait_for_screen("looking for hello");
    dev.wait_for_screen("no dictionary");
    dev.wait_for_screen("src/lib.rs:");
    dev.end();
}

#[test]
#[ignore = "make test-authors"]
fn an_account_is_connected_at_the_stand_in_for_the_provider() {
    let (project, _) = Project::new(&["words", "--auth", "oauth2"]);
    let service = Upstream::start();
    service.reply("/entries/en/hello", Reply::json(json!({"in": "en"})));
    let upstream = format!("api={}", service.url());
    let dev = Dev::start(&project, &["--upstream", &upstream, "--oauth", "--token-lifetime", "1"]);
    dev.define().problem(424, "integration-required");
    // The greeting has the request.
    dev.wait_for_screen("/connectors/words/integrations");
    let body = wait_for("the body of the request", || {
        let lines = dev.process.lines();
        lines.iter().find_map(|line| line.trim().strip_prefix("-d '")?.strip_suffix('\'').map(str::to_owned))
    });
    let body: Value = serde_json::from_str(&body).unwrap();
    let begun = dev.client.post("/connectors/words/integrations", body).ok();
    let page = Client::new("").at(begun["authorization_url"].as_str().unwrap()).get("");
    assert!(page.text().contains("status=success"), "{}", page.text());
    // The tokens live for a second, so that they are refreshed again and again.
    let token = || {
        dev.define().ok();
        service.take_seen().pop().unwrap().header("authorization").to_owned()
    };
    let first = token();
    assert!(first.starts_with("Bearer dev-access-"), "{first}");
    wait_for("a refreshed token", || (token() != first).then_some(()));
    dev.end();
}

#[test]
#[ignore = "make test-authors"]
fn an_account_is_connected_with_the_authors_own_token() {
    for (auth, token) in [("oauth2", "my-own-access-token"), ("api-key", "my-own-api-key")] {
        let (project, _) = Project::new(&["words", "--auth", auth]);
        let service = Upstream::start();
        service.reply("/entries/en/hello", Reply::json(json!({"in": "en"})));
        let credential = project.home.config().with_file_name("credential");
        fs::write(&credential, format!("{token}\n")).unwrap();
        let upstream = format!("api={}", service.url());
        let dev = Dev::start(&project, &["--upstream", &upstream, "--credential-file", credential.to_str().unwrap()]);
        dev.define().ok();
        assert_eq!(service.take_seen().pop().unwrap().header("authorization"), format!("Bearer {token}"));
        assert!(dev.process.lines().iter().all(|line| !line.contains(token)));
        dev.end();
    }
}

#[test]
#[ignore = "make test-authors"]
fn versions_are_swapped_into_a_running_gateway() {
    let (project, _) = Project::new(&["words"]);
    let service = Upstream::start();
    for language in ["en", "de"] {
        service.reply(&format!("/entries/{language}/hello"), Reply::json(json!({"in": language})));
    }
    let gateway = Setup::new().upstream("words", "api", &service.url()).start();
    let key = gateway.home().run_ok(&["keys", "create", "--name", "author", "--scope", "admin"]);
    let folder = project.folder.to_str().unwrap();
    let mut command = project.home.command(&["connectors", "dev", folder, "--url", &gateway.address()]);
    let process = Process::start(command.env("GATEWAY_KEY", key.trim()));
    let define = || gateway.call("words/define", json!({"word": "hello"}));
    wait_at_most(BUILD, "the first version", || (define().status == 200).then_some(()));
    let source = project.read("src/lib.rs");
    fs::write(project.folder.join("src/lib.rs"), source.replace("/entries/en/{word}", "/entries/de/{word}")).unwrap();
    wait_at_most(BUILD, "the change to be live", || (define().json() == json!({"in": "de"})).then_some(()));
    drop(process);
}

#[test]
fn the_page_has_every_option() {
    let home = Setup::new().prepare();
    let help = home.run_ok(&["connectors", "dev", "--help"]);
    let page = fs::read_to_string(support::module::root().join("connectors/docs/dev.md")).unwrap();
    let options = |text: &str| -> BTreeSet<String> {
        let words = text.split(|character: char| !character.is_ascii_lowercase() && character != '-');
        words.filter(|word| word.starts_with("--") && !word.ends_with('-')).map(str::to_owned).collect()
    };
    let table = page.split("## All options").nth(1).unwrap();
    // All commands have these, and a key is better not an argument.
    let of_all = ["--help", "--config", "--key"].map(str::to_owned);
    let expected: BTreeSet<String> = options(&help).into_iter().filter(|option| !of_all.contains(option)).collect();
    assert_eq!(options(table), expected);
}
