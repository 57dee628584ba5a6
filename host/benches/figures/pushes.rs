//! Notifications of a service during callers: the time of their answers, and the calls that the
//! gateway answers meanwhile, compared with the same calls without notifications.
//!
//! The notifications are sent by the thread that makes the calls, on the same two cores. In a round
//! without notifications, the same number of requests goes to a server that does nothing, so that
//! the difference is what the gateway does with them. A further row compares with calls alone.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode};
use parking_lot::Mutex;
use serde_json::{Value, json};
use support::accounts::{connect, email, registered};
use support::{Dialect, Gateway, OAuthProvider, Reply, Upstream};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::connection::{Connection, Protocol};
use crate::load::Load;
use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit, median};
use crate::throughput::CONNECTIONS;
use crate::{gateway, machine, upstream};

/// The guest whose service notifies the gateway.
const GUEST: &str = "notified";

/// The URL under which the service knows the gateway. Only its path matters.
const PUBLIC: &str = "https://hooks.example";

/// Notifications in a second.
const PUSHES: f64 = 500.0;

/// The accounts with a subscription each. A gateway takes 200 notifications in a second of each.
const ACCOUNTS: [&str; 5] = ["ada", "bob", "cleo", "dan", "eve"];

/// Connections of the service. Each waits for an answer before it sends the next notification, so
/// an answer that takes longer than 80 ms delays the next ones. Their time counts from when they
/// were due.
const CONNECTIONS_OF_SERVICE: u32 = 40;

/// Seconds in which 99 of 100 notifications are answered.
const ANSWER: f64 = 0.1;

/// The share of the calls without notifications that the gateway must answer during them.
const BESIDE: f64 = 0.95;

/// An address of the gateway, and the secret of the service for it.
type Known = (String, String);

/// Measures the section.
pub(crate) fn measure(runtime: &Runtime, settings: &Settings) -> Outcome<Vec<Figure>> {
    let upstream = upstream::start()?;
    let (service, provider) = (Upstream::start(), OAuthProvider::start(Dialect::strict()));
    let known = Arc::<Mutex<Vec<Known>>>::default();
    let learning = Arc::clone(&known);
    service.on("/subscriptions", move |seen| {
        let body: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let mut known = learning.lock();
        known.push((text("notificationUrl").replace(PUBLIC, ""), text("clientState")));
        Reply::json(json!({"id": known.len().to_string()}))
    });
    let gateway = gateway::start_alone(upstream.address, |setup| {
        let setup = setup.general(&format!("hooks.public_url = \"{PUBLIC}\"")).guest(GUEST);
        let setup = setup.provider(GUEST, &provider, &[("accounts", "")]);
        setup.config(&format!("upstreams.api = \"{}\"", service.url()))
    })?;
    let gateway = registered(gateway, &provider);
    let trigger = trigger_of_each(&gateway)?;
    let known = known.lock().clone();
    if known.len() < ACCOUNTS.len() {
        return Err(format!("the service was asked for {} subscriptions", known.len()).into());
    }
    let elsewhere = known.iter().map(|(_, secret)| ("/nothing".to_owned(), secret.clone())).collect();
    let elsewhere = Arc::new(Pushes { address: upstream.address, known: elsewhere, sent: AtomicU64::new(0) });
    let pushes = Arc::new(Pushes { address: gateway::address(&gateway)?, known, sent: AtomicU64::new(0) });
    let figures = runtime.block_on(take_turns(&gateway, &pushes, &elsewhere, settings))?;
    // Notifications that are answered and not stored would be fast.
    let events = gateway.client().get(&format!("/triggers/{trigger}/events?limit=200")).ok();
    match events["events"].as_array().is_some_and(|events| events.len() == 200) {
        true => Ok(figures),
        false => Err("the notifications were not stored".into()),
    }
}

/// Makes a trigger for each account. Returns the id of the first one.
fn trigger_of_each(gateway: &Gateway) -> Outcome<String> {
    let client = gateway.client();
    let mut first = None;
    for name in ACCOUNTS {
        connect(&client, GUEST, name);
        let call = client.request("POST", "/triggers").header("x-user-identifier", &email(name));
        let made = call.json(&json!({"connector": GUEST, "type": "item"})).send();
        if made.status != 201 {
            return Err(format!("no trigger was made: {}", made.text()).into());
        }
        first = first.or_else(|| made.json()["id"].as_str().map(str::to_owned));
    }
    first.ok_or_else(|| "no trigger was made".into())
}

