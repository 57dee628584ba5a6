//! A gateway process with folders of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use serde_json::Value;
use tempfile::TempDir;

use crate::module;
use crate::process::{self, Finished, Process};
use crate::{Answer, Client, wait_for};

/// What the gateway prints once it takes requests, before its address.
const GREETING: &str = "Connector Gateway is at ";

/// The key that gateways are started with unless a test wants none.
pub const KEY: &str = "a-key-for-tests-only-0123456789";

/// What a gateway is started with.
#[derive(Default)]
pub struct Setup {
    modules: Vec<(String, Vec<u8>)>,
    config: String,
    environment: Vec<(String, String)>,
    first_key: bool,
    cold: bool,
}

impl Setup {
    /// Defaults, no connectors, and [`KEY`] as the key with every scope.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a connector that belongs to the product.
    #[must_use]
    pub fn shipped(self, name: &str) -> Self {
        let module = module::shipped(name);
        self.module(name, module)
    }

    /// Adds a guest from `tests/guests`.
    #[must_use]
    pub fn guest(self, name: &str) -> Self {
        let module = module::guest(name);
        self.module(name, module)
    }

    /// Adds a module under this name.
    #[must_use]
    pub fn module(mut self, name: &str, module: Vec<u8>) -> Self {
        self.modules.push((name.to_owned(), module));
        self
    }

    /// Adds to `gateway.toml`; keys that belong to no section first.
    #[must_use]
    pub fn config(mut self, toml: &str) -> Self {
        self.config.push_str(toml);
        self.config.push('\n');
        self
    }

    /// Leads an upstream of a connector to a server on loopback, which is allowed for it. Opens the connector's section, so
    /// that keys added next are this connector's.
    #[must_use]
    pub fn upstream(self, connector: &str, upstream: &str, url: &str) -> Self {
        self.config(&format!(
            "[connectors.{connector}]\nallow_private_network = true\nupstreams.{upstream} = \"{url}\""
        ))
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Has the gateway make its first key itself.
    #[must_use]
    pub fn with_first_key(mut self) -> Self {
        self.first_key = true;
        self
    }

    /// Compiles every module anew. Otherwise the cache of compiled modules is one for all tests, to save time.
    #[must_use]
    pub fn cold(mut self) -> Self {
        self.cold = true;
        self
    }

    /// Makes the folders, without starting anything.
    ///
    /// # Panics
    /// When they cannot be made.
    pub fn prepare(self) -> Home {
        let folder = TempDir::new().unwrap();
        let home = Home { folder, environment: self.environment, key: (!self.first_key).then(|| KEY.to_owned()) };
        fs::create_dir(home.modules()).unwrap();
        fs::create_dir(home.data()).unwrap();
        if !self.cold {
            let shared = shared_cache();
            fs::create_dir_all(&shared).unwrap();
            std::os::unix::fs::symlink(shared, home.data().join("compiled")).unwrap();
        }
        for (name, module) in &self.modules {
            fs::write(home.module(name), module).unwrap();
        }
        let own = format!(
            "listen = \"127.0.0.1:0\"\ndata_dir = {:?}\nmodules_dir = {:?}\nlog_format = \"json\"\n",
            home.data(),
            home.modules()
        );
        fs::write(home.config(), own + &self.config).unwrap();
        home
    }

    /// Starts the gateway, and waits until it takes requests.
    pub fn start(self) -> Gateway {
        self.prepare().start()
    }
}

/// Beside the binaries, so that it goes when they do.
fn shared_cache() -> PathBuf {
    process::binary().with_file_name("product-tests-compiled")
}

/// The folders of a gateway, whether it runs or not.
pub struct Home {
    folder: TempDir,
    environment: Vec<(String, String)>,
    key: Option<String>,
}

impl Home {
    /// The configuration file.
    pub fn config(&self) -> PathBuf {
        self.folder.path().join("gateway.toml")
    }

    /// The modules folder.
    pub fn modules(&self) -> PathBuf {
        self.folder.path().join("modules")
    }

    /// The file of a connector.
    pub fn module(&self, name: &str) -> PathBuf {
        self.modules().join(format!("{name}.wasm"))
    }

    /// The data directory.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Puts a module into the modules folder as an operator should: whole, under its name at once.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn put(&self, name: &str, module: &[u8]) {
        let aside = self.folder.path().join(format!("{name}.new"));
        fs::write(&aside, module).unwrap();
        fs::rename(aside, self.module(name)).unwrap();
    }

