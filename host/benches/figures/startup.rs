//! Time from the start of the binary to its first answer that it is ready, with every connector of
//! the product.

use crate::gateway;
use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit, median};

const WARM_GOAL: f64 = 0.3;

/// Measures the section.
pub(crate) fn measure(settings: &Settings) -> Outcome<Vec<Figure>> {
    let (mut cold, mut warm) = (Vec::new(), Vec::new());
    for _ in 0..settings.pick(3, 1) {
        // A new gateway has an empty cache and compiles every module.
        let mut gateway = gateway::start(gateway::NOWHERE)?;
        cold.push(gateway.ready_after().as_secs_f64());
        for _ in 0..3 {
            gateway = gateway.start_again();
            warm.push(gateway.ready_after().as_secs_f64());
        }
    }
    let connectors = gateway::connectors();
    Ok(vec![
        Figure::new(format!("start-up, {connectors} connectors, warm cache"), Unit::Seconds, median(warm))
            .goal(Goal::AtMost(WARM_GOAL)),
        Figure::new(format!("start-up, {connectors} connectors, every one compiled"), Unit::Seconds, median(cold)),
    ])
}
