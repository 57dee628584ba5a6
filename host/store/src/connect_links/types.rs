//! A link to the page on which an end user connects accounts.

use std::time::{Duration, SystemTime};

use crate::integrations::read_optional_labels;
use crate::records::{named, record};
use crate::{Holder, KeyId, Labels};

/// SHA-256 of the secret part of a link, or of the secret of a browser.
pub type LinkHash = [u8; 32];

/// A link to add.
#[derive(Clone, Debug)]
pub struct NewConnectLink {
    /// The primary key.
    pub id: String,
    /// SHA-256 of the secret part of the URL, which is not stored.
    pub hash: LinkHash,
    /// The tenant of the accounts.
    pub tenant: String,
    /// The user. Empty if the accounts belong to the tenant itself.
    pub subject: String,
    /// The connectors, in the order of the page.
    pub connectors: Vec<String>,
    /// The name of the integrations. `None` for the names of the accounts at the services.
    pub user_identifier: Option<String>,
    /// The application's page that the user is sent to in the end.
    pub callback_url: Option<String>,
    /// The labels of the integrations.
    pub labels: Option<Labels>,
    /// The API key that makes the link. `None` for a JWT.
    pub key_id: Option<KeyId>,
    /// Time for which the link can be used.
    pub lifetime: Duration,
}

record! {
    row =>
    /// A link.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[expect(missing_docs, reason = "see `NewConnectLink`")]
    pub struct ConnectLink {
        pub id: String,
        pub hash: LinkHash,
        pub tenant: String,
        pub subject: String,
        pub connectors: Vec<String> = row.read::<String>()?.split(' ').map(str::to_owned).collect(),
        pub user_identifier: Option<String>,
        pub callback_url: Option<String>,
        pub labels: Option<Labels> = read_optional_labels(row)?,
        pub key_id: Option<KeyId>,
        /// Time from which the link cannot be used.
        pub expires_at: SystemTime,
        /// SHA-256 of the secret of the browser that has the link. `None` until a browser has sent the
        /// form of the page.
        pub browser: Option<LinkHash>,
        /// `None` if the link was not ended.
        pub end: Option<LinkEnd>,
        /// `true` from `expires_at` on, by the clock of the database.
        pub has_expired: bool,
        /// The integrations that were connected by this link: connector and user identifier.
        pub accounts: Vec<(String, String)> = Vec::new(),
    }
}

impl ConnectLink {
    /// The holder of the user's integrations of a connector.
    pub fn holder(&self, connector: &str) -> Holder {
        Holder { tenant: self.tenant.clone(), subject: self.subject.clone(), connector: connector.to_owned() }
    }

    /// The integration of a connector that was connected by this link.
    pub fn account(&self, connector: &str) -> Option<&str> {
        self.accounts.iter().find(|(known, _)| known == connector).map(|(_, name)| name.as_str())
    }
}

/// The links that a list shows.
#[derive(Clone, Debug, Default)]
pub struct ConnectLinkFilter {
    /// Only links of this tenant.
    pub tenant: Option<String>,
    /// Only links of this user. Empty for those without a user.
    pub subject: Option<String>,
    /// Only links after this place in the list: the time of expiry and the id of a link.
    pub before: Option<(SystemTime, String)>,
    /// Maximum number of links.
    pub limit: u32,
}

named! {
    /// How a link was ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LinkEnd {
        /// The user has finished.
        Done = "done",
        /// The application has deleted it, or the key that made it was revoked.
        Deleted = "deleted",
    }
}
