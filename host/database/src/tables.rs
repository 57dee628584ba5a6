//! The tables that a crate keeps in the database.

/// The tables of a database, as the migrations that make them.
///
/// A released migration never changes. A later migration corrects it. The version of a database is
/// the number of migrations that have run on it.
#[derive(Debug)]
pub struct Tables {
    /// The migrations of a SQLite database, in order. The database has the function `now_ms()`.
    pub sqlite: &'static [&'static str],
    /// The migrations of a PostgreSQL database, in order. They make the function `now_ms()`.
    pub postgres: &'static [&'static str],
    /// The version of the tables that a gateway on PostgreSQL must know at least. The previous release
    /// knows it, so that gateways of both releases can share the database during a roll-out.
    pub oldest: i64,
    /// A statement that changes a row, and one that changes it back. The health check runs them after
    /// a write has failed. Both must change the row, because SQLite does not write a row that stays
    /// the same.
    pub probe: [&'static str; 2],
}
