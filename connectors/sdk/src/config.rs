//! The operator's settings for this connector (`[connectors.<identifier>] settings = { … }`).

use serde::de::DeserializeOwned;

use crate::input::FromJson;
use crate::{Fault, host};

/// A setting, none when it is not set.
///
/// # Errors
/// [`Fault::Failed`] when it is set to something else than `T`; the text tells the operator which setting it is.
pub fn get<T: DeserializeOwned>(name: &str) -> Result<Option<T>, Fault> {
    let Some(json) = host::config::get(name) else { return Ok(None) };
    serde_json::from_str(&json).map_err(|error| misfit(name, &json, &error.to_string()))
}

/// A setting that is text, or its default. Rows read theirs with it, so it does without a JSON parser's weight.
///
/// # Errors
/// As [`get`].
pub fn text(name: &str, default: &str) -> Result<String, Fault> {
    let Some(json) = host::config::get(name) else { return Ok(default.to_owned()) };
    String::from_json(&json).ok_or_else(|| misfit(name, &json, "give a string"))
}

fn misfit(name: &str, json: &str, why: &str) -> Fault {
    Fault::Failed(format!("The setting `{name}` of this connector is {json}, which does not fit: {why}."))
}

#[cfg(test)]
mod tests {
    use super::text;
    use crate::Fault;
    use crate::testing::Gateway;

    #[test]
    fn text_is_the_setting_or_its_default() {
        let gateway = Gateway::new();
        assert!(matches!(text("place", "here"), Ok(value) if value == "here"));
        let _gateway = gateway.setting("place", r#""th\u00e9re""#);
        assert!(matches!(text("place", "here"), Ok(value) if value == "thére"));
    }

    #[test]
    fn a_setting_of_another_type_is_told_by_its_name() {
        let _gateway = Gateway::new().setting("place", "[1]");
        assert!(matches!(text("place", ""), Err(Fault::Failed(why)) if why.contains("`place`") && why.contains("[1]")));
    }
}
