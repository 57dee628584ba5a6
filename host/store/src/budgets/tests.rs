//! Tests of the exchange of budgets, on both databases.

use std::time::Duration;

use super::types::{Budget, Exchange, Share, ShareReport, Silence};
use crate::Store;
use crate::testing::{Site, on_every_database};

on_every_database!(
    units_go_to_those_that_need_them_and_never_add_up_to_more_than_the_budget,
    a_late_exchange_changes_nothing,
    the_units_of_a_gateway_that_is_gone_are_free_after_its_time,
    silence_counts_only_for_the_exchange_after_which_it_was_measured,
    a_gateway_without_units_and_needs_leaves_no_row,
    two_gateways_at_once_get_no_unit_twice,
    tenants_of_all_gateways_share_a_contended_budget,
    a_queue_is_for_the_gateway_whose_call_has_waited_for_longest,
    a_call_in_a_queue_waits_since_its_first_report,
    a_call_in_a_queue_keeps_its_place_when_the_clock_is_set_forward,
);

fn budget() -> Budget {
    Budget { connector: "demo".into(), quota: "calls".into(), requests: 100, period: Duration::from_secs(60) }
}

fn report(units: u32, needed: u32) -> ShareReport {
    let gone_after = Duration::from_secs(80);
    ShareReport {
        budget: budget(),
        units,
        used: needed.min(units),
        needed,
        wanted: needed,
        tenants: Vec::new(),
        waited: None,
        is_known: false,
        free_in: None,
        gone_after,
    }
}

async fn exchange(store: &Store, gateway: &str, turn: i64, report: ShareReport) -> Share {
    let made: Exchange = store.exchange_budgets(gateway, turn, vec![report], vec![]).await.unwrap().unwrap();
    made.shares.into_iter().next().unwrap()
}

async fn units_go_to_those_that_need_them_and_never_add_up_to_more_than_the_budget(site: Site) {
    let store = &site.store;
    let first = exchange(store, "a", 1, report(0, 90)).await;
    assert_eq!((first.units, first.target, first.is_contended, first.is_unmet), (90, 90, false, false));
    let second = exchange(store, "b", 1, report(0, 90)).await;
    assert_eq!((second.units, second.target, second.is_contended, second.is_unmet), (10, 50, true, true));
    assert_eq!(second.used_by_others, 0);
    // The first one has 90 calls in its log, and returns those that have left it.
    let first = exchange(store, "a", 2, report(90, 90)).await;
    assert_eq!((first.units, first.target, first.is_contended), (90, 50, true));
    let first = exchange(store, "a", 3, report(60, 90)).await;
    assert_eq!((first.units, first.target), (60, 50));
    let second = exchange(store, "b", 2, report(10, 90)).await;
    assert_eq!((second.units, second.used_by_others), (40, 60));
}

async fn a_late_exchange_changes_nothing(site: Site) {
    let store = &site.store;
    exchange(store, "a", 2, report(0, 50)).await;
    let late = store.exchange_budgets("a", 1, vec![report(0, 0)], vec![]).await.unwrap();
    assert_eq!(late, None);
    assert_eq!(exchange(store, "b", 1, report(0, 100)).await.units, 50);
}

async fn the_units_of_a_gateway_that_is_gone_are_free_after_its_time(site: Site) {
    let store = &site.store;
    exchange(store, "dead", 7, report(0, 100)).await;
    let silent = async |turn, seconds| {
        let silence = Silence { gateway: "dead".into(), turn: 7, silent: Duration::from_secs(seconds) };
        let made = store.exchange_budgets("b", turn, vec![report(0, 100)], vec![silence]).await.unwrap().unwrap();
        (made.shares[0].units, made.others)
    };
    let (units, others) = silent(1, 79).await;
    assert_eq!(units, 0);
    let known = Silence { gateway: "dead".into(), turn: 7, silent: Duration::from_secs(79) };
    assert_eq!(others, [known], "the next process need not wait again");
    assert_eq!(silent(2, 80).await, (100, vec![]));
    let back = exchange(store, "dead", 8, report(100, 100)).await;
    assert_eq!(back.units, 0, "what others have taken does not come back");
}

async fn silence_counts_only_for_the_exchange_after_which_it_was_measured(site: Site) {
    let store = &site.store;
    exchange(store, "a", 7, report(0, 100)).await;
    exchange(store, "a", 8, report(100, 100)).await;
    let silence = Silence { gateway: "a".into(), turn: 7, silent: Duration::from_secs(500) };
    let made = store.exchange_budgets("b", 1, vec![report(0, 100)], vec![silence]).await.unwrap().unwrap();
    assert_eq!(made.shares[0].units, 0);
}

async fn a_gateway_without_units_and_needs_leaves_no_row(site: Site) {
    let store = &site.store;
    exchange(store, "a", 1, report(0, 10)).await;
    exchange(store, "a", 2, report(0, 0)).await;
    assert_eq!(site.execute("DELETE FROM budget_shares").await, 0);
    exchange(store, "a", 3, report(0, 10)).await;
    let none = store.exchange_budgets("a", 4, vec![], vec![]).await.unwrap().unwrap();
    assert_eq!(none.shares, []);
    assert_eq!(site.execute("DELETE FROM budget_shares").await, 0, "the budget is not reported any more");
}

