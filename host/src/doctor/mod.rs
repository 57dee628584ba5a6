//! Checks of a gateway, which say what is wrong with it and what to do. The command `doctor` and
//! `GET /admin/doctor` use them.
//!
//! No finding contains a secret: addresses are named by their hosts, and keys by their ids.
//!
//! - [`report`]: the findings
//! - [`machine`]: descriptors, memory, folders and their modes
//! - [`database`]: the database, its clock, the master key, the API keys, and the other gateways
//! - [`connectors`]: the connectors, their OAuth clients, and the hosts that they call

mod connectors;
mod database;
mod machine;
mod report;

pub use self::connectors::examine as examine_connectors;
pub use self::database::{Examined, examine as examine_database, examine_gateways};
pub use self::machine::examine as examine_machine;
pub use self::report::{Finding, Level, Report};
