//! Tenants share a rate limit that is not enough for all of them, whichever gateways they call.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;
use support::{Client, Gateway, Setup, Store, Upstream, module};

use super::{client_of, key_of, wait_for_ready};

/// Two gateways whose connector allows 40 calls in four seconds, and the keys of two tenants. Also
/// a busy machine can make more calls than that.
fn fleet(store: &Store, service: &Upstream) -> ([Gateway; 2], [String; 2]) {
    service.reply("*", support::Reply::json(json!({})));
    let described = json!({"identifier": "free", "auth": "none", "rate_limit": 40, "rate_period": 4});
    let setup =
        || Setup::new().module("free", module::account(&described)).upstream("free", "api", &service.url()).on(store);
    let first = setup().start();
    let second = setup().general(&key_of(&first)).start();
    wait_for_ready(&first, 2);
    let keys = ["greedy", "modest"].map(|name| {
        let key = first.home().run_ok(&["keys", "create", "--name", name, "--tenant", name, "--scope", "operate"]);
        key.trim().to_owned()
    });
    ([first, second], keys)
}

/// Sets a flag when it is dropped, also if a test fails: threads that call until then would never
/// end otherwise.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Calls as fast as it can, and counts the calls that are accepted, until it is told to stop.
fn press(client: &Client, accepted: &AtomicUsize, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        match client.call("free/composed", json!({"path": "/"})).status {
            200 => accepted.fetch_add(1, Ordering::Relaxed),
            status => {
                assert_eq!(status, 429);
                thread::sleep(Duration::from_millis(20));
                0
            }
        };
    }
}

#[test]
fn a_tenant_with_many_calls_at_every_gateway_leaves_another_one_its_share() {
    let (store, service) = (Store::postgres(), Upstream::start());
    let (gateways, [greedy, modest]) = fleet(&store, &service);
    let (all, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let clients = [&gateways[0], &gateways[1], &gateways[0], &gateways[1]].map(|each| client_of(each, &greedy));
    thread::scope(|scope| {
        let _stop = Stop(&stop);
        for client in &clients {
            scope.spawn(|| press(client, &all, &stop));
        }
        support::wait_for("the greedy tenant to use the rate limit alone", || {
            (all.load(Ordering::Relaxed) >= 80).then_some(())
        });
        let (own, before) = (AtomicUsize::new(0), all.load(Ordering::Relaxed));
        let (client, done) = (client_of(&gateways[1], &modest), AtomicBool::new(false));
        thread::scope(|scope| {
            let _done = Stop(&done);
            scope.spawn(|| press(&client, &own, &done));
            support::wait_for("the modest tenant to make its calls", || {
                (own.load(Ordering::Relaxed) >= 60).then_some(())
            });
        });
        let (modest, greedy) = (own.load(Ordering::Relaxed), all.load(Ordering::Relaxed) - before);
        // The modest one had its share after a period. Before that, the greedy one had everything.
        assert!(greedy <= modest + 60, "{greedy} calls of the greedy tenant while the modest one made {modest}");
    });
}
