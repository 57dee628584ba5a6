//! Variants of the thin operation, each compared with the plain one: with the user's credential, shaped, over HTTP/2, and with TLS to
//! the upstream; and an operation that sends two requests.

use serde_json::json;
use support::oauth::browser;
use support::{Dialect, Gateway, OAuthProvider, Person};
use tempfile::NamedTempFile;
use tokio::runtime::Runtime;

use crate::contest::{Contestant, take_turns};
use crate::load::Target;
use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit};
use crate::throughput::CONNECTIONS;
use crate::{gateway, upstream};

/// Share of the plain operation's requests per second that the operation with a credential must reach.
const GOAL_WITH_CREDENTIAL: f64 = 0.9;

/// The guest whose operation sends two requests.
const COMPOSED: &str = "bench_composed";

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
            .guest(COMPOSED)
            .upstream(COMPOSED, "api", &format!("http://{}", upstream.address))
    })?;
    let roots = NamedTempFile::new()?;
    let tls_upstream = upstream::start_with_tls(roots.path())?;
    let over_tls = gateway::start_over_tls(tls_upstream.address, roots.path())?;
    let tls_process_id = over_tls.process_id();
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
    let composed = Target::new(
        "composed of two requests",
        address,
        "/connectors/bench_composed/kinds",
        r#"{"first":"17","second":"18"}"#.to_owned(),
    );
    runtime.block_on(async {
        let process_id = gateway.process_id();
        let mut contestants = vec![Contestant::new(plain()?.called("plain"), CONNECTIONS, process_id).await?];
        contestants.push(Contestant::new(credential, CONNECTIONS, process_id).await?);
        contestants.push(Contestant::new(shaped.with_any_answer(), CONNECTIONS, process_id).await?);
        contestants.push(Contestant::new(plain()?.called("over HTTP/2").over_http2(), CONNECTIONS, process_id).await?);
        contestants.push(Contestant::new(composed.with_any_answer(), CONNECTIONS, process_id).await?);
        let over_tls = gateway::thin(&over_tls, "17")?.called("with TLS to the upstream");
        contestants.push(Contestant::new(over_tls, CONNECTIONS, tls_process_id).await?);
        take_turns(&mut contestants, settings).await?;
        let (plain, variants) = contestants.split_first().ok_or("nothing was measured")?;
        let figures = variants.iter().flat_map(|variant| {
            let name = |what: &str| format!("call {}: {what}", variant.name);
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
