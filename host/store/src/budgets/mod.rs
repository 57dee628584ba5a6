//! Budgets: the rate limits of connectors, which gateways share. Each gateway holds units of a
//! budget, and each unit allows one call in a period.

mod fair;
mod queries;
#[cfg(test)]
mod tests;
mod types;

pub use self::queries::PERIODS_OF_TURN;
pub use self::types::{Budget, Exchange, Share, ShareReport, Silence};
