//! From starting the binary to its first answer that it is ready, with every connector of the product.

use std::fs;

use crate::gateway::{self, Home};
use crate::table::{Figure, Goal, Unit, median};
use crate::{Outcome, Settings};

const WARM_GOAL: f64 = 0.3;

/// Measures the section.
pub(crate) async fn measure(settings: &Settings) -> Outcome<Vec<Figure>> {
    let home = Home::new(gateway::NOWHERE)?;
    let (mut cold, mut warm) = (Vec::new(), Vec::new());
    for _ in 0..settings.pick(3, 1) {
        fs::remove_dir_all(home.data())?;
        fs::create_dir(home.data())?;
        cold.push(home.start().await?.ready_after.as_secs_f64());
        for _ in 0..3 {
            warm.push(home.start().await?.ready_after.as_secs_f64());
        }
    }
    let connectors = home.connectors()?;
    Ok(vec![
        Figure::new(format!("start-up, {connectors} connectors, warm cache"), Unit::Seconds, median(warm))
            .goal(Goal::AtMost(WARM_GOAL)),
        Figure::new(format!("start-up, {connectors} connectors, every one compiled"), Unit::Seconds, median(cold)),
    ])
}
