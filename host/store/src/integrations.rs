//! Storing integrations.

use std::time::SystemTime;

use super::id::random_id;
use super::integration::{Account, AuthType, Details, Holder, Integration, Status};
use super::session::{Durability, FromRow, FromValue, Row, Session, Value, values};
use super::{Sealed, Store, StoreError, caps, storage};

/// The columns of an [`Integration`], in the order they are read in.
const COLUMNS: &str =
    "id, tenant, subject, connector, user_identifier, auth_type, selected, created_at, updated_at, version,
    status, reason, account_id, account_email, account_name, scopes, expires_at, last_refreshed_at, next_refresh_at,
    data_key, secret";

/// Those of [`Details`] alone, which are written as a whole.
const SET_DETAILS: &str =
    "status = $1, reason = $2, account_id = $3, account_email = $4, account_name = $5, scopes = $6,
    expires_at = $7, last_refreshed_at = $8, next_refresh_at = $9, data_key = $10, secret = $11,
    version = version + 1, updated_at = now_ms()";

impl Store {
    /// Stores an integration, or writes over the one that the holder has under this `user_identifier`, which keeps its id and
    /// whether it is selected, and what its connector stored for it unless that was for another account.
    ///
    /// # Errors
    /// When the holder has too many, and when the database does not answer.
    pub async fn connect_integration(
        &self,
        holder: &Holder,
        user_identifier: &str,
        auth_type: AuthType,
        details: Details,
    ) -> Result<Integration, StoreError> {
        let (holder, user_identifier) = (holder.clone(), user_identifier.to_owned());
        let id = random_id("int_")?;
        self.write(Durability::Power, move |session| {
            make_way(session, &holder, &user_identifier, &details.account)?;
            session.one(
                &format!(
                    "INSERT INTO integrations (status, reason, account_id, account_email, account_name, scopes, expires_at,
                         last_refreshed_at, next_refresh_at, data_key, secret, id, tenant, subject, connector,
                         user_identifier, auth_type, created_at, updated_at)
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, now_ms(), now_ms())
                     ON CONFLICT (tenant, subject, connector, user_identifier) DO UPDATE SET
                         status = excluded.status, reason = excluded.reason, account_id = excluded.account_id,
                         account_email = excluded.account_email, account_name = excluded.account_name,
                         scopes = excluded.scopes, expires_at = excluded.expires_at,
                         last_refreshed_at = excluded.last_refreshed_at, next_refresh_at = excluded.next_refresh_at,
                         data_key = excluded.data_key, secret = excluded.secret, auth_type = excluded.auth_type,
                         version = integrations.version + 1, updated_at = excluded.updated_at
                     RETURNING {COLUMNS}"
                ),
                &with_details(
                    &details,
                    values![
                        &id,
                        &holder.tenant,
                        &holder.subject,
                        &holder.connector,
                        &user_identifier,
                        auth_type.name()
                    ],
                ),
            )
        })
        .await
    }

    /// The integration that a holder has under a `user_identifier`.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn integration(&self, holder: &Holder, user_identifier: &str) -> Result<Option<Integration>, StoreError> {
        let (holder, user_identifier) = (holder.clone(), user_identifier.to_owned());
        self.read(move |session| find(session, &holder, &user_identifier)).await
    }

    /// The integration with an id.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn integration_by_id(&self, id: &str) -> Result<Option<Integration>, StoreError> {
        let id = id.to_owned();
        self.read(move |session| session.optional(&select("WHERE id = $1"), values![&id])).await
    }

    /// All integrations of a holder, the oldest first.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn integrations_of(&self, holder: &Holder) -> Result<Vec<Integration>, StoreError> {
        let holder = holder.clone();
        self.read(move |session| {
            session.all(
                &select("WHERE tenant = $1 AND subject = $2 AND connector = $3 ORDER BY created_at, id"),
                values![&holder.tenant, &holder.subject, &holder.connector],
            )
        })
        .await
    }

    /// All integrations of a user, whatever the connector, the oldest first.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn integrations_of_subject(&self, tenant: &str, subject: &str) -> Result<Vec<Integration>, StoreError> {
        let (tenant, subject) = (tenant.to_owned(), subject.to_owned());
        self.read(move |session| {
            session
                .all(&select("WHERE tenant = $1 AND subject = $2 ORDER BY created_at, id"), values![&tenant, &subject])
        })
        .await
    }

    /// Makes an integration the one to use where none is named; none of the holder's others is from then on. None where there
    /// is no such integration, and then nothing changes.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn select_integration(
        &self,
        holder: &Holder,
        user_identifier: &str,
    ) -> Result<Option<Integration>, StoreError> {
        let (holder, user_identifier) = (holder.clone(), user_identifier.to_owned());
        self.write(Durability::Power, move |session| select_one(session, &holder, &user_identifier)).await
    }

    /// Writes the details, if nobody has since `expected_version` was read; none where somebody has, or where the integration
    /// is gone.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn update_integration(
        &self,
        id: &str,
        expected_version: i64,
        details: Details,
    ) -> Result<Option<Integration>, StoreError> {
        let id = id.to_owned();
        self.write(Durability::Power, move |session| {
            session.optional(
                &format!("UPDATE integrations SET {SET_DETAILS} WHERE id = $12 AND version = $13 RETURNING {COLUMNS}"),
                &with_details(&details, values![&id, expected_version]),
            )
        })
        .await
    }

    /// As [`Store::update_integration`], for who holds the lease with this number; gives the lease back.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn update_leased(
        &self,
        id: &str,
        expected_version: i64,
        fence: i64,
        details: Details,
    ) -> Result<Option<Integration>, StoreError> {
        let id = id.to_owned();
        self.write(Durability::Power, move |session| {
            session.optional(
                &format!(
                    "UPDATE integrations SET {SET_DETAILS}, leased_until = NULL
                     WHERE id = $12 AND version = $13 AND fence = $14 RETURNING {COLUMNS}"
                ),
                &with_details(&details, values![&id, expected_version, fence]),
            )
        })
        .await
    }

    /// Removes an integration, if its row is still of this version, and what its connector stored for it. Says whether it was.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn delete_integration(&self, id: &str, version: i64) -> Result<bool, StoreError> {
        let id = id.to_owned();
        self.write(Durability::Power, move |session| {
            let connector: Option<String> = session.optional(
                "DELETE FROM integrations WHERE id = $1 AND version = $2 RETURNING connector",
                values![&id, version],
            )?;
            let Some(connector) = connector else { return Ok(false) };
            storage::clear(session, &connector, &id)?;
            Ok(true)
        })
        .await
    }
}

