//! A request to connect an account, and the members that not every way has.

use serde_json::{Value, json};

use crate::{AccountSecret, Destination};
use registry::{Connector, RefusedPart};
use store::{Account, AccountAddress, Holder, KeyId, Labels};

/// A request to connect an account.
pub struct ConnectRequest {
    /// The user, and the connector.
    pub holder: Holder,
    /// The name of the integration. `None` for the name of the account at the service.
    pub user_identifier: Option<String>,
    /// `true` if the user of an authorization may replace the account behind the identifier by
    /// another one.
    pub replaces: bool,
    /// `true` if the grant of an authorization is used only after the caller has confirmed it.
    pub confirms: bool,
    /// The labels of the integration. `None` keeps the labels of an integration that is overwritten.
    pub labels: Option<Labels>,
    /// The parts of the account's address that the user gave, which the connector accepts.
    pub address: AccountAddress,
    /// The application's page that the user comes back to from the provider. `None` if the page of
    /// a link is that page, or if the user is not sent away.
    pub destination: Option<Destination>,
    /// The id of the link on whose page the user connects the account. `None` if the application
    /// does. Only the browser that has the link completes an authorization.
    pub connect_link: Option<String>,
    /// The API key of the caller. `None` for a JWT or a link.
    pub key_id: Option<KeyId>,
}

impl ConnectRequest {
    /// A request for an account at this address, without options.
    ///
    /// # Errors
    /// If the connector refuses a part of the address.
    pub fn new(connector: &Connector, holder: Holder, address: AccountAddress) -> Result<Self, RefusedPart> {
        connector.check_address_of_user(&address)?;
        Ok(Self {
            holder,
            user_identifier: None,
            replaces: false,
            confirms: false,
            labels: None,
            address,
            destination: None,
            connect_link: None,
            key_id: None,
        })
    }
}

/// The secret of an account, and the account if its credentials name it.
pub type Obtained = (AccountSecret, Option<Account>);

/// A member of a request that not every way has.
pub(crate) struct Member {
    pub(crate) name: &'static str,
    pub(crate) schema: Value,
    pub(crate) is_required: bool,
}

/// The member by which an authorization may replace an account.
pub(super) fn replace() -> Member {
    let description = "true if another account may replace the one that is connected under `user_identifier`.";
    Member {
        name: "replace",
        schema: json!({"type": ["boolean", "null"], "description": description}),
        is_required: false,
    }
}
