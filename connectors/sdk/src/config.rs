//! The operator's settings for this connector (`[connectors.<identifier>] settings = { … }`).

use serde::de::DeserializeOwned;

use crate::{Fault, host};

/// A setting, none when it is not set.
///
/// # Errors
/// [`Fault::Failed`] when it is set to something else than `T`; the text tells the operator which setting it is.
pub fn get<T: DeserializeOwned>(name: &str) -> Result<Option<T>, Fault> {
    let Some(json) = host::config::get(name) else { return Ok(None) };
    serde_json::from_str(&json).map_err(|error| {
        Fault::Failed(format!("The setting `{name}` of this connector is {json}, which does not fit: {error}."))
    })
}

/// A setting that is text, or its default.
///
/// # Errors
/// As [`get`].
pub fn text(name: &str, default: &str) -> Result<String, Fault> {
    Ok(get(name)?.unwrap_or_else(|| default.to_owned()))
}
