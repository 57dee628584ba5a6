//! The declarations that `describe` makes in addition to the manifest.

use rows::Declaration;

use crate::{AuthAdditions, UpstreamAdditions};

/// The declarations that `describe` makes. The manifest is a record, which cannot grow in a
/// minor version of the contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    /// About the ways in which accounts get access tokens.
    pub auth: AuthAdditions,
    /// About upstreams.
    pub upstreams: UpstreamAdditions,
    /// The operations that are one request.
    pub rows: Vec<DeclaredRow>,
}

/// An operation that is one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredRow {
    /// The name of the operation.
    pub operation: String,
    /// Its request.
    pub row: Declaration,
}
