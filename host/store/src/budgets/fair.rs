//! How a budget is divided among the tenants and gateways that need it.

use std::collections::BTreeMap;

/// Part of a budget that gateways without calls may hold, so that their first calls need not wait:
/// one of so many units.
const IDLE_PART: u32 = 20;

/// The request of one gateway.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand<'a> {
    /// The units that it needs now.
    pub(super) needed: u32,
    /// The units that it would like to have. At least what it needs.
    pub(super) wanted: u32,
    /// The units that each tenant needs. The rest of `needed` belongs to one more tenant.
    pub(super) tenants: &'a [(String, u32)],
}

/// The units that a gateway should have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Part<'a> {
    /// All units.
    pub(super) target: u32,
    /// The units for what each of its tenants needs.
    pub(super) tenants: BTreeMap<&'a str, u32>,
}

/// The tenant of everything that no tenant is named for. No tenant has this name.
const UNNAMED: &str = "";

/// The part of each gateway. The sum of the targets is at most the budget.
///
/// The needs of tenants come first: no tenant gets more of it, at all gateways together, while
/// another one that needs it has less (max-min fairness). The units of a tenant are divided among
/// its gateways in the same way. The rest is for what gateways would like to have. Units that do
/// not divide go to those that are first in this `turn`.
pub(super) fn divide<'a>(budget: u32, demands: &[Demand<'a>], turn: usize) -> Vec<Part<'a>> {
    let mut parts = vec![Part::default(); demands.len()];
    let needs: Vec<BTreeMap<&str, u32>> = demands.iter().map(Demand::of_tenants).collect();
    let mut total: BTreeMap<&'a str, u32> = BTreeMap::new();
    for (tenant, needed) in needs.iter().flatten() {
        let sum = total.entry(tenant).or_default();
        *sum = sum.saturating_add(*needed);
    }
    let of_tenants = max_min(budget, &total.values().copied().collect::<Vec<_>>(), turn);
    for (tenant, units) in total.keys().zip(of_tenants) {
        let at_gateways: Vec<u32> = needs.iter().map(|needs| needs.get(tenant).copied().unwrap_or_default()).collect();
        for ((part, needs), units) in parts.iter_mut().zip(&needs).zip(max_min(units, &at_gateways, turn)) {
            part.target += units;
            if needs.contains_key(tenant) {
                part.tenants.insert(tenant, units);
            }
        }
    }
    for part in &mut parts {
        part.tenants.remove(UNNAMED);
    }
    let mut add = |most: Option<u32>, demands: Vec<u32>| {
        let left = budget - parts.iter().map(|part| part.target).sum::<u32>();
        let shares = max_min(most.map_or(left, |most| most.min(left)), &demands, turn);
        parts.iter_mut().zip(shares).for_each(|(part, share)| part.target += share);
    };
    add(None, demands.iter().map(|demand| demand.extra(true)).collect());
    add(Some(budget / IDLE_PART), demands.iter().map(|demand| demand.extra(false)).collect());
    parts
}

impl<'a> Demand<'a> {
    /// The needs by tenant. Their sum is what the gateway needs.
    fn of_tenants(&self) -> BTreeMap<&'a str, u32> {
        let mut left = self.needed;
        let mut needs = BTreeMap::new();
        for (tenant, needed) in self.tenants {
            let needed = left.min(*needed);
            left -= needed;
            needs.insert(tenant.as_str(), needed);
        }
        if left > 0 {
            needs.insert(UNNAMED, left);
        }
        needs
    }

    /// The units that a gateway would like to have in addition, if it is a busy one or an idle one.
    fn extra(&self, of_busy: bool) -> u32 {
        match (self.needed > 0) == of_busy {
            true => self.wanted.saturating_sub(self.needed),
            false => 0,
        }
    }
}

