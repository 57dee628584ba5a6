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
    /// The requests of operations.
    pub rows: Vec<DeclaredRow>,
}

/// The request of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredRow {
    /// The name of the operation.
    pub operation: String,
    /// The request.
    pub row: Declaration,
    /// Its use.
    pub purpose: Purpose,
}

/// The use of the request of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The operation is the request. The connector is not invoked.
    Sent,
    /// The connector is invoked, and asks for the request.
    Made,
}
