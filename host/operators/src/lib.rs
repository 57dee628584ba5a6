//! The door of operators: their routes, and the console.
//!
//! - [`admin`]: changes of connectors, and the lists of all tenants
//! - [`console`]: the console of operators: its sessions, and its files
//! - `spool`: an answer that is written faster than its caller reads it

#![expect(unreachable_pub, reason = "in a private module, `pub` marks what the crate's other modules may use")]

pub mod admin;
pub mod console;
mod spool;

/// The lists of the operator, for commands.
pub mod operator_lists {
    pub use crate::admin::{
        AnyConnectLinks, AnyIntegrations, AnyJobs, AnyTriggers, AnyWebhooks, Audit, Calls, HookRequests, Usage,
        problem_names,
    };
}
