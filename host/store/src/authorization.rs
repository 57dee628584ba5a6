//! An authorization under way: the user was sent to the provider and has not come back.

use std::time::SystemTime;

use super::{Holder, Sealed};

/// SHA-256 of a `state` parameter.
pub type StateHash = [u8; 32];

/// What the callback needs to know of the request that began the authorization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorization {
    /// SHA-256 of the `state` parameter, which itself is kept nowhere.
    pub hash: StateHash,
    /// Who began it, and for which connector.
    pub holder: Holder,
    /// What the integration is to be called, if the caller said.
    pub user_identifier: Option<String>,
    /// Where the user is sent to in the end.
    pub callback_url: String,
    /// Where the provider sends the user, exactly as it was told.
    pub redirect_uri: String,
    /// The PKCE verifier, sealed with [`Holder::verifier_context`].
    pub verifier: Option<Sealed>,
    /// When it is too late to come back.
    pub expires_at: SystemTime,
}

/// What was found for a `state`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// An authorization that nobody has completed yet; from now on it counts as used.
    Fresh(Box<Authorization>),
    /// One that was completed before.
    Used,
    /// One whose time is over.
    Expired,
    /// Nothing: it was never given out, or a long time ago.
    Unknown,
}
