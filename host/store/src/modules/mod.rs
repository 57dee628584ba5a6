//! The modules of the service, and the generation of each connector.
//!
//! The row of a connector in `live_modules` says which module the service serves. Its generation
//! grows with each change and outlives the connector, so that no gateway ever goes back to an older
//! state by accident. A change, its entry in the history and its grants are one transaction.

mod queries;
#[cfg(test)]
mod tests;
mod types;

pub use self::types::{GrantStep, LiveModule, ModuleChange, ModuleCondition, ModuleOutcome, NewModule, StoredModule};
