//! The lock of the gateway that serves.
//!
//! Only one gateway at a time serves on a SQLite database. After a kill, its leases would make
//! users wait for a process that no longer exists. The next gateway therefore frees them when it
//! starts, if the lock says that no other gateway is alive.

use std::time::Duration;

use database::connection::{Connection, Durability};
use database::health::DEAD;
use database::process_lock::ProcessLock;
use database::value::values;

use crate::{Store, Stored};

/// Name of the lock.
const NAME: &str = "serving";

/// Time between two attempts to take the lock while the previous gateway shuts down.
const LOCK_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The right of a gateway to serve, as later gateways on the same SQLite database see it.
#[derive(Debug)]
pub struct Serving {
    store: Store,
    /// `None` while the previous gateway on this database shuts down, and on PostgreSQL.
    lock: Option<ProcessLock>,
}

impl Store {
    /// Prepares the database for a gateway that begins to serve. Call it before the first lease is
    /// taken.
    ///
    /// On SQLite, leases of a gateway that was killed are free afterwards. On PostgreSQL, where
    /// other gateways may be alive, their leases end by themselves.
    ///
    /// # Errors
    /// Fails if the file of the lock cannot be written.
    pub async fn begin_serving(&self) -> Stored<Serving> {
        let lock = match self.database.is_shared() {
            false => self.database.try_process_lock(NAME).await?,
            true => None,
        };
        if lock.is_some() {
            self.write(Durability::ProcessKill, |connection| {
                free_leases(connection, &["integrations", "webhook_deliveries", "subscriptions"], None)?;
                // It is unknown what these calls and jobs have done.
                free_leases(connection, &["idempotency_keys", "jobs"], Some(DEAD))
            })
            .await?;
        }
        Ok(Serving { store: self.clone(), lock })
    }
}

/// Replaces the end of every lease on the rows of these tables.
pub(crate) fn free_leases(connection: &mut dyn Connection, tables: &[&str], until: Option<i64>) -> Stored<()> {
    for table in tables {
        let free = format!("UPDATE {table} SET leased_until = $1 WHERE leased_until IS NOT NULL");
        connection.execute(&free, values![until])?;
    }
    Ok(())
}

