//! The row of a grant.

use database::connection::Connection;
use database::value::values;

use super::PendingGrant;
use crate::{Holder, Sealed, Stored};

/// The columns of a [`PendingGrant`], in the order in which they are read.
pub(super) const COLUMNS: &str = "hash, tenant, subject, connector, user_identifier, data_key, secret, expires_at";

/// Stores a grant in an open transaction.
pub(crate) fn insert_grant(connection: &mut dyn Connection, grant: &PendingGrant) -> Stored<()> {
    let PendingGrant { hash, holder, user_identifier, sealed, expires_at } = grant;
    let (Holder { tenant, subject, connector }, Sealed { key_id, bytes }) = (holder, sealed);
    connection.run(
        &format!("INSERT INTO pending_grants ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"),
        values![hash, tenant, subject, connector, user_identifier, key_id, bytes, *expires_at],
    )
}
