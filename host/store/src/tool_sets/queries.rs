//! Adding, finding, listing and deleting tool sets.

use database::connection::{Connection, Durability};
use database::value::values;

use super::{NewToolSet, StoredToolSet};
use crate::audit::{self, Acting, AuditAction};
use crate::handles::ToolSets;
use crate::{StoreError, Stored};

/// Tool sets of one tenant. Without the limit, one tenant could fill the database.
const MAX_SETS: u64 = 1_000;

const COLUMNS: &str = "name, definition, created_by, created_at";

impl ToolSets<'_> {
    /// Adds a tool set, and returns it.
    ///
    /// # Errors
    /// Fails with [`StoreError::Duplicate`] if the tenant has one of this name, or with
    /// [`StoreError::TooManyToolSets`] if it has too many.
    pub async fn add(self, new: NewToolSet) -> Stored<StoredToolSet> {
        let (by, quota) = (Acting::current(), self.0.quota);
        self.0
            .write(Durability::PowerLoss, move |connection| {
                quota.check(connection, &new.tenant)?;
                let known: u64 =
                    connection.one("SELECT count(*) FROM tool_sets WHERE tenant = $1", values![&new.tenant])?;
                if known >= MAX_SETS && find(connection, &new.tenant, &new.name)?.is_none() {
                    return Err(StoreError::TooManyToolSets { limit: MAX_SETS });
                }
                let added = connection.execute(
                    "INSERT INTO tool_sets (tenant, name, definition, created_by, created_at)
                 VALUES ($1, $2, $3, $4, now_ms()) ON CONFLICT (tenant, name) DO NOTHING",
                    values![&new.tenant, &new.name, &new.definition, by.actor()],
                )?;
                if added == 0 {
                    return Err(StoreError::Duplicate);
                }
                audit::note(connection, &by, AuditAction::ToolSetCreated, &new.name, &new.tenant, "")?;
                find(connection, &new.tenant, &new.name)?.ok_or(StoreError::Unexpected("a tool set was not stored"))
            })
            .await
    }

    /// Returns the tool set of a tenant with this name.
    pub async fn get(self, tenant: &str, name: &str) -> Stored<Option<StoredToolSet>> {
        let [tenant, name] = [tenant, name].map(str::to_owned);
        self.0.read(move |connection| find(connection, &tenant, &name)).await
    }

    /// Returns a page of the tool sets of a tenant in the order of their names, after the name
    /// `after`.
    pub async fn list(self, tenant: &str, after: &str, limit: u32) -> Stored<Vec<StoredToolSet>> {
        let page = "WHERE tenant = $1 AND name > $2 ORDER BY name LIMIT $3";
        self.0.read_all(format!("SELECT {COLUMNS} FROM tool_sets {page}"), values![tenant, after, limit]).await
    }

    /// Deletes a tool set of a tenant. Returns `false` if there is none of this name.
    pub async fn delete(self, tenant: &str, name: &str) -> Stored<bool> {
        let [tenant, name] = [tenant, name].map(str::to_owned);
        let by = Acting::current();
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let deleted = connection
                    .execute("DELETE FROM tool_sets WHERE tenant = $1 AND name = $2", values![&tenant, &name])?;
                if deleted > 0 {
                    audit::note(connection, &by, AuditAction::ToolSetDeleted, &name, &tenant, "")?;
                }
                Ok(deleted > 0)
            })
            .await
    }
}

fn find(connection: &mut dyn Connection, tenant: &str, name: &str) -> Stored<Option<StoredToolSet>> {
    connection
        .optional(&format!("SELECT {COLUMNS} FROM tool_sets WHERE tenant = $1 AND name = $2"), values![tenant, name])
}