/// Calls alone, calls during requests to another server, and calls during notifications, in turns.
async fn take_turns(
    gateway: &Gateway,
    pushes: &Arc<Pushes>,
    elsewhere: &Arc<Pushes>,
    settings: &Settings,
) -> Outcome<Vec<Figure>> {
    let time = settings.time(4.0, 1.0);
    let mut load = Load::open(gateway::thin(gateway, "17")?, CONNECTIONS).await?;
    load.run(time).await?.check("calls")?;
    let (mut without, mut others, mut during) = (Vec::new(), Vec::new(), Vec::new());
    let (mut answers, mut cpu_of_each) = (Vec::new(), Vec::new());
    for _ in 0..settings.pick(9, 2) {
        let round = load.run(time).await?;
        round.check("calls without notifications")?;
        without.push(round.succeeded as f64 / round.seconds);
        let before = machine::cpu_seconds(gateway.process_id())?;
        let (round, sent) = tokio::join!(load.run(time), elsewhere.send(time));
        let (round, _) = (round?, sent?);
        round.check("calls during requests to another server")?;
        others.push(round.succeeded as f64 / round.seconds);
        let cpu_of_call = (machine::cpu_seconds(gateway.process_id())? - before) / round.succeeded as f64;
        let before = machine::cpu_seconds(gateway.process_id())?;
        let (round, pushed) = tokio::join!(load.run(time), pushes.send(time));
        let (round, mut pushed) = (round?, pushed?);
        round.check("calls during notifications")?;
        during.push(round.succeeded as f64 / round.seconds);
        let cpu = machine::cpu_seconds(gateway.process_id())? - before - cpu_of_call * round.succeeded as f64;
        cpu_of_each.push(cpu / pushed.len() as f64);
        let expected = time.as_secs_f64() * PUSHES;
        if (pushed.len() as f64) < 0.9 * expected {
            return Err(format!("{} notifications were sent in place of {expected}", pushed.len()).into());
        }
        pushed.sort_by(f64::total_cmp);
        let slowest = pushed.get(pushed.len() * 99 / 100).ok_or("no notification was sent")?;
        answers.push(*slowest);
    }
    let ratios = |of: &[f64]| during.iter().zip(of).map(|(during, of)| during / of).collect::<Vec<f64>>();
    let (to_others, to_alone) = (median(ratios(&others)), median(ratios(&without)));
    let name = format!("call during {PUSHES} notifications in a second: requests");
    let during = median(during);
    Ok(vec![
        Figure::new(
            format!("{PUSHES} notifications in a second during calls: 99% latency"),
            Unit::Seconds,
            median(answers),
        )
        .goal(Goal::AtMost(ANSWER)),
        Figure::new(name.clone(), Unit::PerSecond, during)
            .against_with_ratio("as many requests to another server", median(others), to_others)
            .goal(Goal::Ratio(BESIDE)),
        Figure::new(name, Unit::PerSecond, during).against_with_ratio("without them", median(without), to_alone),
        Figure::new("notification during calls: CPU time of the gateway", Unit::Seconds, median(cpu_of_each)),
    ])
}

/// The service that notifies.
struct Pushes {
    address: SocketAddr,
    known: Vec<Known>,
    sent: AtomicU64,
}

impl Pushes {
    /// Sends notifications for this time, each at its time if a connection is free, and none after it.
    /// Returns the seconds from the time of each to its answer.
    async fn send(self: &Arc<Self>, time: Duration) -> Outcome<Vec<f64>> {
        let interval = Duration::from_secs_f64(f64::from(CONNECTIONS_OF_SERVICE) / PUSHES);
        let mut tasks = JoinSet::new();
        for number in 0..CONNECTIONS_OF_SERVICE {
            let this = Arc::clone(self);
            let began = Instant::now() + interval * number / CONNECTIONS_OF_SERVICE;
            tasks.spawn(async move {
                let mut connection = Connection::open(this.address, Protocol::Http1).await?;
                let mut latencies = Vec::new();
                for turn in 0.. {
                    let at = began + interval * turn;
                    if at >= began + time || began.elapsed() >= time {
                        break;
                    }
                    tokio::time::sleep_until(at.into()).await;
                    match connection.measure(this.next()?).await? {
                        (StatusCode::OK, 0) => latencies.push(at.elapsed().as_secs_f64()),
                        (status, _) => return Err(format!("a notification gets {status}").into()),
                    }
                }
                Outcome::Ok(latencies)
            });
        }
        let mut latencies = Vec::new();
        while let Some(sent) = tasks.join_next().await {
            latencies.extend(sent??);
        }
        Ok(latencies)
    }

    /// A notification that was not sent before. The accounts take turns.
    fn next(&self) -> Outcome<Request<Full<Bytes>>> {
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        let (path, secret) = &self.known[number as usize % self.known.len()];
        let item = json!({"id": number.to_string(), "etag": "1", "changeType": "created", "clientState": secret});
        let request = Request::post(path.as_str())
            .header(HOST, self.address.to_string())
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(json!({"value": [item]}).to_string().into()))?;
        Ok(request)
    }
}
