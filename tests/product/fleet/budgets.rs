//! A rate limit holds over all gateways together, and any of them may use what the others do not
//! need.

use serde_json::json;
use support::{Answer, Client, Gateway, Pending, Setup, Store, Upstream, module, wait_for};

use super::{key_of, wait_for_ready};
use crate::integrations::client;

/// Gateways on one database, with a connector that allows this number of calls in an hour.
struct Fleet<const N: usize> {
    gateways: [Gateway; N],
    service: Upstream,
    store: Store,
}

fn setup(requests: u32, service: &Upstream) -> Setup {
    let described = json!({"identifier": "free", "auth": "none", "rate_limit": requests});
    Setup::new().module("free", module::account(&described)).upstream("free", "api", &service.url())
}

impl<const N: usize> Fleet<N> {
    fn start(requests: u32) -> Self {
        let (store, service) = (Store::postgres(), Upstream::start());
        service.reply("*", support::Reply::json(json!({})));
        let first = setup(requests, &service).config("[fleet]\nname = \"first\"").on(&store).start();
        let key = key_of(&first);
        let mut first = Some(first);
        let next = || setup(requests, &service).on(&store).general(&key).start();
        let gateways = std::array::from_fn(|_| first.take().unwrap_or_else(next));
        wait_for_ready(&gateways[0], N);
        Self { gateways, service, store }
    }

    /// Another gateway, which starts now.
    fn join(&self, requests: u32) -> Gateway {
        setup(requests, &self.service).on(&self.store).general(&key_of(&self.gateways[0])).start()
    }

    fn sent(&self) -> usize {
        self.service.seen().len()
    }
}

fn limited(client: &Client) -> Answer {
    client.call("free/composed", json!({"path": "/"}))
}

/// Calls until the rate limit refuses. Returns the number of calls that were accepted.
fn use_up(gateway: &Gateway) -> usize {
    let (client, mut accepted) = (gateway.client(), 0);
    loop {
        let answer = limited(&client);
        if answer.status != 200 {
            answer.problem(429, "rate-limited");
            return accepted;
        }
        accepted += 1;
    }
}

#[test]
fn all_gateways_together_make_as_many_calls_as_the_rate_limit_allows() {
    let fleet: Fleet<3> = Fleet::start(30);
    wait_for("all calls to be made", || {
        let clients = fleet.gateways.iter().map(Gateway::client);
        clients.for_each(|client| drop(limited(&client)));
        (fleet.sent() >= 30).then_some(())
    });
    for gateway in fleet.gateways.iter().cycle().take(9) {
        let answer = limited(&gateway.client());
        answer.problem(429, "rate-limited");
        let seconds: u64 = answer.header("retry-after").parse().unwrap();
        assert!((1..=3600).contains(&seconds), "{seconds}");
    }
    assert_eq!(fleet.sent(), 30);
}

#[test]
fn requests_around_the_operations_count_in_the_rate_limit_of_all_gateways() {
    let fleet: Fleet<2> = Fleet::start(20);
    let key = client(&fleet.gateways[0], "default", None, "proxy");
    let send = |gateway: &Gateway| gateway.anonymous().with_key(key.key()).get("/proxy/free/api/");
    wait_for("all requests to be sent", || {
        fleet.gateways.iter().for_each(|gateway| drop(send(gateway)));
        (fleet.sent() >= 20).then_some(())
    });
    for gateway in fleet.gateways.iter().cycle().take(6) {
        send(gateway).problem(429, "rate-limited");
        limited(&gateway.client()).problem(429, "rate-limited");
    }
    assert_eq!(fleet.sent(), 20);
}

#[test]
fn one_gateway_may_use_the_whole_rate_limit_while_the_others_need_nothing() {
    let fleet: Fleet<3> = Fleet::start(300);
    // A call waits a second for units, in which a busy machine may bring none.
    let accepted: usize = (0..3).map(|_| use_up(&fleet.gateways[1])).sum();
    assert!(accepted >= 285, "{accepted} calls were accepted");
    wait_for("the others to return what they do not need", || {
        use_up(&fleet.gateways[1]);
        (fleet.sent() == 300).then_some(())
    });
    fleet.gateways.iter().for_each(|gateway| assert_eq!(use_up(gateway), 0));
}

