//! Lanes through a running gateway. A lane sends one call after the other, and knows which requests
//! to the upstream each call led to: lanes of a connector with accounts use an account each, the
//! others a gateway and an upstream each.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;
use serde_json::{Value, json};
use support::client::Call;
use support::description::inlined;
use support::oauth::browser;
use support::{Client, Dialect, Gateway, OAuthProvider, Pending, Person, Seen, Setup, Upstream};

use crate::answer_schemas::Samples;
use crate::operations::{Connector, Operation};
use crate::specifications::{Answer, Method};
use crate::upstream::{self, Services};

/// Lanes of a connector with accounts.
const LANES: usize = 4;

/// Lanes of a connector without accounts. So many gateways together keep within the rate limits
/// that a connector declares.
const GATEWAYS: usize = 3;

/// Keys that some connectors need besides the URLs of their upstreams.
const SETTINGS: [(&str, &str); 2] = [
    ("code_hosting", "settings.default_organization = \"acme\""),
    // The service requires three seconds between two requests. The stand-in does not.
    ("preprint_archive", "pacing = { interval_ms = 0 }"),
];

/// A call of an operation, and what came of it.
pub(crate) struct Sent {
    pub(crate) input: Value,
    pub(crate) answer: support::Answer,
    /// The requests that the upstream got.
    pub(crate) requests: Vec<Seen>,
}

/// Requests to a connector's upstreams, by the name of the account.
type Recorded = Arc<Mutex<HashMap<String, Vec<Seen>>>>;

/// The lanes of all connectors. The gateways and upstreams end when this is dropped.
pub(crate) struct Lanes {
    lanes: HashMap<String, Vec<Lane>>,
    pub(crate) services: Arc<Services>,
    _gateways: Vec<Gateway>,
    _upstreams: Vec<OAuthProvider>,
}

/// A lane of a connector.
struct Lane {
    connector: String,
    client: Client,
    recorder: Recorder,
}

enum Recorder {
    /// The lane uses the account of this name.
    Account { name: String, recorded: Recorded },
    /// The lane has its own upstream.
    Alone(Upstream),
}

impl Lanes {
    /// Starts gateways and upstreams, and connects the accounts. A call takes at most `timeout_s`
    /// seconds.
    pub(crate) fn start(connectors: &[Connector], samples: &Samples, timeout_s: u32) -> Self {
        let services = Arc::<Services>::default();
        let (with_accounts, others): (Vec<_>, Vec<_>) = connectors.iter().partition(|connector| connector.has_accounts);
        let mut lanes = HashMap::new();
        let mut gateways = Vec::new();
        for connector in others {
            let started = (0..GATEWAYS).map(|_| alone(connector, samples, &services, timeout_s));
            let (own, running): (Vec<Lane>, Vec<Gateway>) = started.unzip();
            lanes.insert(connector.id.clone(), own);
            gateways.extend(running);
        }

        let mut setup = Setup::new();
        let mut upstreams = Vec::new();
        for connector in &with_accounts {
            let provider = OAuthProvider::start(Dialect::of(&connector.provider));
            let paths: Vec<(&str, String)> =
                connector.upstreams.iter().map(|(name, url)| (name.as_str(), format!("/{url}"))).collect();
            let paths: Vec<(&str, &str)> = paths.iter().map(|(name, path)| (*name, path.as_str())).collect();
            setup = setup
                .shipped(&connector.id)
                .provider(&connector.id, &provider, &paths)
                .config(&settings(connector, timeout_s));
            upstreams.push(provider);
        }
        let gateway = setup.start();
        thread::scope(|scope| {
            let connected: Vec<_> = with_accounts
                .iter()
                .zip(&upstreams)
                .map(|(connector, provider)| {
                    scope.spawn(|| (connector.id.clone(), connected(&gateway, connector, samples, provider, &services)))
                })
                .collect();
            lanes.extend(connected.into_iter().map(|thread| thread.join().expect("the accounts are connected")));
        });
        gateways.push(gateway);
        Self { lanes, services, _gateways: gateways, _upstreams: upstreams }
    }

    /// Sends every input of every operation. The results are in the order of the connectors and
    /// their operations.
    pub(crate) fn send_all(&self, connectors: &[Connector]) -> Vec<Vec<Vec<Sent>>> {
        thread::scope(|scope| {
            let started: Vec<_> = connectors.iter().map(|connector| scope.spawn(|| self.send(connector))).collect();
            started.into_iter().map(|thread| thread.join().expect("every call is answered")).collect()
        })
    }

    fn send(&self, connector: &Connector) -> Vec<Vec<Sent>> {
        let queue: Mutex<VecDeque<(usize, &Operation)>> = Mutex::new(connector.operations.iter().enumerate().collect());
        let done: Mutex<Vec<(usize, Vec<Sent>)>> = Mutex::default();
        let lanes = &self.lanes[&connector.id];
        thread::scope(|scope| {
            for (number, lane) in lanes.iter().enumerate() {
                let (queue, done) = (&queue, &done);
                scope.spawn(move || {
                    // Lanes without accounts take turns, so that each has an equal part of the
                    // operations of a rate limit.
                    let take = || match &lane.recorder {
                        Recorder::Account { .. } => queue.lock().pop_front(),
                        Recorder::Alone(_) => {
                            let mut queue = queue.lock();
                            let next = queue.iter().position(|(index, _)| index % lanes.len() == number)?;
                            queue.remove(next)
                        }
                    };
                    while let Some((index, operation)) = take() {
                        let sent = operation.inputs.iter().map(|input| lane.call(&operation.path, input)).collect();
                        done.lock().push((index, sent));
                    }
                });
            }
        });
        let mut done = done.into_inner();
        done.sort_by_key(|(index, _)| *index);
        done.into_iter().map(|(_, sent)| sent).collect()
    }

