//! The declarations that `describe` makes in addition to the manifest.

use crate::{AuthAdditions, UpstreamAdditions};

/// The declarations that `describe` makes. The manifest is a record, which cannot grow in a
/// minor version of the contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    /// About the ways in which accounts get access tokens.
    pub auth: AuthAdditions,
    /// About upstreams.
    pub upstreams: UpstreamAdditions,
}
