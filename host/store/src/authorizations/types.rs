//! An OAuth authorization in progress: the user was sent to the provider and has not come back yet.

use std::time::Duration;

use crate::integrations::{read_address, read_optional_labels, read_sealed};
use crate::records::record;
use crate::{AccountAddress, DatabaseTime, Holder, KeyId, Labels, Sealed};

/// SHA-256 of a `state` parameter.
pub type StateHash = [u8; 32];

record! {
    row =>
    /// The facts that the callback needs about the request that began the authorization.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Authorization {
        /// SHA-256 of the `state` parameter. The parameter itself is not stored, so that a reader of
        /// the database cannot complete the authorization.
        pub hash: StateHash,
        /// The holder that the integration will belong to.
        pub holder: Holder,
        /// The name that the caller chose for the integration, if any.
        pub user_identifier: Option<String>,
        /// `true` if another account may replace the one behind the user identifier.
        pub replaces: bool,
        /// `true` if the grant is used only after the caller has confirmed it.
        pub confirms: bool,
        /// The application's URL, to which the gateway finally sends the user. Empty if a link began the
        /// authorization.
        pub callback_url: String,
        /// The gateway's URL, to which the provider sends the user. The token request must repeat it
        /// exactly. Empty for a device code.
        pub redirect_uri: String,
        /// The PKCE verifier, or the device code, sealed with [`Holder::verifier_context`]. `None` if the
        /// provider does not use PKCE.
        pub verifier: Option<Sealed> = read_sealed(row)?,
        /// The time from which the authorization can no longer be completed.
        pub expires_at: DatabaseTime,
        /// The labels that the caller gave for the integration, if any.
        pub labels: Option<Labels> = read_optional_labels(row)?,
        /// The id of the tenant's OAuth client that the provider knows. `None` for the client of the
        /// configuration.
        pub oauth_client: Option<String>,
        /// The id of the link whose page began the authorization. `None` if the application did.
        pub connect_link: Option<String>,
        /// The parts of the account's address that the caller gave.
        pub address: AccountAddress = read_address(row)?,
        /// The API key that began the authorization. `None` for a JWT, and for a link, which has its
        /// maker's.
        pub key_id: Option<KeyId>,
    }
}

/// The result of taking the authorization of a `state` parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakenAuthorization {
    /// An authorization that was not taken before. It counts as used from now on.
    Fresh(Box<Authorization>),
    /// The authorization is for another connector. It can still be taken for that one.
    OtherConnector,
    /// The authorization was taken before.
    Used,
    /// The authorization has expired. It also expires when its key is revoked, and when its link is
    /// deleted or finished.
    Expired,
    /// There is no such authorization. It never existed, or it was deleted a day after it expired.
    Unknown,
}

/// A request to the provider about an authorization by a device code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DevicePoll {
    /// The authorization. Its verifier is the device code.
    pub authorization: Authorization,
    /// The time between two requests.
    pub interval: Duration,
    /// The number of the request.
    pub number: i64,
}

/// The progress of an authorization by a device code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceProgress {
    /// The user has not decided yet.
    Pending,
    /// The account is connected.
    Connected {
        /// The integration's identifier.
        user_identifier: String,
    },
    /// No account is connected, for the reason with this code.
    Failed(String),
    /// The gateway ended after the provider had given the tokens and before the account was stored.
    Lost,
}