    /// Begins a call of an operation of a connector. Its requests to the upstream cannot be told
    /// from the requests of other calls.
    pub(crate) fn begin(&self, connector: &str, operation: &str, input: &Value) -> Pending {
        self.lanes[connector][0].request(operation, input).begin()
    }

    /// The gateway's description of a connector, with the schemas of its answers.
    pub(crate) fn description(&self, connector: &str) -> Value {
        let path = format!("/openapi.json?connector={connector}&answers=typed");
        inlined(self.lanes[connector][0].client.get(&path).ok())
    }

    /// Calls an operation of a connector.
    pub(crate) fn call(&self, connector: &str, operation: &str, input: &Value) -> Sent {
        self.lanes[connector][0].call(operation, input)
    }
}

impl Lane {
    fn request(&self, operation: &str, input: &Value) -> Call {
        let request = self.client.request("POST", &format!("/connectors/{}/{operation}", self.connector)).json(input);
        match &self.recorder {
            Recorder::Account { name, .. } => request.header("x-user-identifier", name),
            Recorder::Alone(_) => request,
        }
    }

    fn call(&self, operation: &str, input: &Value) -> Sent {
        let answer = self.request(operation, input).send();
        let requests = match &self.recorder {
            Recorder::Account { name, recorded } => recorded.lock().remove(name).unwrap_or_default(),
            Recorder::Alone(upstream) => upstream.take_seen(),
        };
        Sent { input: input.clone(), answer, requests }
    }
}

/// A gateway with one connector that needs no accounts, and its upstream.
fn alone(connector: &Connector, samples: &Samples, services: &Arc<Services>, timeout_s: u32) -> (Lane, Gateway) {
    let upstream = Upstream::start();
    let (methods, services) = (methods(connector, samples), Arc::clone(services));
    upstream.on("*", move |seen| upstream::answer(seen, &methods, &services));
    let mut section = format!("[connectors.{}]\nallow_private_network = true\n", connector.id);
    for (name, url) in &connector.upstreams {
        section.push_str(&format!("upstreams.{name} = \"{}/{url}\"\n", upstream.url()));
    }
    let gateway = Setup::new().shipped(&connector.id).config(&section).config(&settings(connector, timeout_s)).start();
    let lane = Lane { connector: connector.id.clone(), client: gateway.client(), recorder: Recorder::Alone(upstream) };
    (lane, gateway)
}

/// Connects the accounts of a connector, one for each lane.
fn connected(
    gateway: &Gateway,
    connector: &Connector,
    samples: &Samples,
    provider: &OAuthProvider,
    services: &Arc<Services>,
) -> Vec<Lane> {
    let recorded = Recorded::default();
    let (records, methods, services) = (Arc::clone(&recorded), methods(connector, samples), Arc::clone(services));
    provider.on_api(move |seen, account| {
        records.lock().entry(account.name.to_lowercase()).or_default().push(seen.clone());
        upstream::answer(seen, &methods, &services)
    });
    let path = format!("/connectors/{}", connector.id);
    provider.register(&format!("{}{path}/success-authorize-callback", gateway.address()));
    let client = gateway.client();
    let lanes = (0..LANES).map(|number| {
        let name = format!("lane{number}");
        let mut init = init();
        init["user_identifier"] = json!(name);
        let begun = client.post(&format!("{path}/integrations"), init).ok();
        let callback = Person::named(&name).consents(begun["authorization_url"].as_str().unwrap());
        let end = browser::open(&callback);
        assert!(end.header("location").contains("status=success"), "{}: {}", connector.id, end.header("location"));
        recorded.lock().clear();
        let recorder = Recorder::Account { name, recorded: Arc::clone(&recorded) };
        Lane { connector: connector.id.clone(), client: client.clone(), recorder }
    });
    lanes.collect()
}

/// The request body that begins an authorization.
pub(crate) fn init() -> Value {
    json!({"auth_type": "oauth2", "callback_url": "http://127.0.0.1:9/done"})
}

/// The methods of all operations of a connector. If the specification does not describe the answer
/// of a method, the answer is a recorded one.
fn methods(connector: &Connector, samples: &Samples) -> Vec<Method> {
    let calls = connector.operations.iter().flat_map(|operation| &operation.calls);
    let mut methods: Vec<Method> = calls.filter_map(|call| call.methods.clone().ok()).flatten().collect();
    for method in &mut methods {
        if matches!(method.answer, Answer::Empty)
            && let Some(recorded) = samples.of(method).first().copied().cloned()
        {
            method.answer = Answer::Sample(recorded);
        }
    }
    methods
}

/// The keys of a connector's section besides the URLs.
fn settings(connector: &Connector, timeout_s: u32) -> String {
    let own = SETTINGS.iter().find(|(id, _)| *id == connector.id).map_or("", |(_, keys)| keys);
    // A busy machine may need long.
    format!("limits = {{ cpu_ms = 20000, timeout_s = {timeout_s} }}\n{own}")
}
