//! The record that the gateway keeps of a connector, so that the next start makes the same version
//! live.

use super::Connector;
use super::origin::Origin;

/// The durable part of a connector. [`Folders::keep`](super::folders::Folders::keep) writes it to
/// the folders of modules, and [`Versions::store`](super::versions::Versions::store) to the
/// versions for a rollback.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) identifier: &'a str,
    pub(super) origin: Origin,
    /// SHA-256 of the module in hexadecimal digits. The acceptance of the operator is for this
    /// digest.
    pub(super) digest: &'a str,
    pub(super) module: &'a [u8],
    /// The text of the module's signature.
    pub(super) signature: Option<&'a str>,
}

impl<'a> Record<'a> {
    /// The record of a connector that was made of `module`.
    pub(super) fn for_connector(connector: &'a Connector, module: &'a [u8]) -> Self {
        Self {
            identifier: connector.name(),
            origin: connector.origin(),
            digest: connector.digest(),
            module,
            signature: connector.signed().map(|signed| signed.signature.as_str()),
        }
    }
}