impl Serving {
    /// Holds the lock until the process ends. Takes it as soon as the previous gateway has shut
    /// down.
    pub async fn hold(mut self) {
        while !self.store.database.is_shared() && self.lock.is_none() {
            tokio::time::sleep(LOCK_POLL_INTERVAL).await;
            // Fails while the disk has a problem. The next attempt may succeed.
            self.lock = self.store.database.try_process_lock(NAME).await.unwrap_or_default();
        }
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::testing::{Site, connect, data_key, sealed};
    use crate::{
        ClaimLimits, FullShares, IdempotentCall, JobValue, KeyState, NewDelivery, NewJob, Payload, WebhookSource,
        new_job_id,
    };

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_gateway_on_sqlite_frees_the_leases_of_one_that_was_killed() {
        let site = Site::sqlite().await;
        let killed = site.store.begin_serving().await.unwrap();
        let id = connect(&site.store, "ann").await.id;
        let fence = site.store.integrations().lease_refresh(&id, LONG).await.unwrap().unwrap();
        // The operating system frees the lock of a dead process.
        drop(killed);
        let next = site.open_again().await;
        let _serving = next.begin_serving().await.unwrap();
        assert_eq!(next.integrations().lease_refresh(&id, LONG).await.unwrap(), Some(fence + 1));
    }

    #[tokio::test]
    async fn a_gateway_on_sqlite_frees_the_jobs_calls_and_webhooks_of_one_that_was_killed() {
        let site = Site::sqlite().await;
        let store = &site.store;
        data_key(store, "dk_1").await;
        let killed = store.begin_serving().await.unwrap();
        let [read, change] = [false, true].map(job);
        let ids = [read.id.clone(), change.id.clone()];
        for job in [read, change] {
            store.jobs().add(job, 9).await.unwrap();
            store.jobs().take("one", LONG, FullShares::default()).await.unwrap().unwrap();
        }
        let call = IdempotentCall::new("acme", "ann", "k", &[b"POST"]);
        assert!(matches!(store.idempotency().begin(&call, LONG, LONG).await.unwrap(), KeyState::New(_)));
        store.webhooks().add_deliveries(vec![delivery()]).await.unwrap();
        let limits = ClaimLimits { of_receiver: 9, of_tenant: 9, of_claim: 9, bytes: 1000 };
        assert_eq!(store.webhooks().claim_deliveries(LONG, limits).await.unwrap().len(), 1);

        let next = site.open_again().await;
        // While the first one lives, the next one gets nothing of it.
        let waiting = next.begin_serving().await.unwrap();
        assert_eq!(next.jobs().take_lost(LONG, 9, 9).await.unwrap(), (0, vec![]));
        assert_eq!(next.idempotency().begin(&call, LONG, LONG).await.unwrap(), KeyState::Running);
        assert_eq!(next.webhooks().claim_deliveries(LONG, limits).await.unwrap(), []);
        drop((killed, waiting));
        let _serving = next.begin_serving().await.unwrap();
        let (put_back, lost) = next.jobs().take_lost(LONG, 9, 9).await.unwrap();
        let lost: Vec<_> = lost.into_iter().map(|job| job.id).collect();
        assert_eq!((put_back, lost), (1, vec![ids[1].clone()]), "a change is not run again");
        assert_eq!(next.jobs().take("one", LONG, FullShares::default()).await.unwrap().unwrap().id, ids[0]);
        assert_eq!(next.idempotency().begin(&call, LONG, LONG).await.unwrap(), KeyState::Lost);
        assert_eq!(next.webhooks().claim_deliveries(LONG, limits).await.unwrap().len(), 1);
    }

    fn job(changes_data: bool) -> NewJob {
        NewJob {
            id: new_job_id().unwrap(),
            tenant: "acme".into(),
            subject: "ann".into(),
            connector: "calendar".into(),
            operation: "search".into(),
            user_identifier: None,
            key_id: None,
            changes_data,
            values: vec![(JobValue::Input, sealed("dk_1"))],
        }
    }

    fn delivery() -> NewDelivery {
        NewDelivery {
            webhook_id: "msg_1".into(),
            tenant: "acme".into(),
            source: WebhookSource::Event,
            receiver: "one".into(),
            url: sealed("dk_1"),
            url_hash: "one".into(),
            payload: Arc::new(Payload { id: "one".into(), sealed: sealed("dk_1") }),
            kept_for: Duration::ZERO,
        }
    }

    #[tokio::test]
    async fn a_gateway_on_sqlite_leaves_the_leases_of_one_that_is_alive() {
        let site = Site::sqlite().await;
        let _alive = site.store.begin_serving().await.unwrap();
        let id = connect(&site.store, "ann").await.id;
        site.store.integrations().lease_refresh(&id, LONG).await.unwrap().unwrap();
        let next = site.open_again().await;
        let _serving = next.begin_serving().await.unwrap();
        assert_eq!(next.integrations().lease_refresh(&id, LONG).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_gateway_on_postgres_leaves_the_leases_of_others() {
        let site = Site::postgres().await;
        let id = connect(&site.store, "ann").await.id;
        let next = site.open_again().await;
        let _serving = next.begin_serving().await.unwrap();
        site.store.integrations().lease_refresh(&id, Duration::ZERO).await.unwrap().unwrap();
        assert_eq!(
            next.integrations().lease_refresh(&id, LONG).await.unwrap(),
            None,
            "the database may have been away"
        );
        next.database.health().pass_grace();
        assert!(next.integrations().lease_refresh(&id, LONG).await.unwrap().is_some());
    }
}
