//! Time from the provider's answer to a refresh until the new tokens are kept. Until then, the end
//! of the process would lose them.

use std::thread;

use serde_json::{Value, json};
use support::{Dialect, Gateway, OAuthProvider, Setup, accounts};
use tokio::runtime::Runtime;

use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Unit};

/// Number of accounts. Their tokens expire at the same time.
const ACCOUNTS: usize = 64;

/// Number of callers, which each make one call after the other.
const CALLERS: usize = 16;

/// The log line of the gateway with the times.
const LINE: &str = "new tokens are stored";

/// Measures the section.
pub(crate) fn measure(_: &Runtime, settings: &Settings) -> Outcome<Vec<Figure>> {
    let provider = OAuthProvider::start(Dialect::strict());
    let setup = Setup::new().general("log = \"info,integrations=debug\"");
    let gateway = accounts::registered(setup.account("account", &provider).start(), &provider);
    let names: Vec<String> = (0..ACCOUNTS).map(|number| format!("user{number}")).collect();
    for name in &names {
        accounts::connect(&gateway.client(), "account", name);
    }
    let rounds = settings.pick(10, 2);
    for _ in 0..rounds {
        provider.expire();
        call_all(&gateway, &names)?;
    }
    let lines = support::wait_for("the times of all refreshes", || {
        let lines: Vec<Value> = gateway.log().into_iter().filter(|line| line["message"] == LINE).collect();
        (lines.len() >= rounds * ACCOUNTS).then_some(lines)
    });
    let figures =
        [("in a file", "kept_us"), ("in the database", "stored_us")].into_iter().flat_map(|(place, member)| {
            let mut times: Vec<f64> =
                lines.iter().filter_map(|line| line[member].as_f64()).map(|micros| micros / 1e6).collect();
            times.sort_by(f64::total_cmp);
            [("median", 0.5), ("99%", 0.99)].map(|(name, part)| {
                let time = times.get((times.len() as f64 * part) as usize).copied().unwrap_or(f64::NAN);
                Figure::new(format!("refresh: answered to {place}, {name}"), Unit::Seconds, time)
            })
        });
    Ok(figures.collect())
}

/// Makes a call for each account. Each needs a refresh.
fn call_all(gateway: &Gateway, names: &[String]) -> Outcome<()> {
    let callers: Vec<_> = names
        .chunks(ACCOUNTS / CALLERS)
        .map(|names| {
            let (client, names) = (gateway.client(), names.to_vec());
            thread::spawn(move || {
                names.iter().all(|name| {
                    let call = client.request("POST", "/connectors/account/forward");
                    let call = call.header("x-user-identifier", &accounts::email(name));
                    call.json(&json!({"path": "/me"})).send().status == 200
                })
            })
        })
        .collect();
    match callers.into_iter().all(|caller| caller.join().unwrap_or(false)) {
        true => Ok(()),
        false => Err("a call with a refresh failed".into()),
    }
}
