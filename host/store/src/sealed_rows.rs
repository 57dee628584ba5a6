//! Finding what is sealed under a former data key, and writing it anew, while gateways read and write the same rows.

use super::authorization::StateHash;
use super::data_key::Sealed;
use super::session::{Durability, FromRow, FromValue, Row, Session, Value, values};
use super::{Holder, Store, StoreError};

/// A secret, and where it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedRow {
    /// The row.
    pub place: Place,
    /// Whose it is.
    pub holder: Holder,
    /// Which of the holder's.
    pub user_identifier: Option<String>,
    /// As it is now.
    pub sealed: Sealed,
}

/// The row that a secret is in. Rows are ordered by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// An integration's credential.
    Integration {
        /// [`super::Integration::id`].
        id: String,
        /// [`super::Integration::version`].
        version: i64,
    },
    /// The PKCE verifier of an authorization.
    Authorization(StateHash),
}

impl Store {
    /// How many secrets are sealed under another data key than this one.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn count_sealed_otherwise(&self, data_key: &str) -> Result<u64, StoreError> {
        let data_key = data_key.to_owned();
        self.read(move |session| {
            session.one(
                "SELECT (SELECT count(*) FROM integrations WHERE data_key <> $1)
                      + (SELECT count(*) FROM authorizations WHERE data_key <> $1)",
                values![&data_key],
            )
        })
        .await
    }

    /// Secrets that are sealed under another data key than this one: those after a place, in order.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn sealed_otherwise(
        &self,
        data_key: &str,
        after: Option<Place>,
        limit: u32,
    ) -> Result<Vec<SealedRow>, StoreError> {
        let data_key = data_key.to_owned();
        self.read(move |session| {
            // Integrations first, then authorizations.
            let id = match &after {
                Some(Place::Authorization(hash)) => return authorizations_after(session, &data_key, hash, limit),
                Some(Place::Integration { id, .. }) => id.as_str(),
                None => "",
            };
            let rows = integrations_after(session, &data_key, id, limit)?;
            if rows.is_empty() { authorizations_after(session, &data_key, &[], limit) } else { Ok(rows) }
        })
        .await
    }

    /// Writes secrets that were sealed anew, and says how many. A row that somebody wrote since it was read is left as they
    /// wrote it.
    ///
    /// # Errors
    /// When the database does not answer; then none is written.
    pub async fn write_resealed(&self, rows: Vec<(SealedRow, Sealed)>) -> Result<u64, StoreError> {
        self.write(Durability::Power, move |session| {
            rows.iter().try_fold(0, |written, (row, sealed)| Ok(written + replace(session, row, sealed)?))
        })
        .await
    }
}

fn integrations_after(
    session: &mut dyn Session,
    data_key: &str,
    id: &str,
    limit: u32,
) -> Result<Vec<SealedRow>, StoreError> {
    session.all(
        "SELECT id, version, tenant, subject, connector, user_identifier, data_key, secret FROM integrations
         WHERE data_key <> $1 AND id > $2 ORDER BY id LIMIT $3",
        values![data_key, id, limit],
    )
}

fn authorizations_after(
    session: &mut dyn Session,
    data_key: &str,
    hash: &[u8],
    limit: u32,
) -> Result<Vec<SealedRow>, StoreError> {
    session.all(
        "SELECT hash, NULL, tenant, subject, connector, user_identifier, data_key, verifier FROM authorizations
         WHERE data_key <> $1 AND hash > $2 ORDER BY hash LIMIT $3",
        values![data_key, hash, limit],
    )
}

/// How many rows were written: one or none. The version of an integration stays, since nothing of it has changed for who reads
/// it, and an update under way must not fail for it.
fn replace(session: &mut dyn Session, row: &SealedRow, sealed: &Sealed) -> Result<u64, StoreError> {
    match &row.place {
        Place::Integration { id, version } => session.execute(
            "UPDATE integrations SET data_key = $1, secret = $2 WHERE id = $3 AND version = $4 AND data_key = $5",
            values![&sealed.key_id, &sealed.bytes, id, *version, &row.sealed.key_id],
        ),
        Place::Authorization(hash) => session.execute(
            "UPDATE authorizations SET data_key = $1, verifier = $2 WHERE hash = $3 AND data_key = $4",
            values![&sealed.key_id, &sealed.bytes, hash, &row.sealed.key_id],
        ),
    }
}

impl FromRow for SealedRow {
    fn from_row(row: &mut Row) -> Result<Self, StoreError> {
        Ok(Self {
            place: read_place(row)?,
            holder: Holder { tenant: row.read()?, subject: row.read()?, connector: row.read()? },
            user_identifier: row.read()?,
            sealed: Sealed { key_id: row.read()?, bytes: row.read()? },
        })
    }
}

/// Two columns: the id and the version of an integration, or the hash of an authorization and nothing.
fn read_place(row: &mut Row) -> Result<Place, StoreError> {
    match (row.read()?, row.read()?) {
        (Value::Text(id), Some(version)) => Ok(Place::Integration { id, version }),
        (hash, _) => {
            let hash = StateHash::from_value(hash).ok_or_else(|| StoreError::unexpected("a hash is too short"))?;
            Ok(Place::Authorization(hash))
        }
    }
}
