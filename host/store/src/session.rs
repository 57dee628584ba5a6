//! What the store asks of a database.
//!
//! Everything above this file is written once, in the SQL that both databases have in common: parameters are `$1`, `$2`…,
//! and `now_ms()` is the database's own clock. What differs between them is below it: connections, types on
//! the wire, locks, and the migrations.

use std::time::SystemTime;

use super::{StoreError, from_millis, to_millis};

/// What a committed write survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// The process being killed, and the machine losing power: for what nobody can make again. Costs a flush of the disk.
    Power,
    /// The process being killed; a power loss may undo the last writes, but never leaves half of one.
    Process,
}

/// A transaction, or a connection for reading. It is used on a thread that may block.
pub(super) trait Session {
    /// Runs a statement, and says how many rows it changed.
    fn execute(&mut self, sql: &str, parameters: &[Value]) -> Result<u64, StoreError>;

    /// Runs a statement that answers rows.
    fn query(&mut self, sql: &str, parameters: &[Value]) -> Result<Vec<Row>, StoreError>;

    /// From here to the end of the transaction, nobody else is in one that locked the same name. For what is read first and
    /// then written.
    fn lock(&mut self, name: &str) -> Result<(), StoreError>;
}

impl dyn Session + '_ {
    /// All rows.
    pub(super) fn all<T: FromRow>(&mut self, sql: &str, parameters: &[Value]) -> Result<Vec<T>, StoreError> {
        self.query(sql, parameters)?.into_iter().map(|mut row| T::from_row(&mut row)).collect()
    }

    /// The only row, if there is one.
    pub(super) fn optional<T: FromRow>(&mut self, sql: &str, parameters: &[Value]) -> Result<Option<T>, StoreError> {
        self.query(sql, parameters)?.pop().map(|mut row| T::from_row(&mut row)).transpose()
    }

    /// The only row of a statement that always has one.
    pub(super) fn one<T: FromRow>(&mut self, sql: &str, parameters: &[Value]) -> Result<T, StoreError> {
        self.optional(sql, parameters)?.ok_or_else(|| StoreError::unexpected("a statement answered nothing"))
    }
}

/// A value of a column or a parameter, in the types that both databases have.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// No value.
    Null,
    /// SQLite has numbers in its place.
    Bool(bool),
    /// Times are milliseconds since 1970.
    Integer(i64),
    Text(String),
    Bytes(Vec<u8>),
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

/// The parameters of a statement, each of a type that becomes a [`Value`].
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::session::Value::from($value)),*] };
}
pub(super) use values;

/// The columns of a row, which are read in their order.
pub(super) struct Row(std::vec::IntoIter<Value>);

impl Row {
    pub(super) fn new(columns: Vec<Value>) -> Self {
        Self(columns.into_iter())
    }

    /// The next column.
    pub(super) fn read<T: FromValue>(&mut self) -> Result<T, StoreError> {
        self.0.next().and_then(T::from_value).ok_or_else(|| StoreError::unexpected("a column is of another type"))
    }
}

/// What a row is read into.
pub(super) trait FromRow: Sized {
    fn from_row(row: &mut Row) -> Result<Self, StoreError>;
}

/// A row of one column.
impl<T: FromValue> FromRow for T {
    fn from_row(row: &mut Row) -> Result<Self, StoreError> {
        row.read()
    }
}

impl<A: FromRow, B: FromRow, C: FromRow> FromRow for (A, B, C) {
    fn from_row(row: &mut Row) -> Result<Self, StoreError> {
        Ok((A::from_row(row)?, B::from_row(row)?, C::from_row(row)?))
    }
}

/// What a column is read into.
pub(super) trait FromValue: Sized {
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
