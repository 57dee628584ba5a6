//! The gateways that share the database: their signs of life, and what each of them serves. The
//! clock of the database decides which of them are away.

mod queries;
#[cfg(test)]
mod tests;
mod types;

pub use self::queries::new_gateway_id;
pub use self::types::{ConnectorAtGateway, GatewayBeat, GatewayRow};