#[test]
fn answers_tell_what_all_gateways_have_left() {
    let fleet: Fleet<2> = Fleet::start(20);
    let [one, other] = &fleet.gateways;
    for left in (10..20).rev() {
        let answer = limited(&one.client());
        assert!(answer.header("ratelimit").contains(&format!("r={left};")), "{}", answer.header("ratelimit"));
    }
    wait_for("the calls of the other gateway to be known", || {
        let answer = limited(&other.client());
        answer.header("ratelimit").contains(&format!("r={};", 20 - fleet.sent())).then_some(())
    });
}

#[test]
fn a_gateway_that_stops_leaves_the_others_what_it_has_not_used() {
    let mut fleet: Fleet<2> = Fleet::start(20);
    for _ in 0..8 {
        limited(&fleet.gateways[0].client()).ok();
    }
    fleet.gateways[0].stop();
    let mut accepted = 0;
    wait_for("the calls that are left", || {
        accepted += use_up(&fleet.gateways[1]);
        (accepted >= 12).then_some(())
    });
    assert_eq!((accepted, use_up(&fleet.gateways[1])), (12, 0));
}

#[test]
fn calls_of_a_killed_gateway_count_until_it_was_silent_for_its_lease_and_a_period() {
    let fleet: Fleet<2> = Fleet::start(20);
    for _ in 0..8 {
        limited(&fleet.gateways[0].client()).ok();
    }
    fleet.gateways[0].kill();
    let accepted = use_up(&fleet.gateways[1]);
    assert!(accepted <= 12, "{accepted}");
    // The hour and the lease pass for the killed gateway alone.
    let database = fleet.store.database();
    database.sql(
        "update budget_holders set silent_ms = 3700000 where gateway = (select id from gateways where name = 'first')",
    );
    let joined = fleet.join(20);
    wait_for("the units of the killed gateway", || {
        use_up(&joined);
        (fleet.sent() == 28).then_some(())
    });
    assert_eq!(use_up(&fleet.gateways[1]), 0);
}

#[test]
fn a_call_far_from_the_rate_limit_needs_no_answer_of_the_database() {
    let (store, service) = (Store::postgres(), Upstream::start());
    service.reply("*", support::Reply::json(json!({})));
    let (proxy, config) = store.database().behind_proxy();
    let gateway = setup(6_400, &service).general(&config).start();
    let client = gateway.client();
    limited(&client).ok();
    // At the same time, because the gateway uses its units for 20 s only without an exchange.
    let call_often = || {
        let call = || client.begin("/connectors/free/composed", json!({"path": "/"}));
        let calls: Vec<Pending> = (0..20).map(|_| call()).collect();
        calls.into_iter().for_each(|call| drop(call.wait().ok()));
    };
    proxy.hold();
    call_often();
    proxy.cut();
    call_often();
    proxy.restore();
    assert_eq!(service.seen().len(), 41);
}

#[test]
fn a_swap_and_a_removal_forget_no_call() {
    let fleet: Fleet<2> = Fleet::start(6);
    let [one, other] = &fleet.gateways;
    for gateway in [one, other, one] {
        limited(&gateway.client()).ok();
    }
    let before = one.connector("free").unwrap()["sha256"].clone();
    let described = json!({"identifier": "free", "auth": "none", "rate_limit": 6});
    let bytes = module::with_note(&module::account(&described), "another version");
    super::upload(one, "?wait=60", None, bytes.clone()).ok();
    assert_ne!(one.connector("free").unwrap()["sha256"], before);
    limited(&other.client()).ok();
    one.client().delete("/admin/connectors/free?wait=60").ok();
    super::upload(one, "?wait=60", None, bytes).ok();
    wait_for("all calls to be made", || {
        use_up(one);
        use_up(other);
        (fleet.sent() == 6).then_some(())
    });
    assert_eq!((use_up(one), use_up(other)), (0, 0));
}
