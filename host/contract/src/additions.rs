//! What `describe` declares in addition to the manifest.

use crate::{AuthAdditions, UpstreamAdditions};

/// What `describe` declares in addition to the manifest, which is a record and cannot grow in a
/// minor version of the contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    /// About the ways in which accounts get access tokens.
    pub auth: AuthAdditions,
    /// About upstreams.
    pub upstreams: UpstreamAdditions,
}
