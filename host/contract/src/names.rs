//! The names by which callers and operators know parts of a manifest.

use super::{AuthScheme, Effect};

impl Effect {
    /// Its name in answers and in the description of the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destructive => "destructive",
        }
    }
}

impl AuthScheme {
    /// The name of its kind in answers and in the description of the API.
    pub fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Oauth2(_) => "oauth2",
            Self::ApiKey(_) => "api_key",
        }
    }
}
