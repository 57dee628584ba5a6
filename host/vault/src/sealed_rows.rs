//! Finding secrets that are sealed under a previous data key, and replacing them, while gateways
//! use the same rows.

use database::StoreError;
use database::connection::{Connection, Durability};
use database::value::{Row, Value, values};

use crate::data_keys::DataKeys;
use crate::types::Sealed;

/// A column that holds sealed secrets, and what its secrets are bound to.
#[derive(Debug)]
pub struct SealedColumn {
    /// The name of the table.
    pub table: &'static str,
    /// The primary key of the table, of text or bytes.
    pub row: &'static str,
    /// The column with the id of the data key.
    pub data_key: &'static str,
    /// The column with the sealed bytes.
    pub secret: &'static str,
    /// The first part of the context that the vault gets.
    pub context: &'static str,
    /// The columns of text with the other parts. `NULL` counts as empty.
    pub bound_to: &'static [&'static str],
}

/// A row with a sealed secret. [`DataKeys::secrets_under_other_keys`] returns rows in the order of
/// their places.
#[derive(Clone, Debug)]
pub(crate) struct SealedRow {
    pub(crate) place: SealedPlace,
    /// The context with which the secret was sealed.
    context: Vec<String>,
    /// The secret under its previous data key.
    pub(crate) sealed: Sealed,
}

/// The place of a secret: the index of its column, and the primary key of its
/// row.
#[derive(Clone, Debug)]
pub(crate) struct SealedPlace {
    column: usize,
    row: Value,
}

impl SealedRow {
    /// The context with which the secret was sealed.
    pub(crate) fn context(&self) -> Vec<&str> {
        self.context.iter().map(String::as_str).collect()
    }
}

impl DataKeys {
    /// Counts the secrets that are sealed under a data key other than this one.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub(crate) async fn count_secrets_under_other_keys(&self, data_key: &str) -> Result<u64, StoreError> {
        let (columns, data_key) = (self.columns, data_key.to_owned());
        self.database
            .read(move |connection| {
                columns.iter().try_fold(0, |total, SealedColumn { table, data_key: column, .. }| {
                    let sql = format!("SELECT count(*) FROM {table} WHERE {column} <> $1");
                    Ok(total + connection.one::<u64>(&sql, values![&data_key])?)
                })
            })
            .await
    }

    /// Returns secrets that are sealed under a data key other than this one, at most `limit`,
    /// beginning after the position `after`. An empty list means that there are no more.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub(crate) async fn secrets_under_other_keys(
        &self,
        data_key: &str,
        after: Option<SealedPlace>,
        limit: u32,
    ) -> Result<Vec<SealedRow>, StoreError> {
        let (columns, data_key) = (self.columns, data_key.to_owned());
        self.database
            .read(move |connection| {
                let mut after = after.unwrap_or(SealedPlace { column: 0, row: "".into() });
                while let Some(column) = columns.get(after.column) {
                    let rows = column.rows_after(connection, &data_key, &after, limit)?;
                    if !rows.is_empty() {
                        return Ok(rows);
                    }
                    after = SealedPlace { column: after.column + 1, row: "".into() };
                }
                Ok(Vec::new())
            })
            .await
    }

    /// Replaces secrets by the same secrets under another data key, and returns the number of
    /// replaced ones. A secret that was written since it was read keeps what was written.
    ///
    /// # Errors
    /// Fails if the database does not answer. No secret is replaced then.
    pub(crate) async fn replace_secrets(&self, rows: Vec<(SealedRow, Sealed)>) -> Result<u64, StoreError> {
        let columns = self.columns;
        self.database
            .write(Durability::PowerLoss, move |connection| {
                rows.iter().try_fold(0, |written, (row, sealed)| match columns.get(row.place.column) {
                    Some(column) => Ok(written + column.replace(connection, row, sealed)?),
                    None => Ok(written),
                })
            })
            .await
    }
}

impl SealedColumn {
    fn rows_after(
        &self,
        connection: &mut dyn Connection,
        data_key: &str,
        after: &SealedPlace,
        limit: u32,
    ) -> Result<Vec<SealedRow>, StoreError> {
        let Self { table, row, data_key: key_column, secret, bound_to, .. } = self;
        let sql = format!(
            "SELECT {row}, {key_column}, {secret}, {} FROM {table} WHERE {key_column} <> $1 AND {row} > $2 ORDER BY {row} LIMIT $3",
            bound_to.join(", ")
        );
        let rows = connection.query(&sql, values![data_key, after.row.clone(), limit])?;
        rows.into_iter().map(|mut row| self.read(after.column, &mut row)).collect()
    }

    fn read(&self, column: usize, row: &mut Row) -> Result<SealedRow, StoreError> {
        let place = SealedPlace { column, row: row.read()? };
        let sealed = Sealed { key_id: row.read()?, bytes: row.read()? };
        let mut context = vec![self.context.to_owned()];
        for _ in self.bound_to {
            context.push(row.read::<Option<String>>()?.unwrap_or_default());
        }
        Ok(SealedRow { place, context, sealed })
    }

    /// Returns the number of written rows, 0 or 1. Nothing else of the row changes, so that a
    /// concurrent update does not fail.
    fn replace(&self, connection: &mut dyn Connection, row: &SealedRow, sealed: &Sealed) -> Result<u64, StoreError> {
        let Self { table, row: row_column, data_key, secret, .. } = self;
        // Sealing begins with a random nonce. Equal bytes therefore mean that no one has written the
        // secret since it was read.
        connection.execute(
            &format!(
                "UPDATE {table} SET {data_key} = $1, {secret} = $2
                 WHERE {row_column} = $3 AND {data_key} = $4 AND {secret} = $5"
            ),
            values![&sealed.key_id, &sealed.bytes, row.place.row.clone(), &row.sealed.key_id, &row.sealed.bytes],
        )
    }
}