/// Sees to it that there is room for what is to be connected, and that it finds nothing of another account's.
fn make_way(
    session: &mut dyn Session,
    holder: &Holder,
    user_identifier: &str,
    account: &Account,
) -> Result<(), StoreError> {
    let Holder { tenant, subject, connector } = holder;
    // Of two that connect at once, the second must find the account of the first.
    session.lock(&format!("connection\0{tenant}\0{subject}\0{connector}\0{user_identifier}"))?;
    let Some(former) = find(session, holder, user_identifier)? else {
        return caps::check_integrations(session, holder);
    };
    if account.id.is_some() && account.id != former.details.account.id {
        storage::clear(session, connector, &former.id)?;
    }
    Ok(())
}

fn find(session: &mut dyn Session, holder: &Holder, user_identifier: &str) -> Result<Option<Integration>, StoreError> {
    session.optional(
        &select("WHERE tenant = $1 AND subject = $2 AND connector = $3 AND user_identifier = $4"),
        values![&holder.tenant, &holder.subject, &holder.connector, user_identifier],
    )
}

fn select_one(
    session: &mut dyn Session,
    holder: &Holder,
    user_identifier: &str,
) -> Result<Option<Integration>, StoreError> {
    let Holder { tenant, subject, connector } = holder;
    // Two selections at once would each leave its own one selected.
    session.lock(&format!("selection\0{tenant}\0{subject}\0{connector}"))?;
    let Some(mut integration) = find(session, holder, user_identifier)? else { return Ok(None) };
    if !integration.selected {
        session.execute(
            "UPDATE integrations SET selected = FALSE
             WHERE tenant = $1 AND subject = $2 AND connector = $3 AND selected",
            values![tenant, subject, connector],
        )?;
        let updated_at: Option<SystemTime> = session.optional(
            "UPDATE integrations SET selected = TRUE, updated_at = now_ms() WHERE id = $1 RETURNING updated_at",
            values![&integration.id],
        )?;
        // Deleted a moment ago.
        let Some(updated_at) = updated_at else { return Ok(None) };
        (integration.selected, integration.updated_at) = (true, updated_at);
    }
    Ok(Some(integration))
}

fn select(condition: &str) -> String {
    format!("SELECT {COLUMNS} FROM integrations {condition}")
}

/// The parameters of the details, and others after them.
fn with_details(details: &Details, others: &[Value]) -> Vec<Value> {
    let secret = details.secret.as_ref();
    let mut values = vec![
        details.status.name().into(),
        (&details.reason).into(),
        (&details.account.id).into(),
        (&details.account.email).into(),
        (&details.account.name).into(),
        serde_json::Value::from(details.scopes.clone()).to_string().into(),
        details.expires_at.into(),
        details.last_refreshed_at.into(),
        details.next_refresh_at.into(),
        secret.map(|sealed| &sealed.key_id).into(),
        secret.map(|sealed| &sealed.bytes).into(),
    ];
    values.extend_from_slice(others);
    values
}

impl FromRow for Integration {
    fn from_row(row: &mut Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.read()?,
            holder: Holder { tenant: row.read()?, subject: row.read()?, connector: row.read()? },
            user_identifier: row.read()?,
            auth_type: row.read()?,
            selected: row.read()?,
            created_at: row.read()?,
            updated_at: row.read()?,
            version: row.read()?,
            details: Details {
                status: row.read()?,
                reason: row.read()?,
                account: Account { id: row.read()?, email: row.read()?, name: row.read()? },
                scopes: row.read::<Scopes>()?.0,
                expires_at: row.read()?,
                last_refreshed_at: row.read()?,
                next_refresh_at: row.read()?,
                secret: read_sealed(row)?,
            },
        })
    }
}

/// Two columns: the key's id and the bytes.
pub(super) fn read_sealed(row: &mut Row) -> Result<Option<Sealed>, StoreError> {
    let (key_id, bytes) = (row.read::<Option<String>>()?, row.read::<Option<Vec<u8>>>()?);
    Ok(key_id.zip(bytes).map(|(key_id, bytes)| Sealed { key_id, bytes }))
}

/// A JSON list.
struct Scopes(Vec<String>);

impl FromValue for Scopes {
    fn from_value(value: Value) -> Option<Self> {
        serde_json::from_str(&String::from_value(value)?).ok().map(Self)
    }
}

impl FromValue for AuthType {
    fn from_value(value: Value) -> Option<Self> {
        Self::from_name(&String::from_value(value)?)
    }
}

impl FromValue for Status {
    fn from_value(value: Value) -> Option<Self> {
        Self::from_name(&String::from_value(value)?)
    }
}
