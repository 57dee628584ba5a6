//! Columns of integrations and of other records: labels, the address of an account, scopes, and
//! what is sealed.

use std::collections::BTreeMap;

use database::value::{FromValue, Row, Value};

use crate::{Sealed, StoreError, Stored};

/// Texts that a caller gave an integration, by name.
pub type Labels = BTreeMap<String, String>;

/// The address of an account at its service: the parts of the service's URLs that differ from
/// account to account, by name.
pub type AccountAddress = BTreeMap<String, String>;

/// Labels as their column has them.
pub(crate) fn text_of_labels(labels: &Labels) -> String {
    let members: Vec<_> = labels.iter().map(|(name, value)| text_of_label(name, value)).collect();
    format!("{{{}}}", members.join(","))
}

/// One member of the column.
pub(super) fn text_of_label(name: &str, value: &str) -> String {
    format!("{}:{}", serde_json::Value::from(name), serde_json::Value::from(value))
}

/// Reads a column with labels. `NULL` counts as none.
pub(crate) fn read_labels(row: &mut Row) -> Stored<Labels> {
    Ok(read_optional_labels(row)?.unwrap_or_default())
}

/// Reads a column with labels, or `NULL`.
pub(crate) fn read_optional_labels(row: &mut Row) -> Stored<Option<Labels>> {
    let text: Option<String> = row.read()?;
    text.map(|text| serde_json::from_str(&text).map_err(|_| StoreError::Unexpected("labels are not JSON"))).transpose()
}

/// An address as its column has it: a JSON object.
pub(crate) fn text_of_address(address: &AccountAddress) -> String {
    // Texts can always be written as JSON.
    serde_json::to_string(address).unwrap_or_else(|_| "{}".to_owned())
}

/// Reads a column with an address.
pub(crate) fn read_address(row: &mut Row) -> Stored<AccountAddress> {
    let text: String = row.read()?;
    serde_json::from_str(&text).map_err(|_| StoreError::Unexpected("the address of an account is not JSON"))
}

/// Reads two columns: the id of the data key and the sealed bytes.
pub(crate) fn read_sealed(row: &mut Row) -> Stored<Option<Sealed>> {
    let (key_id, bytes) = (row.read::<Option<String>>()?, row.read::<Option<Vec<u8>>>()?);
    Ok(key_id.zip(bytes).map(|(key_id, bytes)| Sealed { key_id, bytes }))
}

/// A column with a JSON list of strings.
pub(super) struct Scopes(pub(super) Vec<String>);

impl FromValue for Scopes {
    fn from_value(value: Value) -> Option<Self> {
        serde_json::from_str(&String::from_value(value)?).ok().map(Self)
    }
}
