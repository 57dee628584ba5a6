//! Variants of the thin operation, each compared with the plain one: with the user's credential,
//! shaped, over HTTP/2, and with TLS to the upstream; and an operation that sends two requests. Calls
//! with HTTP/2 to the upstream are compared with those over TLS alone.

use serde_json::json;
use support::oauth::browser;
use support::{Dialect, Gateway, OAuthProvider, Person};
use tempfile::NamedTempFile;
use tokio::runtime::Runtime;

use crate::contest::{Contestant, take_turns};
use crate::load::Target;
use crate::role::Peer;
use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit};
use crate::throughput::CONNECTIONS;
use crate::{gateway, machine, upstream};

/// Share of the plain operation's requests per second that the operation with a credential must
/// reach.
const GOAL_WITH_CREDENTIAL: f64 = 0.9;

/// Share of the requests per second over HTTP/1 that 4 connections over HTTP/2 must reach.
const GOAL_OF_HTTP2: f64 = 0.9;

/// The CPU time of a call that sends two requests, compared with the plain one.
const GOAL_OF_COMPOSED: f64 = 1.6;

/// Share of the requests per second with HTTP/1 to the upstream that calls with HTTP/2 to it must
/// reach.
const GOAL_OF_HTTP2_UPSTREAM: f64 = 1.0;

/// The guest whose operation sends two requests.
const COMPOSED: &str = "bench_composed";

/// The guest whose users have accounts. Its operation is the same as in the plain guest.
const ACCOUNTS: &str = "bench_account";

/// The processes that the variants need: gateways, and what these call.
pub(crate) struct Scene {
    gateway: Gateway,
    over_tls: OverTls,
    over_http2: OverTls,
    _upstream: Peer,
    _provider: OAuthProvider,
}

/// A gateway whose upstream speaks TLS.
struct OverTls {
    gateway: Gateway,
    upstream: Peer,
    _roots: NamedTempFile,
}

impl OverTls {
    fn start(protocol: &str) -> Outcome<Self> {
        let roots = NamedTempFile::new()?;
        let upstream = upstream::start_with_tls(roots.path(), protocol)?;
        let gateway = gateway::start_over_tls(upstream.address, roots.path())?;
        Ok(Self { gateway, upstream, _roots: roots })
    }

    async fn contestant(&self, name: &'static str) -> Outcome<Contestant> {
        let target = gateway::thin(&self.gateway, "17")?.called(name);
        Contestant::new(target, CONNECTIONS, self.gateway.process_id()).await
    }

    /// The connections that are open to the upstream.
    fn connections(&self) -> Outcome<f64> {
        machine::connections_to(self.upstream.address.port())
    }
}

/// Measures the section.
pub(crate) fn measure(runtime: &Runtime, settings: &Settings) -> Outcome<Vec<Figure>> {
    let scene = Scene::start()?;
    let calls = scene.calls()?;
    runtime.block_on(async {
        let mut contestants = Vec::with_capacity(calls.len() + 2);
        for (target, process_id) in calls {
            contestants.push(Contestant::new(target, CONNECTIONS, process_id).await?);
        }
        let (thin, process_id) = (gateway::thin(&scene.gateway, "17")?, scene.gateway.process_id());
        let streams = thin.clone().called("over HTTP/2 on 4 connections of 32 streams");
        let as_many = thin.called("over HTTP/1 on 128 connections");
        contestants.push(Contestant::with_streams(streams, 4, 32, process_id).await?);
        contestants.push(Contestant::new(as_many, 4 * 32, process_id).await?);
        take_turns(&mut contestants, settings).await?;
        let [over_http1, over_http2] = [contestants.pop(), contestants.pop()].map(|last| last.ok_or("not measured"));
        let (over_http1, over_http2) = (over_http1?, over_http2?);
        let to_http2 = scene.http2_upstream(settings).await?;
        let (plain, variants) = contestants.split_first().ok_or("nothing was measured")?;
        let figures = variants.iter().flat_map(|variant| {
            let name = |what: &str| format!("call {}: {what}", variant.name);
            let requests = variant.against(plain, name("requests"), Unit::PerSecond, |round| round.per_second);
            let requests = match variant.name.contains("credential") {
                true => requests.goal(Goal::Ratio(GOAL_WITH_CREDENTIAL)),
                false => requests,
            };
            let cpu = variant.against(plain, name("CPU time a request"), Unit::Seconds, |round| round.cpu);
            let cpu = match variant.name.contains("composed") {
                true => cpu.goal(Goal::RatioAtMost(GOAL_OF_COMPOSED)),
                false => cpu,
            };
            [requests, cpu]
        });
        let name = |what: &str| format!("call {}: {what}", over_http2.name);
        let requests = over_http2.against(&over_http1, name("requests"), Unit::PerSecond, |round| round.per_second);
        let cpu = over_http2.against(&over_http1, name("CPU time a request"), Unit::Seconds, |round| round.cpu);
        Ok(figures.chain([requests.goal(Goal::Ratio(GOAL_OF_HTTP2)), cpu]).chain(to_http2).collect())
    })
}

