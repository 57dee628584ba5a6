//! Parameters, columns and rows of statements, in the types that both databases have.

use std::time::SystemTime;

use crate::StoreError;
use crate::time::{from_millis, to_millis};

/// A parameter of a statement, or a column of a row.
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    /// SQL's `NULL`.
    Null,
    /// SQLite stores 0 or 1 instead.
    Bool(bool),
    /// Also times, as milliseconds since 1970.
    Integer(i64),
    /// Text. If it may contain zero bytes, its column is one of bytes. PostgreSQL has no zero bytes
    /// in other columns: see [`StoreError::ZeroByte`] and [`without_zero_bytes`].
    Text(String),
    /// Bytes, for which SQLite says `BLOB` and PostgreSQL `BYTEA`.
    Bytes(Vec<u8>),
}

/// Hides the value, which may be secret.
impl std::fmt::Debug for Value {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Value")
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<SystemTime> for Value {
    fn from(value: SystemTime) -> Self {
        Self::Integer(to_millis(value))
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<&String> for Value {
    fn from(value: &String) -> Self {
        Self::Text(value.clone())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&[u8]> for Value {
    fn from(value: &[u8]) -> Self {
        Self::Bytes(value.to_owned())
    }
}

impl From<&Vec<u8>> for Value {
    fn from(value: &Vec<u8>) -> Self {
        Self::Bytes(value.clone())
    }
}

impl<const N: usize> From<&[u8; N]> for Value {
    fn from(value: &[u8; N]) -> Self {
        Self::Bytes(value.to_vec())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<'a> From<&'a Option<String>> for Value {
    fn from(value: &'a Option<String>) -> Self {
        value.as_ref().into()
    }
}

/// A text of a service or a module, which must be stored whatever it says: the zero bytes in it,
/// which PostgreSQL cannot store, are replaced by U+FFFD.
pub fn without_zero_bytes(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Makes the parameters of a statement from expressions that convert into [`Value`].
#[macro_export]
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::value::Value::from($value)),*] };
}
pub use crate::values;

/// The columns of a row. They are read one after the other.
pub struct Row(std::vec::IntoIter<Value>);

impl Row {
    /// The row with these columns.
    pub fn new(columns: Vec<Value>) -> Self {
        Self(columns.into_iter())
    }

    /// Reads the next column.
    ///
    /// # Errors
    /// If there is no further column, or if it has another type.
    pub fn read<T: FromValue>(&mut self) -> Result<T, StoreError> {
        self.0.next().and_then(T::from_value).ok_or(StoreError::Unexpected("a column has an unexpected type"))
    }
}

/// A type that can be read from a row.
pub trait FromRow: Sized {
    /// Reads the columns of the type, in their order.
    ///
    /// # Errors
    /// As [`Row::read`].
    fn from_row(row: &mut Row) -> Result<Self, StoreError>;
}

/// Reads a row of one column.
impl<T: FromValue> FromRow for T {
    fn from_row(row: &mut Row) -> Result<Self, StoreError> {
        row.read()
    }
}

impl<A: FromRow, B: FromRow> FromRow for (A, B) {
    fn from_row(row: &mut Row) -> Result<Self, StoreError> {
        Ok((A::from_row(row)?, B::from_row(row)?))
    }
}

impl<A: FromRow, B: FromRow, C: FromRow> FromRow for (A, B, C) {
    fn from_row(row: &mut Row) -> Result<Self, StoreError> {
        Ok((A::from_row(row)?, B::from_row(row)?, C::from_row(row)?))
    }
}

/// A type that can be read from a column.
pub trait FromValue: Sized {
    /// The value of the column. `None` if the column has another type.
    fn from_value(value: Value) -> Option<Self>;
}

impl FromValue for Value {
    fn from_value(value: Value) -> Option<Self> {
        Some(value)
    }
}

impl FromValue for bool {
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(value),
            Value::Integer(value) => Some(value != 0),
            _ => None,
        }
    }
}

impl FromValue for i64 {
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Integer(value) = value { Some(value) } else { None }
    }
}

impl FromValue for u64 {
    fn from_value(value: Value) -> Option<Self> {
        i64::from_value(value)?.try_into().ok()
    }
}

impl FromValue for SystemTime {
    fn from_value(value: Value) -> Option<Self> {
        i64::from_value(value).map(from_millis)
    }
}

impl FromValue for String {
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Text(value) = value { Some(value) } else { None }
    }
}

impl FromValue for Vec<u8> {
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Bytes(value) = value { Some(value) } else { None }
    }
}

impl<const N: usize> FromValue for [u8; N] {
    fn from_value(value: Value) -> Option<Self> {
        Vec::from_value(value)?.try_into().ok()
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value) -> Option<Self> {
        if value == Value::Null { Some(None) } else { T::from_value(value).map(Some) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_stored_without_the_byte_that_the_database_cannot_have() {
        assert_eq!(without_zero_bytes("a\0b\0"), "a\u{fffd}b\u{fffd}");
        assert_eq!(without_zero_bytes("ab\t\u{1}"), "ab\t\u{1}");
    }
}
