//! Messages that are not drafts.
//!
//! Microsoft Graph makes a draft of each message that it creates, unless the message has flags that
//! prevent it. The flags are the MAPI property `PidTagMessageFlags`, which Graph takes as an
//! extended property.

use connector_sdk::http::{self, Body};
use connector_sdk::input::FromJson;
use connector_sdk::json::{items, members, with_member};
use connector_sdk::{Fault, Outcome, Request, log};

/// The member of a message that has the extended properties.
const PROPERTIES: &str = "singleValueExtendedProperties";

/// Id of the flags.
const FLAGS: &str = "Integer 0x0E07";

/// The flag `mfRead` without `mfUnsent`, so that the message is not a draft.
const NOT_A_DRAFT: &str = r#"{"id":"Integer 0x0E07","value":"1"}"#;

/// Creates a message with the flags of a received one. Returns the created message.
///
/// # Errors
/// Microsoft's own refusal.
pub(crate) fn create(mut request: Request) -> Result<Outcome, Fault> {
    if let Some(Body::Json(message)) = &mut request.body
        && let Some(flagged) = with_flags(message)
    {
        *message = flagged;
    }
    let created = http::send(request)?.successful()?.document()?;
    if created.pointer("/isDraft").is_some_and(|is_draft| is_draft.text() == "true") {
        log::warn("Microsoft made a draft, although the message had flags. The message stays as it is.");
    }
    Ok(Outcome::ReplyDocument(created))
}

/// The message with the flags. `None` if it has flags already, or if its properties are not a list,
/// which Microsoft refuses.
fn with_flags(message: &str) -> Option<String> {
    let members = members(message)?;
    let given = members.iter().find(|(name, value)| name == PROPERTIES && *value != "null");
    let mut properties = match given {
        Some((_, list)) => items(list)?,
        None => Vec::new(),
    };
    if properties.iter().any(|property| is_flags(property)) {
        return None;
    }
    properties.push(NOT_A_DRAFT);
    with_member(message, PROPERTIES, &format!("[{}]", properties.join(",")))
}

fn is_flags(property: &str) -> bool {
    let id = members(property).and_then(|members| {
        let id = members.into_iter().find(|(name, _)| name == "id");
        id.and_then(|(_, value)| String::from_json(value))
    });
    id.is_some_and(|id| id.eq_ignore_ascii_case(FLAGS))
}

#[cfg(test)]
mod tests {
    use super::with_flags;

    #[test]
    fn the_flags_follow_the_callers_properties() {
        for (message, expected) in [
            ("{}", r#"{"singleValueExtendedProperties":[{"id":"Integer 0x0E07","value":"1"}]}"#),
            (
                r#"{"subject": "a \"b\"", "n":1.0,"singleValueExtendedProperties":null,"x\ny":[ ]}"#,
                r#"{"subject":"a \"b\"","n":1.0,"singleValueExtendedProperties":[{"id":"Integer 0x0E07","value":"1"}],"x\ny":[ ]}"#,
            ),
            (
                r#"{"singleValueExtendedProperties":[{"id":"String {0} Name c","value":"Green"}],"subject":"s"}"#,
                r#"{"singleValueExtendedProperties":[{"id":"String {0} Name c","value":"Green"},{"id":"Integer 0x0E07","value":"1"}],"subject":"s"}"#,
            ),
        ] {
            assert_eq!(with_flags(message).as_deref(), Some(expected));
        }
    }

    #[test]
    fn flags_of_the_caller_stay() {
        for id in ["Integer 0x0E07", "integer 0x0e07", "INTEGER 0X0E07", r"\u0049nteger 0x0E07"] {
            let message = format!(r#"{{"singleValueExtendedProperties":[{{"value":"8","id":"{id}"}}]}}"#);
            assert_eq!(with_flags(&message), None, "{id}");
        }
    }

    #[test]
    fn what_is_not_a_property_has_no_flags() {
        for property in ["1", "null", "{}", r#"{"id":7}"#, r#"{"ID":"Integer 0x0E07"}"#, r#"{"id":"Integer 0x0E070"}"#]
        {
            let message = format!(r#"{{"singleValueExtendedProperties":[{property}]}}"#);
            let flagged = with_flags(&message).expect("flags");
            assert!(flagged.ends_with(r#",{"id":"Integer 0x0E07","value":"1"}]}"#), "{flagged}");
        }
        assert_eq!(with_flags(r#"{"singleValueExtendedProperties":{"id":1}}"#), None);
    }
}