async fn two_gateways_at_once_get_no_unit_twice(site: Site) {
    let (store, other) = (&site.store, site.open_again().await);
    for turn in 1..20 {
        let (one, two) =
            tokio::join!(exchange(store, "a", 2 * turn, report(0, 70)), exchange(&other, "b", 2 * turn, report(0, 70)));
        assert!(one.units + two.units <= 100 && one.units.max(two.units) == 70, "{one:?} {two:?}");
        exchange(store, "a", 2 * turn + 1, report(0, 0)).await;
        exchange(store, "b", 2 * turn + 1, report(0, 0)).await;
    }
}

async fn tenants_of_all_gateways_share_a_contended_budget(site: Site) {
    let store = &site.store;
    let needs = |tenants: &[(&str, u32)], units| {
        let tenants: Vec<(String, u32)> = tenants.iter().map(|(name, needed)| ((*name).to_owned(), *needed)).collect();
        let needed = tenants.iter().map(|(_, needed)| needed).sum();
        ShareReport { tenants, ..report(units, needed) }
    };
    let alone = exchange(store, "a", 1, needs(&[("greedy", 90)], 0)).await;
    assert_eq!((alone.target, alone.allotments), (90, vec![]), "there is enough for all");
    exchange(store, "b", 1, needs(&[("greedy", 90), ("modest", 90)], 0)).await;
    let first = exchange(store, "a", 2, needs(&[("greedy", 90)], 90)).await;
    assert_eq!((first.target, first.allotments), (25, vec![("greedy".to_owned(), 25)]));
    let second = exchange(store, "b", 2, needs(&[("greedy", 90), ("modest", 90)], 10)).await;
    assert_eq!(second.target, 75);
    assert_eq!(second.allotments, [("greedy".to_owned(), 25), ("modest".to_owned(), 50)]);
}

/// The report of a gateway about a queue, whose first call has waited for these seconds.
fn asks(units: u32, waited: Option<u64>) -> ShareReport {
    let queue = Budget { connector: "demo".into(), quota: "api".into(), requests: 0, period: Duration::from_secs(3) };
    let (waited, free_in) = (waited.map(Duration::from_secs), (units > 0).then_some(Duration::from_secs(2)));
    ShareReport { budget: queue, waited, free_in, ..report(units, units.max(u32::from(waited.is_some()))) }
}

async fn a_call_in_a_queue_waits_since_its_first_report(site: Site) {
    let store = &site.store;
    exchange(store, "a", 1, asks(0, Some(0))).await;
    exchange(store, "b", 1, asks(0, Some(10))).await;
    exchange(store, "c", 1, asks(0, Some(9))).await;
    // This report was five seconds on its way.
    exchange(store, "b", 2, ShareReport { is_known: true, ..asks(0, Some(5)) }).await;
    exchange(store, "a", 2, asks(0, None)).await;
    assert_eq!(exchange(store, "c", 2, asks(0, Some(9))).await.units, 0);
    // The next call of the gateway has waited for less.
    exchange(store, "b", 3, asks(0, Some(5))).await;
    assert_eq!(exchange(store, "c", 3, asks(0, Some(9))).await.units, 1);
}

async fn a_call_in_a_queue_keeps_its_place_when_the_clock_is_set_forward(site: Site) {
    let store = &site.store;
    exchange(store, "a", 1, asks(0, Some(0))).await;
    // The clock was set forward by twenty minutes after this report.
    exchange(store, "b", 1, asks(0, Some(1200))).await;
    exchange(store, "c", 1, asks(0, Some(9))).await;
    exchange(store, "b", 2, ShareReport { is_known: true, ..asks(0, Some(5)) }).await;
    exchange(store, "a", 2, asks(0, None)).await;
    assert_eq!(exchange(store, "b", 3, ShareReport { is_known: true, ..asks(0, Some(5)) }).await.units, 0);
    assert_eq!(exchange(store, "c", 2, ShareReport { is_known: true, ..asks(0, Some(9)) }).await.units, 1);
}

async fn a_queue_is_for_the_gateway_whose_call_has_waited_for_longest(site: Site) {
    let store = &site.store;
    let first = exchange(store, "a", 1, asks(0, Some(0))).await;
    assert_eq!((first.units, first.target, first.is_contended), (1, 1, false));
    let second = exchange(store, "b", 1, asks(0, Some(100))).await;
    assert_eq!((second.units, second.target, second.is_contended), (0, 1, true));
    assert!(second.free_in.is_none(), "the first one had nothing to give away");
    // A later call of the gateway that holds the queue does not come before the other one.
    let first = exchange(store, "a", 2, asks(1, Some(5))).await;
    assert_eq!((first.units, first.target, first.is_contended), (1, 0, true));
    assert!(first.others_waited.unwrap() >= Duration::from_secs(100));
    let third = exchange(store, "c", 1, asks(0, Some(50))).await;
    assert_eq!((third.units, third.target), (0, 0));
    assert!(third.free_in.unwrap() <= Duration::from_secs(2));
    exchange(store, "a", 3, asks(0, Some(6))).await;
    assert_eq!(exchange(store, "c", 2, asks(0, Some(51))).await.units, 0, "it is not its turn");
    let second = exchange(store, "b", 2, asks(0, Some(101))).await;
    assert_eq!((second.units, second.target), (1, 1));
    exchange(store, "b", 3, asks(0, None)).await;
    assert_eq!(exchange(store, "c", 3, asks(0, Some(52))).await.units, 1);
}
