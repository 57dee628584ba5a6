//! The identity of an account: which operation is asked for it, and which pointers of the manifest
//! lead nowhere in an answer.

use serde_json::Value;

use crate::words::{one_line, shortened};
use crate::{AuthScheme, Identity};

/// Maximum number of members that a sentence lists.
const MAX_MEMBERS: usize = 20;

impl AuthScheme {
    /// The operation that is asked whose account it is, or if a key is good.
    pub fn account_operation(&self) -> Option<&str> {
        match self {
            Self::Oauth2(scheme) => scheme.identity.as_ref().map(|identity| identity.operation.as_str()),
            Self::ApiKey(scheme) => scheme.check.as_deref(),
            Self::None => None,
        }
    }
}

/// The string or number at a JSON Pointer of an identity, as text.
pub fn text_at(answer: &Value, pointer: &str) -> Option<String> {
    match answer.pointer(pointer)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A sentence without a full stop for each pointer of an identity that finds nothing usable in an
/// answer. The sentences have the names of members of the answer, and no values. A null or an empty
/// text is no mistake: an account may lack an email address or a name.
pub fn lost_pointers(identity: &Identity, answer: &Value) -> Vec<String> {
    let Identity { operation, id, email, name } = identity;
    let pointers = [("id", Some(id)), ("email", email.as_ref()), ("name", name.as_ref())];
    let lost = |(member, pointer): (&str, Option<&String>)| {
        let pointer = pointer?;
        let reason = match answer.pointer(pointer) {
            None => format!("finds nothing in the answer of `{operation}`{}", what_is_there(answer, pointer)),
            Some(Value::Object(_)) => {
                let members = what_is_there(answer, &format!("{pointer}/"));
                format!("finds an object in the answer of `{operation}`{members}; name a text or a number in it")
            }
            Some(Value::Array(_)) => format!("finds a list in the answer of `{operation}`; name an item, such as `/0`"),
            Some(Value::Bool(_)) => {
                format!("finds a boolean in the answer of `{operation}`; name a text or a number")
            }
            Some(Value::Null | Value::String(_) | Value::Number(_)) => return None,
        };
        Some(format!("the pointer `{}` of identity.{member} {reason}", one_line(&shortened(pointer))))
    };
    pointers.into_iter().filter_map(lost).collect()
}

/// The members at the place where a pointer leaves the answer.
fn what_is_there(answer: &Value, pointer: &str) -> String {
    let mut place = pointer;
    let found = loop {
        place = place.rsplit_once('/').map_or("", |(before, _)| before);
        if let Some(found) = answer.pointer(place) {
            break found;
        }
    };
    let at = if place.is_empty() { "it".to_owned() } else { format!("`{}`", one_line(&shortened(place))) };
    match found {
        Value::Object(members) if members.is_empty() => format!(": {at} has no members"),
        Value::Object(members) => {
            let mut names: Vec<String> =
                members.keys().take(MAX_MEMBERS).map(|name| format!("`{}`", one_line(&shortened(name)))).collect();
            if members.len() > MAX_MEMBERS {
                names.push(format!("and {} more", members.len() - MAX_MEMBERS));
            }
            let noun = if members.len() == 1 { "member" } else { "members" };
            format!(": {at} has the {noun} {}", names.join(", "))
        }
        Value::Array(items) => format!(": {at} is a list with {} items", items.len()),
        _ => format!(": {at} is neither an object nor a list"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lost(id: &str, email: Option<&str>, answer: &Value) -> Vec<String> {
        let email = email.map(str::to_owned);
        lost_pointers(&Identity { operation: "me".into(), id: id.into(), email, name: None }, answer)
    }

    #[test]
    fn an_account_is_named_by_text_or_a_number() {
        let answer = json!({"id": 42, "user": {"email": "a@example.com", "name": ""}, "list": []});
        let at = |pointer| text_at(&answer, pointer);
        assert_eq!(at("/id").as_deref(), Some("42"));
        assert_eq!(at("/user/email").as_deref(), Some("a@example.com"));
        assert_eq!([at("/user/name"), at("/list"), at("/none")], [None, None, None]);
    }

    #[test]
    fn a_pointer_that_finds_nothing_is_named_with_the_members_that_are_there_and_no_values() {
        let answer = json!({"sub": "secret-1", "user": {"mail": "ada@example.com"}, "teams": [1, 2], "on": true});
        assert_eq!(
            lost("/id", Some("/user/email"), &answer),
            [
                "the pointer `/id` of identity.id finds nothing in the answer of `me`: it has the members `sub`, `user`, `teams`, `on`",
                "the pointer `/user/email` of identity.email finds nothing in the answer of `me`: `/user` has the member `mail`",
            ]
        );
        for (pointer, words) in [
            ("/sub/id", "`/sub` is neither an object nor a list"),
            ("/teams/7", "`/teams` is a list with 2 items"),
            ("/user", "finds an object in the answer of `me`: `/user` has the member `mail`; name a text"),
            ("/teams", "finds a list"),
            ("/on", "finds a boolean"),
            ("", "finds an object in the answer of `me`: it has the members `sub`, `user`"),
        ] {
            let lost = lost(pointer, None, &answer).concat();
            assert!(lost.contains(words) && !lost.contains("secret-1") && !lost.contains("ada@"), "{pointer}: {lost}");
        }
    }

    #[test]
    fn what_an_account_lacks_is_no_mistake_and_long_lists_end() {
        assert!(lost("/id", Some("/email"), &json!({"id": 1, "email": null})).is_empty());
        assert!(lost("/id", Some("/email"), &json!({"id": "", "email": ""})).is_empty());
        let many: serde_json::Map<String, Value> = (0..30).map(|n| (format!("m{n:02}\n"), json!(n))).collect();
        let lost = lost("/id", None, &many.into()).concat();
        assert!(lost.ends_with("`m19\\n`, and 10 more"), "{lost}");
        assert!(super::what_is_there(&json!({}), "/id").ends_with("has no members"));
    }
}
