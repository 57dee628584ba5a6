//! The address of an account, as a column has it.

use database::value::Row;

use super::AccountAddress;
use crate::{StoreError, Stored};

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
