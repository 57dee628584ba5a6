//! How a budget is divided among the gateways that need it.

/// Part of a budget that gateways without calls may hold, so that their first calls need not wait:
/// one of so many units.
const IDLE_PART: u32 = 20;

/// What one gateway asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    /// The units that it needs now.
    pub(super) needed: u32,
    /// The units that it would like to have. At least what it needs.
    pub(super) wanted: u32,
}

/// The units that each gateway should have. Their sum is at most the budget.
///
/// What gateways need comes first: nobody gets more of it while another one that needs it has less
/// (max-min fairness). The rest is for what they would like to have.
pub(super) fn targets(budget: u32, demands: &[Demand]) -> Vec<u32> {
    let extra = |of_busy: bool| -> Vec<u32> {
        let extra = |demand: &Demand| match (demand.needed > 0) == of_busy {
            true => demand.wanted.saturating_sub(demand.needed),
            false => 0,
        };
        demands.iter().map(extra).collect()
    };
    let mut targets = vec![0; demands.len()];
    let mut add = |most: Option<u32>, demands: Vec<u32>| {
        let left = budget - targets.iter().sum::<u32>();
        let shares = max_min(most.map_or(left, |most| most.min(left)), &demands);
        targets.iter_mut().zip(shares).for_each(|(target, share)| *target += share);
    };
    add(None, demands.iter().map(|demand| demand.needed).collect());
    add(None, extra(true));
    add(Some(budget / IDLE_PART), extra(false));
    targets
}

/// Divides units so that nobody gets more than its demand, and nobody gets more than another one
/// whose demand is not met, but for a single unit that does not divide. The first ones get that, so
/// that it does not move while demands change.
fn max_min(units: u32, demands: &[u32]) -> Vec<u32> {
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
    let share = |demand: &u32| {
        let extra = u32::from(*demand > level && left > 0);
        left -= extra;
        level.min(*demand) + extra
    };
    demands.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_demands_are_met_and_large_ones_share_the_rest() {
        assert_eq!(max_min(100, &[10, 90, 90]), [10, 45, 45]);
        assert_eq!(max_min(100, &[10, 20, 30]), [10, 20, 30]);
        assert_eq!(max_min(1, &[5, 5, 5]), [1, 0, 0]);
        assert_eq!(max_min(5, &[]), Vec::<u32>::new());
    }

    #[test]
    fn gateways_without_calls_hold_a_small_part_and_nothing_while_others_need_it() {
        let idle = Demand { needed: 0, wanted: 50 };
        let busy = |needed| Demand { needed, wanted: needed };
        assert_eq!(targets(100, &[idle, idle]), [3, 2]);
        assert_eq!(targets(100, &[busy(40), idle]), [40, 5]);
        assert_eq!(targets(100, &[busy(200), idle]), [100, 0]);
        assert_eq!(targets(100, &[Demand { needed: 40, wanted: 500 }, busy(20)]), [80, 20]);
    }

    proptest! {
        #[test]
        fn no_unit_is_given_twice_and_none_is_kept_from_a_demand(
            budget in 1..1_000_000_u32,
            demands in prop::collection::vec((0..1_000_000_u32, 0..1_000_000_u32), 0..12),
        ) {
            let demands: Vec<Demand> =
                demands.into_iter().map(|(needed, more)| Demand { needed, wanted: needed.saturating_add(more) }).collect();
            let targets = targets(budget, &demands);
            let sum: u64 = targets.iter().map(|&target| u64::from(target)).sum();
            prop_assert!(sum <= u64::from(budget));
            let needed: u64 = demands.iter().map(|demand| u64::from(demand.needed)).sum();
            if needed <= u64::from(budget) {
                prop_assert!(targets.iter().zip(&demands).all(|(target, demand)| *target >= demand.needed));
            } else {
                prop_assert_eq!(sum, u64::from(budget));
                for (target, demand) in targets.iter().zip(&demands) {
                    prop_assert!(*target <= demand.needed);
                    let unmet = *target < demand.needed;
                    prop_assert!(!unmet || targets.iter().all(|other| *other <= target + 1));
                }
            }
        }
    }
}
