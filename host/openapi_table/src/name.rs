//! Names that fit the contract.

use contract_rules::limit::NAME_BYTES;
use contract_rules::name;

/// The name of an operation: `issues/list-forRepo` becomes `issues_list_for_repo`.
pub(crate) fn operation(text: &str) -> String {
    let mut found = String::new();
    let characters: Vec<char> = text.chars().collect();
    for (index, character) in characters.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| characters.get(before));
        let after = characters.get(index + 1);
        let begins_word = character.is_ascii_uppercase()
            && before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || before.is_ascii_digit()
                    || (before.is_ascii_uppercase() && after.is_some_and(char::is_ascii_lowercase))
            });
        if begins_word || !character.is_ascii_alphanumeric() {
            separate(&mut found);
        }
        if character.is_ascii_alphanumeric() {
            found.push(character.to_ascii_lowercase());
        }
    }
    let found = found.trim_matches('_');
    // A function in the project's test also has this name, so it does not begin with a digit.
    let prefix = if found.starts_with(|first: char| first.is_ascii_digit()) || found.is_empty() { "op_" } else { "" };
    shortened(&format!("{prefix}{found}"))
}

/// The name of an operation without an id: its method, and the fixed segments of its path.
pub(crate) fn of_path(method: &str, path: &str) -> String {
    let fixed = path.split('/').filter(|segment| !segment.contains('{'));
    operation(&[method].into_iter().chain(fixed).collect::<Vec<_>>().join("_"))
}

/// The name of a field: letters, digits and `_`.
pub(crate) fn field(text: &str) -> String {
    if name::field(text, true).is_ok() {
        return text.to_owned();
    }
    let mut found = String::new();
    for character in text.trim_start_matches(['$', '@']).chars() {
        if character.is_ascii_alphanumeric() || character == '_' {
            found.push(character);
        } else {
            separate(&mut found);
        }
    }
    let found = shortened(found.trim_matches('_'));
    // An empty name, or a member of the envelope.
    if name::field(&found, true).is_ok() { found } else { format!("{found}_field").trim_start_matches('_').to_owned() }
}

/// The name, followed by a number if it is taken or reserved by the gateway.
pub(crate) fn free(wanted: String, is_taken: impl Fn(&str) -> bool) -> String {
    let mut candidate = wanted.clone();
    let mut number = 2;
    while is_taken(&candidate) {
        let suffix = format!("_{number}");
        let kept: String = wanted.chars().take(NAME_BYTES - suffix.len()).collect();
        candidate = kept + &suffix;
        number += 1;
    }
    candidate
}

fn separate(text: &mut String) {
    if !text.is_empty() && !text.ends_with('_') {
        text.push('_');
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(NAME_BYTES).collect::<String>().trim_end_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::{field, free, of_path, operation};

    #[test]
    fn operations_are_in_snake_case() {
        for (id, expected) in [
            ("issues/list-for-repo", "issues_list_for_repo"),
            ("findPostById", "find_post_by_id"),
            ("user.mailFolder_ListChildFolder", "user_mail_folder_list_child_folder"),
            ("getHTTPStatus", "get_http_status"),
            ("2fa", "op_2fa"),
            ("", "op_"),
        ] {
            assert_eq!(operation(id), expected.trim_end_matches('_'), "{id}");
        }
        assert_eq!(of_path("GET", "/latest/dex/{chainId}/pairs"), "get_latest_dex_pairs");
        assert!(operation(&"a".repeat(100)).len() == 64);
    }

    #[test]
    fn fields_keep_their_names_if_they_can() {
        for (given, expected) in [
            ("maxResults", "maxResults"),
            ("tweet.fields", "tweet_fields"),
            ("$top", "top"),
            ("user-id", "user_id"),
            ("@odata.type", "odata_type"),
            ("response_fields", "response_fields_field"),
            ("ä", "field"),
        ] {
            assert_eq!(field(given), expected, "{given}");
        }
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        assert_eq!(free("a".to_owned(), |name| name == "a" || name == "a_2"), "a_3");
    }
}
