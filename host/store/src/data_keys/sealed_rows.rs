//! Finding secrets that are sealed under a former data key, and replacing them, while gateways use the same rows.

use super::Sealed;
use crate::connection::{Connection, Durability};
use crate::value::{FromRow, FromValue, Row, Value, values};
use crate::{Holder, StateHash, Store, StoreError};

/// A row with a sealed secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SealedRow {
    /// The column and row that hold the secret.
    pub(crate) column: SealedColumn,
    /// The holder of the integration or authorization, to which the secret is bound.
    pub(crate) holder: Holder,
    /// The user identifier, to which the secret is bound as well.
    pub(crate) user_identifier: Option<String>,
    /// The secret under its former data key.
    pub(crate) sealed: Sealed,
}

/// A column with a sealed secret, and the row by its primary key. [`Store::secrets_under_other_keys`] returns rows in this
/// order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SealedColumn {
    /// The secret of an integration.
    Integration {
        /// [`crate::Integration::id`].
        id: String,
        /// [`crate::Integration::version`], so that a row that changed since it was read is left alone.
        version: i64,
    },
    /// The PKCE verifier of an authorization.
    Authorization(StateHash),
}

impl Store {
    /// Counts the secrets that are sealed under a data key other than this one.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub(crate) async fn count_secrets_under_other_keys(&self, data_key: &str) -> Result<u64, StoreError> {
        let data_key = data_key.to_owned();
        self.read(move |connection| {
            connection.one(
                "SELECT (SELECT count(*) FROM integrations WHERE data_key <> $1)
                      + (SELECT count(*) FROM authorizations WHERE data_key <> $1)",
                values![&data_key],
            )
        })
        .await
    }

    /// Returns secrets that are sealed under a data key other than this one, at most `limit`, beginning behind `after`. An
    /// empty list means that there are no more.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub(crate) async fn secrets_under_other_keys(
        &self,
        data_key: &str,
        after: Option<SealedColumn>,
        limit: u32,
    ) -> Result<Vec<SealedRow>, StoreError> {
        let data_key = data_key.to_owned();
        self.read(move |connection| {
            // Integrations come first, then authorizations.
            let id = match &after {
                Some(SealedColumn::Authorization(hash)) => {
                    return authorizations_after(connection, &data_key, hash, limit);
                }
                Some(SealedColumn::Integration { id, .. }) => id.as_str(),
                None => "",
            };
            let rows = integrations_after(connection, &data_key, id, limit)?;
            if rows.is_empty() { authorizations_after(connection, &data_key, &[], limit) } else { Ok(rows) }
        })
        .await
    }

    /// Replaces secrets by the same secrets under another data key, and returns the number of replaced ones. A row that was
    /// written since it was read keeps what was written.
    ///
    /// # Errors
    /// Fails if the database does not answer. No secret is replaced then.
    pub(crate) async fn replace_secrets(&self, rows: Vec<(SealedRow, Sealed)>) -> Result<u64, StoreError> {
        self.write(Durability::PowerLoss, move |connection| {
            rows.iter().try_fold(0, |written, (row, sealed)| Ok(written + replace(connection, row, sealed)?))
        })
        .await
    }
}

fn integrations_after(
    connection: &mut dyn Connection,
    data_key: &str,
    id: &str,
    limit: u32,
) -> Result<Vec<SealedRow>, StoreError> {
    connection.all(
        "SELECT id, version, tenant, subject, connector, user_identifier, data_key, secret FROM integrations
         WHERE data_key <> $1 AND id > $2 ORDER BY id LIMIT $3",
        values![data_key, id, limit],
    )
}

fn authorizations_after(
    connection: &mut dyn Connection,
    data_key: &str,
    hash: &[u8],
    limit: u32,
) -> Result<Vec<SealedRow>, StoreError> {
    connection.all(
        "SELECT hash, NULL, tenant, subject, connector, user_identifier, data_key, verifier FROM authorizations
         WHERE data_key <> $1 AND hash > $2 ORDER BY hash LIMIT $3",
        values![data_key, hash, limit],
    )
}

/// Returns the number of written rows, 0 or 1. The version of an integration does not change: its readers see the same secret,
/// and an update under way must not fail.
fn replace(connection: &mut dyn Connection, row: &SealedRow, sealed: &Sealed) -> Result<u64, StoreError> {
    match &row.column {
        SealedColumn::Integration { id, version } => connection.execute(
            "UPDATE integrations SET data_key = $1, secret = $2 WHERE id = $3 AND version = $4 AND data_key = $5",
            values![&sealed.key_id, &sealed.bytes, id, *version, &row.sealed.key_id],
        ),
        SealedColumn::Authorization(hash) => connection.execute(
            "UPDATE authorizations SET data_key = $1, verifier = $2 WHERE hash = $3 AND data_key = $4",
            values![&sealed.key_id, &sealed.bytes, hash, &row.sealed.key_id],
        ),
    }
}

impl FromRow for SealedRow {
    fn from_row(row: &mut Row) -> Result<Self, StoreError> {
        Ok(Self {
            column: read_column(row)?,
            holder: Holder { tenant: row.read()?, subject: row.read()?, connector: row.read()? },
            user_identifier: row.read()?,
            sealed: Sealed { key_id: row.read()?, bytes: row.read()? },
        })
    }
}

/// Reads two columns: the id and version of an integration, or the hash of an authorization and `NULL`.
fn read_column(row: &mut Row) -> Result<SealedColumn, StoreError> {
    match (row.read()?, row.read()?) {
        (Value::Text(id), Some(version)) => Ok(SealedColumn::Integration { id, version }),
        (hash, _) => {
            let hash = StateHash::from_value(hash).ok_or(StoreError::Unexpected("a hash does not have 32 bytes"))?;
            Ok(SealedColumn::Authorization(hash))
        }
    }
}