/// Divides units so that nobody gets more than its demand, and nobody gets more than another one
/// whose demand is not met, but for a single unit that does not divide. Those from place `first` on
/// get that, so that it does not move while demands change.
fn max_min(units: u32, demands: &[u32], first: usize) -> Vec<u32> {
    let mut sorted = demands.to_vec();
    sorted.sort_unstable();
    let (mut left, mut level) = (units, 0);
    for (place, demand) in sorted.iter().enumerate() {
        let others = u32::try_from(sorted.len() - place).unwrap_or(u32::MAX);
        level = (*demand).min(left / others);
        left -= level;
        if level < *demand {
            // All that follow get the same, and what does not divide is left.
            left -= level * (others - 1);
            break;
        }
    }
    let mut shares: Vec<u32> = demands.iter().map(|demand| level.min(*demand)).collect();
    let places = shares.len().max(1);
    let (before, after) = shares.split_at_mut(first % places);
    let (demands_before, demands_after) = demands.split_at(first % places);
    let in_turn = after.iter_mut().zip(demands_after).chain(before.iter_mut().zip(demands_before));
    for (share, demand) in in_turn {
        let extra = u32::from(demand > share && left > 0);
        left -= extra;
        *share += extra;
    }
    shares
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn targets(budget: u32, demands: &[Demand<'_>]) -> Vec<u32> {
        divide(budget, demands, 0).iter().map(|part| part.target).collect()
    }

    fn demand(needed: u32, wanted: u32) -> Demand<'static> {
        Demand { needed, wanted, tenants: &[] }
    }

    #[test]
    fn small_demands_are_met_and_large_ones_share_the_rest() {
        assert_eq!(max_min(100, &[10, 90, 90], 0), [10, 45, 45]);
        assert_eq!(max_min(100, &[10, 20, 30], 0), [10, 20, 30]);
        assert_eq!(max_min(1, &[5, 5, 5], 0), [1, 0, 0]);
        assert_eq!(max_min(2, &[5, 5, 5], 5), [1, 0, 1], "the place of the first one changes");
        assert_eq!(max_min(5, &[], 3), Vec::<u32>::new());
    }

    #[test]
    fn gateways_without_calls_hold_a_small_part_and_nothing_while_others_need_it() {
        let (idle, busy) = (demand(0, 50), |needed| demand(needed, needed));
        assert_eq!(targets(100, &[idle, idle]), [3, 2]);
        assert_eq!(targets(100, &[busy(40), idle]), [40, 5]);
        // Gateways that name no tenant have the same one.
        assert_eq!(targets(100, &[busy(200), idle]), [100, 0]);
        assert_eq!(targets(100, &[demand(40, 500), busy(20)]), [80, 20]);
    }

    #[test]
    fn tenants_share_what_all_gateways_have() {
        let named = |tenants: &[(&str, u32)]| -> Vec<(String, u32)> {
            tenants.iter().map(|(name, needed)| ((*name).to_owned(), *needed)).collect()
        };
        let (both, first_alone) = (named(&[("a", 300), ("b", 300)]), named(&[("a", 300)]));
        let demands = [
            Demand { needed: 600, wanted: 600, tenants: &both },
            Demand { needed: 300, wanted: 300, tenants: &first_alone },
        ];
        let parts = divide(300, &demands, 0);
        assert_eq!(parts[0], Part { target: 225, tenants: BTreeMap::from([("a", 75), ("b", 150)]) });
        assert_eq!(parts[1], Part { target: 75, tenants: BTreeMap::from([("a", 75)]) });
    }

    fn tenants() -> impl Strategy<Value = Vec<(String, u32)>> {
        let tenants = prop::collection::btree_map("[a-e]", 0..100_000_u32, 0..5);
        tenants.prop_map(|tenants| tenants.into_iter().collect())
    }

    proptest! {
        #[test]
        fn no_unit_is_given_twice_and_none_is_kept_from_a_demand(
            budget in 1..1_000_000_u32,
            demands in prop::collection::vec((0..300_000_u32, 0..1_000_000_u32, tenants()), 0..12),
            turn in 0..20_usize,
        ) {
            let demands: Vec<Demand> = demands
                .iter()
                .map(|(needed, more, tenants)| Demand { needed: *needed, wanted: needed + more, tenants })
                .collect();
            let parts = divide(budget, &demands, turn);
            let sum: u64 = parts.iter().map(|part| u64::from(part.target)).sum();
            prop_assert!(sum <= u64::from(budget));
            let needed: u64 = demands.iter().map(|demand| u64::from(demand.needed)).sum();
            if needed <= u64::from(budget) {
                prop_assert!(parts.iter().zip(&demands).all(|(part, demand)| part.target >= demand.needed));
                return Ok(());
            }
            prop_assert_eq!(sum, u64::from(budget));
            let (mut has, mut needs) = (BTreeMap::<&str, u64>::new(), BTreeMap::<&str, u64>::new());
            for (part, demand) in parts.iter().zip(&demands) {
                prop_assert!(part.target <= demand.needed);
                let named: u32 = part.tenants.values().sum();
                *has.entry(UNNAMED).or_default() += u64::from(part.target - named);
                for (tenant, units) in &part.tenants {
                    *has.entry(tenant).or_default() += u64::from(*units);
                }
                for (tenant, units) in demand.of_tenants() {
                    *needs.entry(tenant).or_default() += u64::from(units);
                }
            }
            for (tenant, units) in &has {
                let is_unmet = *units < needs.get(tenant).copied().unwrap_or_default();
                prop_assert!(!is_unmet || has.values().all(|other| *other <= units + 1));
            }
        }
    }
}
