//! Arguments that a model writes as a text of JSON: `"{\"a\": 1}"` in place of `{"a": 1}`.

use serde_json::value::RawValue;

/// The object or the list that a text holds, as JSON text. `None` for any other value.
pub fn decoded(raw: &RawValue) -> Option<Box<RawValue>> {
    // Long texts that hold something else are not copied.
    let inside = raw.get().strip_prefix('"')?.trim_start();
    if !inside.starts_with(['{', '[', '\\']) {
        return None;
    }
    let text: String = serde_json::from_str(raw.get()).ok()?;
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    RawValue::from_string(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_an_object_or_a_list_is_decoded() {
        let decode = |text: &str| {
            let raw: &RawValue = serde_json::from_str(text).expect("JSON");
            decoded(raw).map(|decoded| decoded.get().to_owned())
        };
        assert_eq!(decode(r#""{\"a\":1.0}""#).as_deref(), Some(r#"{"a":1.0}"#));
        assert_eq!(decode(r#""\n\u007b}""#).as_deref().map(str::trim), Some("{}"));
        assert_eq!(decode(r#"" [1]""#).as_deref().map(str::trim), Some("[1]"));
        for other in [r#"{"a":1}"#, r#""{a}""#, r#""7""#, r#""a [1]""#, "7", "null"] {
            assert_eq!(decode(other), None, "{other}");
        }
    }
}
