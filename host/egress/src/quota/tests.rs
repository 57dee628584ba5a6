//! Tests of quotas, of one gateway alone and of several that share them.

use super::{Budget, BudgetGrant, Duration, Instant, Quota, Quotas};

fn quota(requests: u32, seconds: u64) -> Quota {
    Quota { name: "calls".to_owned(), requests, period: Duration::from_secs(seconds) }
}

const TENANT: &str = "a";

fn check(quotas: &Quotas) -> Result<(), Duration> {
    check_of(quotas, TENANT)
}

fn check_of(quotas: &Quotas, tenant: &str) -> Result<(), Duration> {
    quotas.check("calls", tenant).unwrap().map(drop).map_err(|remaining| remaining.until_more)
}

#[tokio::test(start_paused = true)]
async fn all_calls_of_a_quota_may_come_in_one_burst_and_the_next_one_waits_for_a_period() {
    let quotas = Quotas::new([quota(300, 60)]);
    for _ in 0..300 {
        check(&quotas).unwrap();
    }
    assert_eq!(check(&quotas), Err(Duration::from_secs(60)));
    tokio::time::advance(Duration::from_secs(59)).await;
    assert_eq!(check(&quotas), Err(Duration::from_secs(1)));
    tokio::time::advance(Duration::from_secs(1)).await;
    check(&quotas).unwrap();
}

#[tokio::test(start_paused = true)]
async fn no_window_of_a_period_ever_holds_more_calls_than_allowed() {
    let quotas = Quotas::new([quota(10, 60)]);
    let mut taken = Vec::new();
    for step in 0..2000_u64 {
        tokio::time::advance(Duration::from_millis(step * 7919 % 4000)).await;
        if check(&quotas).is_ok() {
            taken.push(Instant::now());
        }
    }
    assert!(taken.len() > 500);
    for window in taken.windows(11) {
        assert!(window[10] - window[0] >= Duration::from_secs(60));
    }
}

