//! Variants of the thin operation, each compared with the plain one: with the user's credential, shaped, over HTTP/2, and with more
//! and fewer connections.

use serde_json::json;
use support::oauth::browser;
use support::{Dialect, Gateway, OAuthProvider, Person};
use tokio::runtime::Runtime;

use crate::contest::{Contestant, take_turns};
use crate::load::Target;
use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit};
use crate::throughput::CONNECTIONS;
use crate::{gateway, upstream};

/// Share of the plain operation's requests per second that the operation with a credential must reach.
const GOAL_WITH_CREDENTIAL: f64 = 0.9;

/// Numbers of connections, besides the usual one.
const OTHER_CONNECTIONS: [(&str, usize); 2] = [("1 connection", 1), ("256 connections", 256)];

/// The guest whose users have accounts. Its operation is that of the plain one.
const ACCOUNTS: &str = "bench_account";

/// Measures the section.
pub(crate) fn measure(runtime: &Runtime, settings: &Settings) -> Outcome<Vec<Figure>> {
    let upstream = upstream::start()?;
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway::start_with(upstream.address, |setup| {
        setup
            .guest(ACCOUNTS)
            .provider(ACCOUNTS, &provider, &[("accounts", "")])
            .config(&format!("upstreams.api = \"http://{}\"", upstream.address))
    })?;
    connect(&gateway, &provider)?;
    let address = gateway::address(&gateway)?;
    let plain = || gateway::thin(&gateway, "17");
    let credential = Target::new(
        "with an OAuth credential",
        address,
        "/connectors/bench_account/get_item",
        r#"{"item_id":"17","view":"full"}"#.to_owned(),
    );
    let shaped = Target::new(
        "with response_fields",
        address,
        "/connectors/bench/get_item",
        r#"{"item_id":"17","view":"full","response_fields":["kind","field_3.id","field_17.label"]}"#.to_owned(),
    );
    runtime.block_on(async {
        let process_id = gateway.process_id();
        let mut contestants = vec![Contestant::new(plain()?.called("plain"), CONNECTIONS, process_id).await?];
        contestants.push(Contestant::new(credential, CONNECTIONS, process_id).await?);
        contestants.push(Contestant::new(shaped.with_any_answer(), CONNECTIONS, process_id).await?);
        contestants.push(Contestant::new(plain()?.called("over HTTP/2").over_http2(), CONNECTIONS, process_id).await?);
        for (name, connections) in OTHER_CONNECTIONS {
            contestants.push(Contestant::new(plain()?.called(name), connections, process_id).await?);
        }
        take_turns(&mut contestants, settings).await?;
        let (plain, variants) = contestants.split_first().ok_or("nothing was measured")?;
        let figures = variants.iter().flat_map(|variant| {
            let name = |what: &str| format!("thin operation, {}: {what}", variant.name);
            let requests = variant.beside(plain, name("requests"), Unit::PerSecond, |round| round.per_second);
            let requests = match variant.name.contains("credential") {
                true => requests.goal(Goal::Ratio(GOAL_WITH_CREDENTIAL)),
                false => requests,
            };
            [requests, variant.beside(plain, name("CPU time a request"), Unit::Seconds, |round| round.cpu)]
        });
        Ok(figures.collect())
    })
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
