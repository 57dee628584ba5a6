//! Storing authorizations under way.

use std::time::Duration;

use super::authorization::{Authorization, StateHash, Taken};
use super::integrations::read_sealed;
use super::session::{Durability, FromRow, Row, Session, values};
use super::{Holder, Store, StoreError, caps, millis};

/// How long it is remembered that an authorization was used or came too late, after which its `state` is an unknown one.
const REMEMBERED: Duration = Duration::from_secs(24 * 3600);

/// The columns of an [`Authorization`], in the order they are read in.
const COLUMNS: &str =
    "hash, tenant, subject, connector, user_identifier, callback_url, redirect_uri, data_key, verifier, expires_at";

impl Store {
    /// Stores an authorization that begins.
    ///
    /// # Errors
    /// When the holder has too many under way, and when the database does not answer.
    pub async fn save_authorization(&self, authorization: Authorization) -> Result<(), StoreError> {
        self.write(Durability::Power, move |session| {
            session
                .execute("DELETE FROM authorizations WHERE expires_at <= now_ms() - $1", values![millis(REMEMBERED)])?;
            caps::check_authorizations(session, &authorization.holder)?;
            insert(session, &authorization)
        })
        .await
    }

    /// Completes an authorization: of all who ask for one `state`, on whatever gateway, one gets it.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn take_authorization(&self, hash: &StateHash) -> Result<Taken, StoreError> {
        let hash = *hash;
        // Who asks needs no token of ours: what they make up must not keep others from writing.
        let found = self.read(move |session| find(session, &hash)).await?;
        if !matches!(found, Taken::Fresh(_)) {
            return Ok(found);
        }
        self.write(Durability::Power, move |session| take(session, &hash)).await
    }
}

pub(super) fn insert(session: &mut dyn Session, authorization: &Authorization) -> Result<(), StoreError> {
    let verifier = authorization.verifier.as_ref();
    session.execute(
        &format!("INSERT INTO authorizations ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"),
        values![
            &authorization.hash,
            &authorization.holder.tenant,
            &authorization.holder.subject,
            &authorization.holder.connector,
            &authorization.user_identifier,
            &authorization.callback_url,
            &authorization.redirect_uri,
            verifier.map(|sealed| &sealed.key_id),
            verifier.map(|sealed| &sealed.bytes),
            authorization.expires_at,
        ],
    )?;
    Ok(())
}

/// What those who want to complete one authorization wait for each other by.
pub(super) fn turn(hash: &StateHash) -> String {
    format!("authorization\0{hash:?}")
}

/// Takes it, if nobody has since it was found.
fn take(session: &mut dyn Session, hash: &StateHash) -> Result<Taken, StoreError> {
    session.lock(&turn(hash))?;
    let found = find(session, hash)?;
    if matches!(found, Taken::Fresh(_)) {
        // Nobody needs the verifier again.
        session.execute(
            "UPDATE authorizations SET is_used = TRUE, data_key = NULL, verifier = NULL WHERE hash = $1",
            values![hash],
        )?;
    }
    Ok(found)
}

/// What would be taken.
fn find(session: &mut dyn Session, hash: &StateHash) -> Result<Taken, StoreError> {
    let found: Option<(Authorization, bool, bool)> = session.optional(
        &format!("SELECT {COLUMNS}, is_used, expires_at <= now_ms() FROM authorizations WHERE hash = $1"),
        values![hash],
    )?;
    Ok(match found {
        None => Taken::Unknown,
        Some((_, true, _)) => Taken::Used,
        Some((_, false, true)) => Taken::Expired,
        Some((authorization, false, false)) => Taken::Fresh(Box::new(authorization)),
    })
}

impl FromRow for Authorization {
    fn from_row(row: &mut Row) -> Result<Self, StoreError> {
        Ok(Self {
            hash: row.read()?,
            holder: Holder { tenant: row.read()?, subject: row.read()?, connector: row.read()? },
            user_identifier: row.read()?,
            callback_url: row.read()?,
            redirect_uri: row.read()?,
            verifier: read_sealed(row)?,
            expires_at: row.read()?,
        })
    }
}
