//! An agent session, as it is stored. The store has only the SHA-256 of its token.

use std::time::{Duration, SystemTime};

use crate::keys::{KeyHash, KeyId};
use crate::records::record;

/// An agent session to add.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "see `AgentSession`")]
pub struct NewAgentSession {
    pub id: KeyId,
    /// SHA-256 of its token.
    pub hash: KeyHash,
    pub tenant: String,
    pub subject: Option<String>,
    pub account: Option<String>,
    pub set: Option<String>,
    pub scopes: String,
    pub allow: Option<String>,
    pub effects: Option<String>,
    pub confirm: bool,
    /// The API key that makes it. `None` for a JWT.
    pub maker: Option<KeyId>,
    /// Time after which it ends. It ends earlier if its key does.
    pub lifetime: Duration,
    /// The end of the JWT that makes it. It ends no later.
    pub ends_by: Option<SystemTime>,
}

record! {
    /// An agent session. It has the rights that its maker had when it was made, or fewer.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct AgentSession {
        /// Stands in records and in the audit where a caller with a key has the key's id.
        pub id: KeyId,
        /// The tenant of its maker.
        pub tenant: String,
        /// The one user that it acts for. `None` for the tenant itself.
        pub subject: Option<String>,
        /// The one account that its calls use. `None` if calls choose it.
        pub account: Option<String>,
        /// The tool set whose address it is for. `None` for the address of all tools.
        pub set: Option<String>,
        /// Names of scopes, as in [`crate::ApiKey::scopes`].
        pub scopes: String,
        /// As [`crate::ApiKey::allow`].
        pub allow: Option<String>,
        /// As [`crate::ApiKey::effects`].
        pub effects: Option<String>,
        /// As [`crate::ApiKey::confirm`].
        pub confirm: bool,
        /// Time from which it is refused.
        pub expires_at: SystemTime,
    }
}
