//! An upgrade without an interruption: gateways of the release before and of this one share a
//! database, and serve the same callers and accounts, while one after the other is replaced. In
//! each step they make writes, run jobs, send webhooks and swap a connector.
//!
//! `PREVIOUS_GATEWAY` names the binary of the release before, and `PREVIOUS_COMMIT` its commit.
//! `make test-upgrade` builds it.
//!
//! The way back is not tested here, because that release does not start on newer tables. The
//! product test `fleet::going_back` shows that this release does, so that the next one has a way
//! back.

mod work;

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use support::accounts::{connect, email, registered};
use support::client::Call;
use support::{
    Answer, Balancer, Client, Dialect, Endpoint, Gateway, Load, OAuthProvider, Setup, Store, module, process,
};

use self::work::{Services, Work};

/// Seconds for which an access token lives. Gateways of both releases refresh it during the test.
const LIFETIME: u64 = 3;

const PEOPLE: [&str; 3] = ["ada", "grace", "joan"];

/// Calls that must succeed in each step of the upgrade.
const CALLS: usize = 300;

fn previous() -> PathBuf {
    std::env::var_os("PREVIOUS_GATEWAY").expect("PREVIOUS_GATEWAY names the binary of the release before").into()
}

/// A gateway that is not started yet.
fn setup(store: &Store, provider: &OAuthProvider, services: &Services) -> Setup {
    services.add_to(Setup::new().cold().on(store)).account("account", provider)
}

fn key_of(gateway: &Gateway) -> String {
    format!("master_key_file = {:?}", gateway.home().data().join("master.key"))
}

/// Calls an operation with the account of a person.
fn call(client: &Client, operation: &str, person: &str) -> Call {
    let call =
        client.request("POST", &format!("/connectors/account/{operation}")).header("x-user-identifier", &email(person));
    call.json(&json!({"path": "/me"}))
}

fn is_ok(answer: &Answer) -> Result<(), String> {
    if answer.status == 200 { Ok(()) } else { Err(format!("{} {}", answer.status, answer.text())) }
}

#[test]
fn gateways_are_replaced_one_after_the_other_and_no_call_fails() {
    let (store, provider) = (Store::empty_postgres(), OAuthProvider::start(Dialect::strict().living(LIFETIME)));
    let services = Services::start();
    let setup = || setup(&store, &provider, &services);
    let before = registered(setup().release(previous()).start(), &provider);
    let key = key_of(&before);
    for person in PEOPLE {
        connect(&before.client(), "account", person);
    }
    let mut gateways: Vec<Gateway> = (0..2).map(|_| setup().general(&key).release(previous()).start()).collect();
    gateways.insert(0, before);

    let balancer = Balancer::start();
    let forward_to = |gateways: &[Gateway]| balancer.forward_to(&gateways.iter().collect::<Vec<_>>());
    forward_to(&gateways);
    let client = gateways[0].client().at(&balancer.url());
    let (next, calling) = (Arc::new(AtomicUsize::new(0)), client.clone());
    let read = move || call(&calling, "forward", PEOPLE[next.fetch_add(1, Ordering::Relaxed) % PEOPLE.len()]);
    let load = Load::start(read, is_ok);
    load.wait_for_more(CALLS);
    let mut work = Work::new(client.clone(), &services);
    work.step(&[]);

    // A call that the release before has answered is answered from its record by this one.
    let keyed =
        |gateway: &Gateway| call(&gateway.client(), "change", "ada").header("idempotency-key", "one-call").send();
    let first = keyed(&gateways[0]).ok();

    // The master key of all of them is in the folder of the first one.
    let mut replaced = Vec::new();
    for number in 0..gateways.len() {
        let refreshes = provider.count(Endpoint::Refresh);
        gateways.push(setup().general(&key).start());
        forward_to(&gateways);
        // Gateways of the release before do not follow the changes of others.
        work.step(&gateways[gateways.len() - number - 1..]);
        load.wait_for_more(CALLS);
        replaced.push(gateways.remove(0));
        forward_to(&gateways);
        // Some of these jobs run at the gateway that ends.
        work.begin_jobs();
        let ended = replaced.last_mut().map(Gateway::stop);
        assert!(ended.is_some_and(|status| status.success()), "a gateway of the release before ends well");
        load.wait_for_more(CALLS);
        support::wait_for("a refresh", || (provider.count(Endpoint::Refresh) > refreshes).then_some(()));
    }
    work.step(&gateways);
    let outcome = load.stop();
    assert_eq!(outcome.failures, Vec::<String>::new());
    work.check();

    let again = keyed(&gateways[0]);
    assert_eq!((again.header("idempotent-replayed"), again.json()), ("true", first));
    for person in PEOPLE {
        is_ok(&call(&gateways[2].client(), "forward", person).send()).unwrap();
    }
}

#[test]
fn the_previous_gateway_is_of_the_release_before() {
    let changelog = std::fs::read_to_string(module::root().join("host/CHANGELOG.md")).unwrap();
    // The first section is about the release that is made next.
    let before = changelog.lines().filter_map(|line| line.strip_prefix("## ")).nth(1).unwrap();
    let before = before.split(' ').next().unwrap();
    let printed = process::run(Command::new(previous()).arg("--version")).stdout;
    let advice = "set PREVIOUS_COMMIT in the Makefile to the commit of that release";
    assert!(printed.split_whitespace().any(|word| word == before), "{printed} is not {before}: {advice}");
    // A checkout without the tag, as of a release that was never published, has nothing to compare.
    let tagged =
        Command::new("git").args(["rev-parse", "--verify", "--quiet", &format!("v{before}^{{commit}}")]).output();
    let tagged = String::from_utf8(tagged.unwrap().stdout).unwrap();
    let commit = std::env::var("PREVIOUS_COMMIT").expect("PREVIOUS_COMMIT names the commit of that binary");
    assert!(tagged.is_empty() || tagged.trim() == commit, "v{before} is {tagged}: {advice}");
}
