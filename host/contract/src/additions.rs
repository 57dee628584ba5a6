//! What `describe` declares in addition to the manifest.

use crate::UpstreamAdditions;

/// What `describe` declares in addition to the manifest, which is a record and cannot grow in a
/// minor version of the contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    /// About upstreams.
    pub upstreams: UpstreamAdditions,
}
