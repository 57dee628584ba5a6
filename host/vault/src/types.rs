//! Data keys, and bytes that are sealed under them.

use std::fmt;
use std::time::SystemTime;

use database::StoreError;
use database::value::{FromRow, Row};

/// Bytes that can be read only with a data key.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed {
    /// Id of the data key.
    pub key_id: String,
    /// Nonce, ciphertext and tag.
    pub bytes: Vec<u8>,
}

/// Reads the column of the data key, and the column of the sealed bytes.
impl FromRow for Sealed {
    fn from_row(row: &mut Row) -> Result<Self, StoreError> {
        Ok(Self { key_id: row.read()?, bytes: row.read()? })
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Sealed({} bytes under {})", self.bytes.len(), self.key_id)
    }
}

/// A data key, sealed under one master key. During a rotation it is sealed under two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DataKey {
    /// The id that [`Sealed::key_id`] refers to.
    pub(crate) id: String,
    /// The copies of the data key, each sealed under another master key.
    pub(crate) wraps: Vec<Wrap>,
    /// Time from which nothing new is sealed under the key. Exactly one key has `None`: the current
    /// one.
    pub(crate) retired_at: Option<SystemTime>,
}

/// A copy of a data key that is sealed under one master key.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Wrap {
    /// Id of the master key.
    pub(crate) master_id: String,
    /// Nonce, ciphertext and tag.
    pub(crate) bytes: Vec<u8>,
}

impl fmt::Debug for Wrap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Wrap(under {})", self.master_id)
    }
}
