//! Sealed bytes, and the keys that they are sealed under.

use std::fmt;
use std::time::SystemTime;

/// Bytes that only the holder of a data key can read.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed {
    /// Id of the data key.
    pub key_id: String,
    /// Nonce and ciphertext.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for Sealed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Sealed({} bytes under {})", self.bytes.len(), self.key_id)
    }
}

/// A data key, itself sealed under one master key or, while that is being exchanged, under several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataKey {
    /// Its name in [`Sealed::key_id`].
    pub id: String,
    /// The key under each master key that opens it.
    pub wraps: Vec<Wrap>,
    /// When it was made.
    pub created_at: SystemTime,
    /// Since when nothing new is to be sealed under it. One key has none.
    pub retired_at: Option<SystemTime>,
}

/// A data key under one master key.
#[derive(Clone, PartialEq, Eq)]
pub struct Wrap {
    /// Id of the master key.
    pub master_id: String,
    /// Nonce and ciphertext.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for Wrap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Wrap(under {})", self.master_id)
    }
}
