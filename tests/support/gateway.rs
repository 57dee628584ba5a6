//! A gateway process with its own folders.

use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::Value;

use crate::process::Process;
use crate::{Answer, Client, Home, wait_for};

/// The gateway prints this before its address as soon as it accepts requests.
const GREETING: &str = "Connector Gateway is at ";
/// The last part of the greeting begins with this line; the first key is before it.
const END_OF_GREETING: &str = "Try:";

/// A running gateway. It ends when this is dropped.
pub struct Gateway {
    process: Process,
    home: Home,
    client: Client,
    address: String,
    ready_after: Duration,
}

impl Gateway {
    pub(crate) fn start(home: Home) -> Self {
        // The client exists before the clock starts, because making it takes time that is not the
        // gateway's.
        let client = match &home.tls {
            Some(settings) => Client::new("").over_tls(settings.clone()),
            None => Client::new(""),
        };
        let started = Instant::now();
        let mut process = Process::start(&mut home.command(&["serve"]));
        let address = process.wait_for_line(GREETING);
        process.wait_for_line(END_OF_GREETING);
        let client = client.at(&address);
        wait_for("the gateway to be ready", || {
            client.request("GET", "/readyz").try_send().ok().filter(|answer| answer.status == 200)
        });
        let ready_after = started.elapsed();
        let client = match &home.key {
            Some(key) => client.with_key(key),
            None => client,
        };
        Self { process, home, client, address, ready_after }
    }

    /// A client with the gateway's key.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// A client without a key.
    ///
    /// # Panics
    /// When the HTTP library cannot be set up.
    pub fn anonymous(&self) -> Client {
        Client::new(&self.address)
    }

    /// The base URL, for example `http://127.0.0.1:40123`.
    pub fn address(&self) -> String {
        self.address.clone()
    }

    /// The gateway's folders.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The process id.
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Time from the start of the process to its first answer that it is ready.
    pub fn ready_after(&self) -> Duration {
        self.ready_after
    }

    /// Calls an operation: POST /connectors/{operation}.
    pub fn call(&self, operation: &str, body: Value) -> Answer {
        self.client().call(operation, body)
    }

    /// All lines that it has printed and logged so far.
    pub fn lines(&self) -> Vec<String> {
        self.process.lines()
    }

    /// Its log lines so far.
    pub fn log(&self) -> Vec<Value> {
        self.lines().iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Waits for the first log line for which `matches` returns `true`.
    ///
    /// # Panics
    /// When no such line comes.
    #[track_caller]
    pub fn wait_for_log(&self, what: &str, matches: impl Fn(&Value) -> bool) -> Value {
        wait_for(what, || self.log().into_iter().find(|line| matches(line)))
    }

    /// The entry of a live connector in GET /connectors; `None` if the connector is not live.
    pub fn connector(&self, name: &str) -> Option<Value> {
        let listed = self.client().get("/connectors").ok();
        listed["connectors"].as_array()?.iter().find(|connector| connector["connector"] == name).cloned()
    }

    /// The entry of a refused file in GET /connectors; `None` if the file is not refused.
    pub fn refusal(&self, file: &str) -> Option<Value> {
        let listed = self.client().get("/connectors").ok();
        listed["refused"].as_array()?.iter().find(|refused| refused["file"] == file).cloned()
    }

    /// Waits until this version of a connector is live.
    #[track_caller]
    pub fn wait_for_version(&self, name: &str, version: &str) -> Value {
        wait_for(&format!("{name} {version}"), || {
            self.connector(name).filter(|connector| connector["version"] == version)
        })
    }

    /// Waits until a file is refused, and returns the reason.
    ///
    /// # Panics
    /// When the file is accepted.
    #[track_caller]
    pub fn wait_for_refusal(&self, file: &str) -> String {
        let refused = wait_for(&format!("{file} to be refused"), || self.refusal(file));
        refused["reason"].as_str().expect("a reason").to_owned()
    }

    /// The value of a series in /metrics; 0 when the series is absent. `series` is its name with
    /// labels, as /metrics prints it.
    ///
    /// # Panics
    /// When the value is not a number.
    pub fn metric(&self, series: &str) -> f64 {
        self.metric_for(&self.client, series)
    }

    /// As [`Gateway::metric`], for a client that may have its own connections.
    ///
    /// # Panics
    /// When the value is not a number.
    pub fn metric_for(&self, client: &Client, series: &str) -> f64 {
        let text = client.get("/metrics").text();
        let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ').map(str::to_owned));
        line.map_or(0.0, |value| value.parse().expect("a number"))
    }

    /// Asks the gateway to stop (SIGTERM) and does not wait.
    pub fn ask_to_end(&self) {
        self.process.ask_to_end();
    }

    /// Waits for the gateway's end.
    pub fn wait(&mut self) -> ExitStatus {
        self.process.wait()
    }

    /// Stops the gateway as an operator does, and returns its exit status.
    pub fn stop(&mut self) -> ExitStatus {
        self.ask_to_end();
        self.wait()
    }

    /// Kills the gateway, as a crash would, and does not wait.
    pub fn kill(&self) {
        self.process.kill();
    }

    /// Lets the gateway stand still, as on a machine that hangs.
    pub fn stand_still(&self) {
        self.process.stand_still();
    }

    /// Lets the gateway run again after it has stood still.
    pub fn go_on(&self) {
        self.process.go_on();
    }

    /// Fills the disk for the gateway, or frees it. The disk is not really full: the system refuses
    /// every write of the process to a file, which needs no rights of an administrator.
    ///
    /// # Panics
    /// When it has ended already.
    pub fn set_disk_full(&self, full: bool) {
        let process = Pid::from_raw(self.process_id().try_into().unwrap());
        let maximum = getrlimit(Resource::Fsize).maximum;
        let current = if full { Some(0) } else { maximum };
        prlimit(process, Resource::Fsize, Rlimit { current, maximum }).unwrap();
    }

    /// Stops the gateway if it still runs, and starts it again on the same folders.
    #[must_use]
    pub fn start_again(mut self) -> Self {
        if self.process.ended().is_none() {
            self.ask_to_end();
            self.wait();
        }
        self.home.start()
    }

    /// Stops the gateway if it still runs, and starts it again on the same folders with an
    /// environment variable.
    #[must_use]
    pub fn start_again_with(mut self, variable: &str, value: &str) -> Self {
        self.home.environment.push((variable.to_owned(), value.to_owned()));
        self.start_again()
    }

    /// Stops the gateway if it still runs, and starts it again on the same folders with another
    /// key.
    #[must_use]
    pub fn start_again_with_key(mut self, key: &str) -> Self {
        self.home.key = Some(key.to_owned());
        self.start_again()
    }
}