#[tokio::test(start_paused = true)]
async fn counted_calls_survive_a_swap_if_the_quota_is_the_same() {
    let previous = Quotas::new([quota(1, 60)]);
    check(&previous).unwrap();
    let mut same = Quotas::new([quota(1, 60)]);
    same.inherit(&previous);
    assert!(check(&same).is_err());
    let mut other = Quotas::new([quota(2, 60)]);
    other.inherit(&previous);
    assert!(check(&other).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_one_quota_refuses_counts_in_no_other() {
    let named = |name: &str, requests| Quota { name: name.to_owned(), ..quota(requests, 60) };
    let quotas = Quotas::new([named("many", 3), named("few", 1)]);
    assert_eq!(quotas.check_all(TENANT).unwrap().map(|left| (left.quota.name.as_str(), left.calls)), Some(("few", 0)));
    for _ in 0..5 {
        assert_eq!(quotas.check_all(TENANT).unwrap_err().quota.name, "few");
    }
    assert_eq!(quotas.check("many", TENANT).unwrap().unwrap().calls, 1, "only the first call was counted");
    assert_eq!(Quotas::default().check_all(TENANT), Ok(None));
}

#[test]
fn a_name_without_a_quota_has_no_limit() {
    assert_eq!(Quotas::default().check("any", TENANT), None);
}

#[tokio::test(start_paused = true)]
async fn the_remaining_calls_are_returned() {
    let quotas = Quotas::new([quota(3, 60)]);
    let remaining = || quotas.check("calls", TENANT).unwrap().map(|left| (left.calls, left.until_more.as_secs()));
    assert_eq!(remaining(), Ok((2, 60)));
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(remaining(), Ok((1, 50)));
    tokio::time::advance(Duration::from_secs(55)).await;
    assert_eq!(remaining(), Ok((1, 5)), "the first call no longer counts");
}

fn only(quotas: &Quotas) -> &Budget {
    quotas.budgets().next().unwrap().1
}

fn grant(units: u32, target: u32) -> BudgetGrant {
    let until = Instant::now() + Duration::from_secs(20);
    BudgetGrant {
        units,
        target,
        allotments: Vec::new(),
        used_by_others: 0,
        is_contended: false,
        is_unmet: false,
        until,
    }
}

#[tokio::test(start_paused = true)]
async fn a_gateway_uses_the_units_that_it_holds_while_its_lease_lasts() {
    let quotas = Quotas::shared([quota(10, 60)]);
    let refused = quotas.check("calls", TENANT).unwrap().unwrap_err();
    assert!(refused.may_ask && refused.has_lapsed);
    only(&quotas).grant(BudgetGrant { used_by_others: 5, ..grant(2, 9) });
    assert_eq!(quotas.check("calls", TENANT).unwrap().unwrap().calls, 4, "the calls of others count");
    check(&quotas).unwrap();
    let refused = quotas.check("calls", TENANT).unwrap().unwrap_err();
    assert!(refused.may_ask && !refused.has_lapsed);
    only(&quotas).grant(grant(4, 4));
    tokio::time::advance(Duration::from_secs(19)).await;
    check(&quotas).unwrap();
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(quotas.check("calls", TENANT).unwrap().unwrap_err().has_lapsed);
}

#[tokio::test(start_paused = true)]
async fn only_units_whose_calls_are_older_than_a_period_are_returned() {
    let quotas = Quotas::shared([quota(10, 10)]);
    only(&quotas).grant(grant(8, 8));
    for _ in 0..6 {
        check(&quotas).unwrap();
    }
    tokio::time::advance(Duration::from_secs(5)).await;
    only(&quotas).grant(grant(8, 3));
    assert!(check(&quotas).is_err(), "the gateway keeps to its target");
    let report = only(&quotas).report();
    assert_eq!((report.units, report.used, report.needs), (6, 6, vec![(TENANT.to_owned(), 7)]));
    assert_eq!(report.cooled_in, Duration::from_secs(5));
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(only(&quotas).report().units, 3);
    check(&quotas).unwrap();
    assert_eq!(only(&quotas).close().units, 1);
    assert!(check(&quotas).is_err(), "a gateway that leaves makes no call");
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_could_get_nothing_does_not_ask_again_at_once() {
    let quotas = Quotas::shared([quota(10, 60)]);
    only(&quotas).grant(BudgetGrant { is_unmet: true, ..grant(0, 5) });
    let may_ask = || quotas.check("calls", TENANT).unwrap().unwrap_err().may_ask;
    assert!(!may_ask());
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(may_ask());
    only(&quotas).grant(grant(10, 10));
    for _ in 0..10 {
        check(&quotas).unwrap();
    }
    assert!(!may_ask(), "no other gateway has any");
}

#[tokio::test(start_paused = true)]
async fn a_budget_keeps_its_calls_when_the_connector_is_added_again() {
    let (before, after) = (Quotas::shared([quota(10, 60)]), Quotas::shared([quota(10, 60)]));
    only(&before).grant(grant(2, 2));
    check(&before).unwrap();
    only(&after).take_over(only(&before));
    check(&after).unwrap();
    assert!(check(&after).is_err() && check(&before).is_err());
    assert!(!only(&after).is(only(&before)));
}

#[tokio::test(start_paused = true)]
async fn a_tenant_that_comes_later_has_its_share_within_a_period() {
    let quotas = Quotas::new([quota(100, 10)]);
    let mut made = [Vec::new(), Vec::new()];
    // The first tenant alone makes all calls. From second 20 on, a second one makes as many.
    for step in 0..4_000_u64 {
        tokio::time::advance(Duration::from_millis(10)).await;
        for (tenant, name) in ["a", "b"].into_iter().enumerate() {
            if (tenant == 0 || step >= 2_000) && check_of(&quotas, name).is_ok() {
                made[tenant].push(step);
            }
        }
    }
    let in_period =
        |tenant: usize, from: u64| made[tenant].iter().filter(|at| (from..from + 1_000).contains(at)).count();
    assert_eq!((in_period(0, 1_000), in_period(1, 1_000)), (100, 0));
    assert_eq!((in_period(0, 3_000), in_period(1, 3_000)), (50, 50));
    assert!(in_period(1, 2_000) >= 49, "{} in the first period", in_period(1, 2_000));
}

#[tokio::test(start_paused = true)]
async fn what_a_tenant_does_not_need_is_for_the_others() {
    let quotas = Quotas::new([quota(100, 10)]);
    let mut made = [0; 3];
    for step in 0..12_000_u64 {
        tokio::time::advance(Duration::from_millis(10)).await;
        for (tenant, name) in ["a", "b", "c"].into_iter().enumerate() {
            // The third one needs ten calls in a period.
            let calls = tenant < 2 || step % 100 == 0;
            if calls && check_of(&quotas, name).is_ok() && step >= 8_000 {
                made[tenant] += 1;
            }
        }
    }
    assert!((176..=184).contains(&made[0]) && (176..=184).contains(&made[1]), "{made:?}");
    assert!((39..=41).contains(&made[2]), "{made:?}");
    assert!(made.iter().sum::<i32>() >= 380, "at least 95 % are used: {made:?}");
}

#[tokio::test(start_paused = true)]
async fn a_tenant_that_waits_as_it_was_told_gets_a_call_before_one_that_has_its_share() {
    let quotas = Quotas::new([quota(2, 10)]);
    check_of(&quotas, "a").unwrap();
    check_of(&quotas, "a").unwrap();
    let wait = check_of(&quotas, "b").unwrap_err();
    assert_eq!(wait, Duration::from_secs(10));
    tokio::time::advance(wait).await;
    check_of(&quotas, "a").unwrap();
    let wait = check_of(&quotas, "a").unwrap_err();
    assert_eq!(wait, Duration::from_secs(1));
    tokio::time::advance(Duration::from_millis(900)).await;
    check_of(&quotas, "b").unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_claim_ends_if_its_tenant_does_not_come() {
    let quotas = Quotas::new([quota(2, 10)]);
    for _ in 0..2 {
        check_of(&quotas, "a").unwrap();
    }
    check_of(&quotas, "b").unwrap_err();
    tokio::time::advance(Duration::from_millis(12_500)).await;
    for _ in 0..2 {
        check_of(&quotas, "a").unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_gateway_knows_when_it_will_need_less_because_a_tenant_has_gone() {
    let quotas = Quotas::shared([quota(1, 10)]);
    only(&quotas).grant(BudgetGrant { is_contended: true, ..grant(1, 1) });
    check(&quotas).unwrap();
    assert_eq!(only(&quotas).until_claim_ends(), None);
    check(&quotas).unwrap_err();
    let ends = only(&quotas).until_claim_ends().unwrap();
    tokio::time::advance(ends - Duration::from_millis(1)).await;
    assert_eq!(only(&quotas).report().units, 1, "the tenant may come again");
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(only(&quotas).report().units, 0);
    assert_eq!(only(&quotas).until_claim_ends(), None);
}

#[tokio::test(start_paused = true)]
async fn tenants_share_the_calls_of_a_gateway_as_all_gateways_have_divided_them() {
    let quotas = Quotas::shared([quota(100, 10)]);
    let units = |of_a, of_b| vec![("a".to_owned(), of_a), ("b".to_owned(), of_b)];
    only(&quotas).grant(grant(12, 12));
    check_of(&quotas, "a").unwrap();
    (0..11).for_each(|_| check_of(&quotas, "b").unwrap());
    for name in ["a", "b"].into_iter().cycle().take(200) {
        check_of(&quotas, name).unwrap_err();
    }
    tokio::time::advance(Duration::from_secs(10)).await;
    only(&quotas).grant(BudgetGrant { allotments: units(9, 3), ..grant(12, 12) });
    let count = |name| std::iter::from_fn(|| check_of(&quotas, name).ok()).count();
    assert_eq!((count("b"), count("a")), (3, 9));
}

/// The calls that `b` makes within this time, in tenths of a second, if it calls all the time from
/// second 55 on. `a` calls until second 60, at each multiple of `pause`.
async fn calls_after_the_other_has_gone(pause: u64, within: std::ops::Range<u64>) -> usize {
    let quotas = Quotas::new([quota(60, 60)]);
    let mut made = 0;
    for step in 0..within.end {
        tokio::time::advance(Duration::from_millis(100)).await;
        if step < 600 && step % pause == 0 {
            let _ = check_of(&quotas, "a");
        }
        if step >= 550 && check_of(&quotas, "b").is_ok() && within.contains(&step) {
            made += 1;
        }
    }
    made
}

#[tokio::test(start_paused = true)]
async fn what_a_tenant_leaves_when_it_goes_is_for_the_others_at_once() {
    // It has made all its calls in six seconds.
    let used = calls_after_the_other_has_gone(1, 600..680).await;
    assert!(used >= 57, "{used} of 60 calls");
    // It has made one in a second.
    let used = calls_after_the_other_has_gone(10, 600..1_200).await;
    assert!(used >= 57, "{used} of 60 calls");
}

#[tokio::test(start_paused = true)]
async fn a_gateway_keeps_no_more_than_it_needs_while_others_need_more() {
    let quotas = Quotas::shared([quota(10, 10)]);
    only(&quotas).grant(grant(8, 8));
    (0..4).for_each(|_| check(&quotas).unwrap());
    assert_eq!(only(&quotas).report().units, 8, "the others do not need them");
    only(&quotas).grant(BudgetGrant { is_contended: true, ..grant(8, 8) });
    let report = only(&quotas).report();
    assert_eq!((report.units, report.needed), (4, 4));
}

#[tokio::test(start_paused = true)]
async fn the_unit_that_a_gateway_returns_is_one_of_a_tenant_that_has_more_than_its_part() {
    let quotas = Quotas::shared([quota(4, 10)]);
    only(&quotas).grant(grant(2, 2));
    check_of(&quotas, "a").unwrap();
    tokio::time::advance(Duration::from_secs(5)).await;
    check_of(&quotas, "b").unwrap();
    for name in ["a", "b"] {
        check_of(&quotas, name).unwrap_err();
    }
    let allotments = vec![("a".to_owned(), 1), ("b".to_owned(), 0)];
    only(&quotas).grant(BudgetGrant { allotments, is_contended: true, ..grant(2, 1) });
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(only(&quotas).report().units, 2, "the call of the other one is in the last period");
    check_of(&quotas, "b").unwrap_err();
    check_of(&quotas, "a").unwrap();
    tokio::time::advance(Duration::from_secs(5)).await;
    check_of(&quotas, "b").unwrap_err();
    assert_eq!(only(&quotas).report().units, 1);
    assert_eq!(only(&quotas).close().units, 1);
    tokio::time::advance(Duration::from_secs(5)).await;
    check_of(&quotas, "a").unwrap_err();
}