impl Scene {
    /// Starts them, and connects a user's account.
    pub(crate) fn start() -> Outcome<Self> {
        let upstream = upstream::start()?;
        let provider = OAuthProvider::start(Dialect::strict());
        let gateway = gateway::start_with(upstream.address, |setup| {
            setup
                .guest(ACCOUNTS)
                .provider(ACCOUNTS, &provider, &[("accounts", "")])
                .config(&format!("upstreams.api = \"http://{}\"", upstream.address))
                .guest(COMPOSED)
                .upstream(COMPOSED, "api", &format!("http://{}", upstream.address))
        })?;
        connect(&gateway, &provider)?;
        let (over_tls, over_http2) = (OverTls::start(upstream::HTTP1)?, OverTls::start(upstream::HTTP2)?);
        Ok(Self { gateway, over_tls, over_http2, _upstream: upstream, _provider: provider })
    }

    /// The calls, each with the process that answers it. The first one is the plain operation.
    pub(crate) fn calls(&self) -> Outcome<Vec<(Target, u32)>> {
        let address = gateway::address(&self.gateway)?;
        let plain = gateway::thin(&self.gateway, "17")?;
        let body = r#"{"item_id":"17","view":"full"}"#.to_owned();
        let credential = Target::new("with an OAuth credential", address, "/connectors/bench_account/get_item", body);
        let shaped =
            r#"{"item_id":"17","view":"full","response_fields":["kind","field_3.id","field_17.label"]}"#.to_owned();
        let shaped = Target::new("with response_fields", address, "/connectors/bench/get_item", shaped);
        let composed = r#"{"first":"17","second":"18"}"#.to_owned();
        let composed =
            Target::new("composed of two requests at once", address, "/connectors/bench_composed/kinds", composed);
        let calls = [
            plain.clone().called("plain"),
            credential,
            shaped.with_any_answer(),
            plain.called("over HTTP/2").over_http2(),
            composed.with_any_answer(),
        ];
        let over_tls = &self.over_tls.gateway;
        let over_tls = (gateway::thin(over_tls, "17")?.called("with TLS to the upstream"), over_tls.process_id());
        Ok(calls.into_iter().map(|call| (call, self.gateway.process_id())).chain([over_tls]).collect())
    }

    /// Calls with HTTP/2 to the upstream, and the connections that they need.
    async fn http2_upstream(&self, settings: &Settings) -> Outcome<[Figure; 3]> {
        let http1 = self.over_tls.contestant("with HTTP/1 to the upstream").await?;
        let http2 = self.over_http2.contestant("with HTTP/2 to the upstream").await?;
        let mut contestants = [http1, http2];
        take_turns(&mut contestants, settings).await?;
        let [http1, http2] = &contestants;
        let name = |what: &str| format!("call {}: {what}", http2.name);
        let connections = Figure::new(name("connections to it"), Unit::Count, self.over_http2.connections()?);
        Ok([
            http2
                .against(http1, name("requests"), Unit::PerSecond, |round| round.per_second)
                .goal(Goal::Ratio(GOAL_OF_HTTP2_UPSTREAM)),
            http2.against(http1, name("CPU time a request"), Unit::Seconds, |round| round.cpu),
            connections.against(http1.name, self.over_tls.connections()?),
        ])
    }

    /// The gateway that most calls go to.
    pub(crate) fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    /// Stops the gateways as an operator does.
    pub(crate) fn stop(mut self) -> Outcome<()> {
        for gateway in [&mut self.gateway, &mut self.over_tls.gateway, &mut self.over_http2.gateway] {
            let status = gateway.stop();
            if !status.success() {
                return Err(format!("a gateway ended with {status}").into());
            }
        }
        Ok(())
    }
}

/// Connects a user's account.
fn connect(gateway: &Gateway, provider: &OAuthProvider) -> Outcome<()> {
    provider.register(&format!("{}/connectors/{ACCOUNTS}/success-authorize-callback", gateway.address()));
    let init = json!({"auth_type": "oauth2", "callback_url": "http://127.0.0.1/done"});
    let begun = gateway.client().post(&format!("/connectors/{ACCOUNTS}/integrations"), init).ok();
    let url = begun["authorization_url"].as_str().ok_or("the authorization has no URL")?;
    let end = browser::open(&Person::named("Ada").consents(url));
    match end.header("location").contains("status=success") {
        true => Ok(()),
        false => Err(format!("the account was not connected: {}", end.header("location")).into()),
    }
}