    /// The gateway's command line on these folders, to be added to.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(process::binary());
        command.args(arguments).arg("--config").arg(self.config()).current_dir(self.folder.path());
        // Whatever the machine has set for a gateway of its own is not meant for this one.
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("GATEWAY_")) {
            command.env_remove(name);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(key) = &self.key {
            command.env("GATEWAY_BOOTSTRAP_KEY", key);
        }
        command
    }

    /// Runs a command of the gateway to its end.
    pub fn run(&self, arguments: &[&str]) -> Finished {
        process::run(&mut self.command(arguments))
    }

    /// Runs a command that is expected to succeed, and gives back what it printed.
    ///
    /// # Panics
    /// When it fails.
    #[track_caller]
    pub fn run_ok(&self, arguments: &[&str]) -> String {
        let finished = self.run(arguments);
        assert_eq!(finished.code, Some(0), "{arguments:?}: {}", finished.stderr);
        finished.stdout
    }

    /// Starts the gateway, and waits until it takes requests.
    pub fn start(self) -> Gateway {
        let mut gateway = Gateway { process: Process::start(&mut self.command(&["serve"])), home: self, client: None };
        gateway.wait_until_ready();
        gateway
    }
}

/// A gateway that serves. It ends when it is dropped.
pub struct Gateway {
    process: Process,
    home: Home,
    client: Option<Client>,
}

impl Gateway {
    fn wait_until_ready(&mut self) {
        let address = wait_for("the gateway's address", || {
            if let Some(status) = self.process.ended() {
                panic!("the gateway ended with {status}:\n{}", self.process.lines().join("\n"));
            }
            self.process.lines().iter().find_map(|line| line.strip_prefix(GREETING).map(str::to_owned))
        });
        let client = Client::new(&address);
        wait_for("the gateway to be ready", || {
            client.request("GET", "/readyz").try_send().ok().filter(|answer| answer.status == 200)
        });
        self.client = Some(match &self.home.key {
            Some(key) => client.with_key(key),
            None => client,
        });
    }

    /// A client with the gateway's key.
    ///
    /// # Panics
    /// Never once the gateway was started.
    pub fn client(&self) -> Client {
        self.client.clone().expect("the gateway is ready")
    }

    /// A client without a key.
    ///
    /// # Panics
    /// Never once the gateway was started.
    pub fn stranger(&self) -> Client {
        Client::new(&self.address())
    }

    /// Its base URL.
    ///
    /// # Panics
    /// Never once the gateway was started.
    pub fn address(&self) -> String {
        let lines = self.process.lines();
        let line = lines.iter().rev().find_map(|line| line.strip_prefix(GREETING));
        line.expect("the gateway is ready").to_owned()
    }

    /// Its folders.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Calls an operation: POST /connectors/{operation}.
    pub fn call(&self, operation: &str, body: Value) -> Answer {
        self.client().call(operation, body)
    }

    /// What it printed and logged so far.
    pub fn lines(&self) -> Vec<String> {
        self.process.lines()
    }

    /// Its log lines so far.
    pub fn log(&self) -> Vec<Value> {
        self.lines().iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Waits for a log line for which this holds.
    ///
    /// # Panics
    /// When none comes.
    #[track_caller]
    pub fn wait_for_log(&self, what: &str, matches: impl Fn(&Value) -> bool) -> Value {
        wait_for(what, || self.log().into_iter().find(|line| matches(line)))
    }

    /// A live connector as GET /connectors shows it.
    pub fn connector(&self, name: &str) -> Option<Value> {
        let listed = self.client().get("/connectors").ok();
        listed["connectors"].as_array()?.iter().find(|connector| connector["connector"] == name).cloned()
    }

    /// A refused file as GET /connectors shows it.
    pub fn refusal(&self, file: &str) -> Option<Value> {
        let listed = self.client().get("/connectors").ok();
        listed["refused"].as_array()?.iter().find(|refused| refused["file"] == file).cloned()
    }

    /// Waits until a connector of this version is live.
    #[track_caller]
    pub fn wait_for_version(&self, name: &str, version: &str) -> Value {
        wait_for(&format!("{name} {version}"), || {
            self.connector(name).filter(|connector| connector["version"] == version)
        })
    }

    /// Waits until a file is refused, and gives back the reason.
    ///
    /// # Panics
    /// When it is taken.
    #[track_caller]
    pub fn wait_for_refusal(&self, file: &str) -> String {
        let refused = wait_for(&format!("{file} to be refused"), || self.refusal(file));
        refused["reason"].as_str().expect("a reason").to_owned()
    }

    /// A figure from /metrics by its name and labels as they stand there; 0 when it is absent.
    ///
    /// # Panics
    /// When it is no number.
    pub fn metric(&self, series: &str) -> f64 {
        let text = self.stranger().get("/metrics").text();
        let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ').map(str::to_owned));
        line.map_or(0.0, |value| value.parse().expect("a number"))
    }

    /// Asks it to stop (SIGTERM), and does not wait.
    pub fn ask_to_end(&self) {
        self.process.ask_to_end();
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        self.process.wait()
    }

    /// Stops it as an operator does, and gives back how it ended.
    pub fn stop(&mut self) -> ExitStatus {
        self.ask_to_end();
        self.wait()
    }

    /// Kills it as a crash would.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it once more, on the same folders.
    #[must_use]
    pub fn start_again(mut self) -> Self {
        if self.process.ended().is_none() {
            self.stop();
        }
        self.home.start()
    }
}

/// Whether a folder has nothing in it that only a crash leaves behind: temporary files and folders.
pub fn has_remains(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.file_name().to_string_lossy().ends_with(".part"))
}
