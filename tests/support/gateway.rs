//! A gateway process with folders of its own.

use std::process::ExitStatus;

use serde_json::Value;

use crate::process::Process;
use crate::{Answer, Client, Home, wait_for};

/// What the gateway prints once it takes requests, before its address.
const GREETING: &str = "Connector Gateway is at ";

/// A gateway that serves. It ends when it is dropped.
pub struct Gateway {
    process: Process,
    home: Home,
    client: Option<Client>,
}

impl Gateway {
    pub(crate) fn start(home: Home) -> Self {
        let mut gateway = Self { process: Process::start(&mut home.command(&["serve"])), home, client: None };
        gateway.wait_until_ready();
        gateway
    }

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

    /// Kills it as a crash would, and does not wait.
    pub fn kill(&self) {
        self.process.kill();
    }

    /// Stops it, unless it was stopped or killed already, and starts it once more on the same folders.
    #[must_use]
    pub fn start_again(mut self) -> Self {
        if self.process.ended().is_none() {
            self.ask_to_end();
            self.wait();
        }
        self.home.start()
    }

    /// Starts it once more, on the same folders, with this key in place of the one before.
    #[must_use]
    pub fn start_again_with_key(mut self, key: &str) -> Self {
        self.home.key = Some(key.to_owned());
        self.start_again()
    }
}
