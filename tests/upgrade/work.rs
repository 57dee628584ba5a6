//! The work of callers and operators in each step of an upgrade: writes, jobs with webhooks, and
//! swaps.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use support::webhooks::make_secret;
use support::{Client, Gateway, Reply, Setup, Upstream, module, wait_for};

/// Writes and jobs of each step.
const EACH: usize = 10;

/// The service behind the connector, and the receiver of webhooks.
pub(crate) struct Services {
    service: Upstream,
    receiver: Upstream,
}

/// All that was done so far.
pub(crate) struct Work<'a> {
    client: Client,
    services: &'a Services,
    writes: usize,
    jobs: Vec<String>,
    swaps: usize,
}

impl Services {
    pub(crate) fn start() -> Self {
        let (service, receiver) = (Upstream::start(), Upstream::start());
        service.reply("*", Reply::json(json!({"done": true})));
        receiver.reply("*", Reply::empty(204));
        Self { service, receiver }
    }

    /// Adds the connectors of the work to a gateway.
    pub(crate) fn add_to(&self, setup: Setup) -> Setup {
        setup
            .config("[callbacks]\nallow_private_network = true")
            .module("liar", module::liar("version=1.0.0"))
            .module("demo", module::account(&json!({"identifier": "demo", "auth": "none"})))
            .upstream("demo", "api", &self.service.url())
    }
}

impl<'a> Work<'a> {
    pub(crate) fn new(client: Client, services: &'a Services) -> Self {
        make_secret(&client);
        Self { client, services, writes: 0, jobs: Vec::new(), swaps: 0 }
    }

    /// Makes writes, begins jobs, and lets the last of these gateways swap a connector for all of them.
    pub(crate) fn step(&mut self, gateways: &[Gateway]) {
        for _ in 0..EACH {
            self.writes += 1;
            let path = format!("/writes/{}", self.writes);
            let call = self.client.request("POST", "/connectors/demo/forward").header("idempotency-key", &path);
            call.json(&json!({"path": path, "method": "POST"})).send().ok();
        }
        self.begin_jobs();
        let Some(operator) = gateways.last() else { return };
        self.swaps += 1;
        let module = module::liar(&format!("version=1.0.{}", self.swaps));
        let route = operator.client().request("POST", "/admin/connectors?wait=60");
        let installed = route.header("content-type", "application/wasm").body(module).send().ok();
        let live = installed["gateways"].as_array().unwrap().iter().filter(|gateway| gateway["state"] == "live");
        assert!(live.count() >= gateways.len(), "{installed}");
    }

    /// Begins jobs that change data.
    pub(crate) fn begin_jobs(&mut self) {
        for _ in 0..EACH {
            let body = json!({
                "path": format!("/jobs/{}", self.jobs.len()),
                "method": "POST",
                "callback_urls": [self.services.receiver.url()],
            });
            let begun = self.client.call("demo/change", body).ok();
            self.jobs.push(begun["job_id"].as_str().unwrap().to_owned());
        }
    }

    /// Checks that each write and each job was done once, and that each webhook has come.
    pub(crate) fn check(&self) {
        for job in &self.jobs {
            wait_for("a job to succeed", || {
                let record = self.client.get(&format!("/jobs/{job}")).ok();
                assert_ne!(record["status"], "failed", "{record}");
                (record["status"] == "succeeded").then_some(())
            });
        }
        let mut requests = BTreeMap::<String, usize>::new();
        for seen in self.services.service.seen() {
            *requests.entry(seen.path).or_default() += 1;
        }
        assert_eq!(requests.len(), self.writes + self.jobs.len());
        let repeated: Vec<_> = requests.iter().filter(|(_, count)| **count != 1).collect();
        assert!(repeated.is_empty(), "{repeated:?}");
        let told = wait_for("all webhooks", || {
            let webhooks = self.services.receiver.seen();
            let job_of =
                |body: &[u8]| serde_json::from_slice::<Value>(body).ok()?["job_id"].as_str().map(str::to_owned);
            let told: BTreeSet<String> = webhooks.iter().filter_map(|webhook| job_of(&webhook.body)).collect();
            (told.len() >= self.jobs.len()).then_some(told)
        });
        assert_eq!(told, self.jobs.iter().cloned().collect::<BTreeSet<_>>());
    }
}
