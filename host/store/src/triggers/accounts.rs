//! Changes of accounts, for triggers of the gateway itself. The database notes them in the
//! transaction of the change.

use database::connection::Durability;
use database::value::values;
use vault::Vault;

use super::events::insert_events;
use super::types::{IntegrationChange, NewEvent};
use crate::Stored;
use crate::handles::Events;

impl Events<'_> {
    /// Returns changes of accounts that no event was made of, the oldest first.
    pub async fn integration_changes(self, limit: u32) -> Stored<Vec<IntegrationChange>> {
        let oldest = "SELECT number, tenant, subject, connector, user_identifier, kind FROM integration_changes
             ORDER BY number LIMIT $1";
        self.0.read_all(oldest, values![limit]).await
    }

    /// Stores the events of a change, and forgets it. An event that is known is not stored again,
    /// so it does no harm if two gateways do this.
    pub async fn end_integration_change(self, vault: &Vault, number: i64, events: Vec<NewEvent>) -> Stored<u64> {
        let vault = vault.clone();
        self.0
            .write(Durability::PowerLoss, move |connection| {
                connection.execute("DELETE FROM integration_changes WHERE number = $1", values![number])?;
                insert_events(connection, &vault, &events, &[])
            })
            .await
    }
}
