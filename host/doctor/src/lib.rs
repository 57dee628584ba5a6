//! Checks of a gateway, which say what is wrong with it and what to do. The command `doctor` and
//! `GET /admin/doctor` use them.
//!
//! No finding contains a secret: addresses are named by their hosts, and keys by their ids.
//!
//! - [`report`]: the findings
//! - [`machine`]: descriptors, memory, folders and their modes, the space on the disk
//! - [`certificates`]: the certificates that the gateway presents
//! - [`database`]: the database, its clock, the master key, the API keys, and the other gateways
//! - [`connectors`]: the connectors, the OAuth clients that they lack, and the hosts that they call
//! - [`refused_clients`]: the OAuth clients that providers refuse
//! - [`notifications`]: the URL under which services notify the gateway of events
//! - [`operator_events`]: the webhooks that notify the operator of changes

mod certificates;
mod connectors;
mod database;
pub mod exposure;
mod machine;
mod notifications;
mod operator_events;
mod refused_clients;
mod report;

use std::time::Duration;

pub use self::certificates::examine as examine_certificates;
pub use self::connectors::examine as examine_connectors;
pub use self::database::{Examined, examine as examine_database, examine_gateways};
pub use self::machine::examine as examine_machine;
pub use self::report::{Finding, Level, Report};

/// A key or a certificate that expires within this time is a problem, because someone has to
/// replace it in time.
const SOON: Duration = Duration::from_secs(14 * 86_400);

/// A text with a capital letter at its begin, as an action has.
fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}
