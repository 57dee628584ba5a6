//! Honest callers: they call all the time, and every answer must be the right one.

use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::accounts::{email, me};
use support::client::Call;
use support::{Answer, module};

use crate::Run;
use crate::fleet::{Site, USERS, user};
use crate::tally::{NO_ANSWER, WRONG, outcome};

/// Time between two calls of a caller. It leaves most of a small machine to what the callers are
/// tested with.
const PAUSE: Duration = Duration::from_millis(40);

/// Time between two swaps of a connector.
const SWAP_EVERY: Duration = Duration::from_secs(1);

/// Longest time until a swapped module is live.
const SWAP_PATIENCE: Duration = Duration::from_secs(30);

/// Versions that swaps go through. They are compiled once.
const VERSIONS: usize = 4;

/// Starts the callers of every gateway.
pub(crate) fn start<'scope>(scope: &'scope Scope<'scope, '_>, run: &'scope Run) {
    for site in &run.fleet.sites {
        scope.spawn(|| {
            let forward = |_| site.client.request("POST", "/connectors/liar/forward").json(&json!({}));
            call_again_and_again(run, site, "thin", forward, |_, answer| answer["items"][1]["name"] == "two");
        });
        scope.spawn(|| {
            let body = json!({"search_query": "all:electron", "max_results": 3, "response_fields": ["papers.title"]});
            let search = |_| site.client.request("POST", "/connectors/preprint_archive/search_papers").json(&body);
            call_again_and_again(run, site, "composed", search, |_, answer| {
                answer["papers"].as_array().map(Vec::len) == Some(3)
            });
        });
        scope.spawn(|| {
            let who = |number: usize| as_user(site, number % USERS);
            call_again_and_again(run, site, "OAuth", who, |number, answer| *answer == me(&user(number % USERS)));
        });
    }
    // A swap changes all gateways of a database, so one gateway of each makes the swaps. The first
    // one is killed again and again.
    for site in &run.fleet.sites[1..] {
        scope.spawn(|| swap_again_and_again(run, site));
    }
}

/// A call on the account of a user.
pub(crate) fn as_user(site: &Site, number: usize) -> Call {
    let path = format!("/connectors/{}/forward", site.connector);
    let call = site.client.request("POST", &path).json(&json!({"path": "/me"}));
    call.header("x-user-identifier", &email(&user(number)))
}

fn call_again_and_again(
    run: &Run,
    site: &Site,
    load: &'static str,
    call: impl Fn(usize) -> Call,
    is_right: impl Fn(usize, &Value) -> bool,
) {
    for number in 0.. {
        if run.is_over() {
            return;
        }
        let began = Instant::now();
        match call(number).try_send() {
            Ok(answer) if answer.status == 200 => {
                let right = serde_json::from_slice(&answer.body).is_ok_and(|answer| is_right(number, &answer));
                run.tally.note(load, if right { "200" } else { WRONG }, right, || describe(site, &answer));
            }
            Ok(answer) => {
                let outcome = outcome(&answer);
                // An account cannot be used without the database. Everything else can.
                let away = load == "OAuth" && site.on_postgres && run.fleet.stopped.affects(began);
                // A gateway that starts answers before it has loaded its connectors.
                let starts = site.killed.affects(began) && outcome == "503 starting";
                let expected = away && outcome == "503 store-unavailable" || starts;
                run.tally.note(load, &outcome, expected, || describe(site, &answer));
            }
            Err(error) => {
                let expected = site.killed.affects(began);
                run.tally.note(load, NO_ANSWER, expected, || format!("{}: {error:?}", site.name));
            }
        }
        thread::sleep(PAUSE);
    }
}

fn describe(site: &Site, answer: &Answer) -> String {
    format!("{}: {} {}", site.name, answer.status, answer.text().chars().take(300).collect::<String>())
}

/// Replaces a connector each second. The answer comes when the gateway has it. A change is sent
/// again while the database is away.
fn swap_again_and_again(run: &Run, site: &Site) {
    for number in 0.. {
        let began = Instant::now();
        let version = format!("{}.0.0", 1 + number % VERSIONS);
        let module = module::liar(&format!("version={version}"));
        let (is_live, last) = loop {
            let call = site.client.request("POST", "/admin/connectors").header("content-type", "application/wasm");
            let sent = call.body(module.clone()).try_send();
            let is_live =
                sent.as_ref().is_ok_and(|answer| answer.status == 200 && answer.json()["version"] == *version);
            if is_live || run.is_over() || began.elapsed() > SWAP_PATIENCE {
                break (is_live || run.is_over(), sent.map(|answer| answer.text()));
            }
            thread::sleep(Duration::from_millis(50));
        };
        let outcome = if is_live { "live" } else { "not live" };
        run.tally.note("swap", outcome, is_live, || format!("{} has no {version}: {last:?}", site.name));
        if run.is_over() {
            return;
        }
        thread::sleep(SWAP_EVERY.saturating_sub(began.elapsed()));
    }
}
