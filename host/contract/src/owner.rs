//! The party that can fix a problem.

use serde::{Deserialize, Serialize};

/// The party that can fix a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// The program that called, by waiting or by another request.
    Caller,
    /// The person for whom it called, for example by authorizing again.
    User,
    /// The person who runs the gateway, by changing the configuration.
    Operator,
    /// The connector's author.
    Connector,
    /// The provider or the upstream. The gateway can only try again.
    Provider,
}

impl Owner {
    /// Every owner.
    pub const ALL: [Self; 5] = [Self::Caller, Self::User, Self::Operator, Self::Connector, Self::Provider];

    /// The name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::User => "user",
            Self::Operator => "operator",
            Self::Connector => "connector",
            Self::Provider => "provider",
        }
    }
}
