//! The operator's settings for this connector (`settings` in the section `connectors.<identifier>`
//! of the configuration).
//!
//! A table declares each setting. `connector!` makes a module `settings` with a function for each,
//! which calls [`get`] or [`find`].
//!
//! ```
//! # mod archive {
//! # use connector_sdk::{Fault, Outcome};
//! connector_sdk::connector! {
//!     connector archive "Archive";
//!     auth Auth::None;
//!     upstream api "https://api.archive.example";
//!
//!     /// Largest file that callers may download, in megabytes.
//!     setting max_download_mb: integer(1..=200) default 50;
//!     /// Address that the connector sends in `From`.
//!     setting contact: string;
//!
//!     /// The limit
//!     limit: read fn limit;
//! }
//!
//! fn limit() -> Result<Outcome, Fault> {
//!     let megabytes: i64 = settings::max_download_mb()?;
//!     let contact: Option<String> = settings::contact()?;
//!     Outcome::json(&(megabytes, contact))
//! }
//! # }
//! # let _gateway = connector_sdk::testing::Gateway::new().setting("max_download_mb", "7");
//! # let Ok(connector_sdk::Outcome::Reply(text)) = connector_sdk::testing::invoke(&archive::CONNECTOR, "limit", "{}") else { panic!() };
//! # assert_eq!(text, "[7,null]");
//! ```

use std::borrow::Cow;

use crate::input::FromJson;
use crate::{Fault, host};

/// The value of a setting, or `default`, which is JSON text.
///
/// # Errors
/// [`Fault::Failed`] if the value is not a `T`.
pub fn get<T: FromJson>(name: &str, default: &str) -> Result<T, Fault> {
    read(name, host::config::get(name).as_deref().unwrap_or(default))
}

/// The value of a setting that has no default. `None` if the operator has not set it.
///
/// # Errors
/// See [`get`].
pub fn find<T: FromJson>(name: &str) -> Result<Option<T>, Fault> {
    host::config::get(name).map(|json| read(name, &json)).transpose()
}

/// The settings as the gateway has them, for rows.
pub(crate) struct OfGateway;

impl rows::Settings for OfGateway {
    fn get(&self, name: &str) -> Option<Cow<'_, str>> {
        host::config::get(name).map(Cow::Owned)
    }
}

fn read<T: FromJson>(name: &str, json: &str) -> Result<T, Fault> {
    T::from_json(json).ok_or_else(|| Fault::Failed(rows::misfit(name, json)))
}
