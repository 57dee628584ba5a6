//! Names of a manifest.

use crate::limit::NAME_BYTES;
use crate::{Broken, ensure};

/// Members of a request body that the gateway reads and removes, if the operation has the envelope.
pub const ENVELOPE_MEMBERS: [&str; 2] = ["response_fields", "response_filters"];

/// Paths below `/connectors/{identifier}/` that the gateway answers itself.
pub const RESERVED_PATHS: [&str; 4] =
    ["integrations", "integration-exists", "auth-schema", "success-authorize-callback"];

/// Parts of the addresses of agents, where an identifier could stand too.
pub const RESERVED_IDENTIFIERS: [&str; 2] = ["sets", "readonly"];

/// Stands between identifier and path in the name of a tool, and between the parts of a variable
/// that sets a key of the configuration.
const SEPARATOR: &str = "__";

/// The identifier of a connector.
///
/// # Errors
/// The form of an identifier.
pub fn identifier(name: &str) -> Result<(), Broken> {
    ensure(
        name.starts_with(|first: char| first.is_ascii_lowercase()) && is(name, lower),
        "an identifier is 1 to 64 of `a-z`, `0-9` and `_`, and begins with a letter",
    )?;
    // With both rules, the first `__` of a tool's name ends the identifier.
    ensure(
        !name.contains(SEPARATOR) && !name.ends_with('_'),
        "an identifier has no `__` and does not end with `_`: the names of tools and of variables have `__` between their \
         parts",
    )?;
    ensure(
        !RESERVED_IDENTIFIERS.contains(&name),
        "`sets` and `readonly` are parts of the addresses of agents; give the connector another identifier",
    )
}

/// The name of an upstream or of a rate limit.
///
/// # Errors
/// The form of such a name.
pub fn plain(name: &str) -> Result<(), Broken> {
    ensure(is(name, dashed), "a name is 1 to 64 of `a-z`, `A-Z`, `0-9`, `_` and `-`")
}

/// The path of an operation.
///
/// # Errors
/// The form of a path, or that the gateway uses this one.
pub fn operation(path: &str) -> Result<(), Broken> {
    ensure(is(path, dashed), "the path of an operation is 1 to 64 of `a-z`, `A-Z`, `0-9`, `_` and `-`")?;
    ensure(
        !path.contains(SEPARATOR),
        "the path of an operation has no `__`: the names of tools have it between their parts",
    )?;
    ensure(!RESERVED_PATHS.contains(&path), "the gateway answers this path itself; give the operation another one")
}

/// The name of a setting.
///
/// # Errors
/// The form of such a name.
pub fn setting(name: &str) -> Result<(), Broken> {
    ensure(is(name, lower), "the name of a setting is 1 to 64 of `a-z`, `0-9` and `_`")
}

/// The name of an inbox.
///
/// # Errors
/// The form of such a name.
pub fn inbox(name: &str) -> Result<(), Broken> {
    ensure(
        name.starts_with(|first: char| first.is_ascii_lowercase()) && is(name, lower),
        "the name of an inbox is 1 to 64 of `a-z`, `0-9` and `_`, and begins with a letter",
    )
}

/// The name of a type of events.
///
/// # Errors
/// The form of such a name.
pub fn trigger(name: &str) -> Result<(), Broken> {
    ensure(is(name, lower), "the name of a trigger is 1 to 64 of `a-z`, `0-9` and `_`")
}

/// The name of a field of an operation's input. `envelope` says whether the operation has the
/// envelope.
///
/// # Errors
/// The form of such a name, or that it is a member of the envelope.
pub fn field(name: &str, envelope: bool) -> Result<(), Broken> {
    ensure(is(name, underscored), "the name of a field is 1 to 64 of `a-z`, `A-Z`, `0-9` and `_`")?;
    if envelope && ENVELOPE_MEMBERS.contains(&name) {
        return Err(format!(
            "`{name}` is a member of the envelope: the gateway removes it from the body; give the field another name, or say \
             that the operation has no envelope"
        )
        .into());
    }
    Ok(())
}

/// An identifier must not be the name of the connector's provider, because operators set client
/// credentials under both names.
///
/// # Errors
/// That the names are equal.
pub fn identifier_is_no_provider(identifier: &str, provider: &str) -> Result<(), Broken> {
    ensure(
        identifier != provider,
        "the identifier is the name of the connector's provider, and client credentials are set under both names; \
         give the connector another identifier",
    )
}

fn is(name: &str, legal: fn(u8) -> bool) -> bool {
    (1..=NAME_BYTES).contains(&name.len()) && name.bytes().all(legal)
}

fn lower(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_')
}

fn underscored(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn dashed(byte: u8) -> bool {
    underscored(byte) || byte == b'-'
}

#[cfg(test)]
mod tests {
    use super::{field, identifier, inbox, operation, plain, setting, trigger};

    #[test]
    fn an_identifier_begins_with_a_lower_case_letter() {
        assert!(identifier("x_ads2").is_ok());
        assert!(identifier("set").is_ok());
        for name in ["", "1a", "_a", "A", "a-b", "ä", "sets", "readonly", "a__b", "a_", &"a".repeat(65)] {
            assert!(identifier(name).is_err(), "{name}");
        }
    }

    #[test]
    fn the_path_of_an_operation_cannot_hold_the_end_of_another_identifier() {
        assert!(operation("list_users-2").is_ok() && operation("_list_").is_ok());
        for path in ["b__c", "__c", "c__", "integrations", "a.b", ""] {
            assert!(operation(path).is_err(), "{path}");
        }
    }

    #[test]
    fn other_names_have_their_own_characters() {
        assert!(plain("Api-2_x").is_ok() && plain("a.b").is_err() && plain("").is_err());
        assert!(setting("max_mb2").is_ok() && setting("maxMb").is_err() && setting("a-b").is_err());
        assert!(field("maxMb_2", true).is_ok() && field("a-b", true).is_err());
        assert!(inbox("pubsub_2").is_ok() && inbox("2_pubsub").is_err() && inbox("Pubsub").is_err());
        assert!(trigger("2nd_mail").is_ok() && trigger("a-b").is_err() && trigger("").is_err());
    }

    #[test]
    fn members_of_the_envelope_are_fields_only_without_the_envelope() {
        assert!(field("response_fields", true).is_err());
        assert!(field("response_fields", false).is_ok());
    }

    #[test]
    fn paths_of_the_gateway_are_no_operations() {
        assert!(operation("get-users").is_ok());
        assert!(operation("integrations").is_err_and(|broken| broken.rule().contains("answers this path itself")));
    }
}
