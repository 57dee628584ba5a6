//! The first step of a database that was restored.

use database::connection::Durability;
use database::health::DEAD;
use database::value::values;

use crate::audit::{Acting, AuditAction, note};
use crate::serving::free_leases;
use crate::{Store, Stored};

/// The changes to a restored database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Accounts whose tokens are refreshed at the next start.
    pub accounts: u64,
    /// Jobs that change data and had not ended. They are not run again.
    pub cut_off_jobs: u64,
}

impl Store {
    /// Prepares a database that was restored from a backup. Call it before a gateway starts.
    ///
    /// The gateway of the backup may have continued for some time, and this database does not know
    /// what it did then. So:
    /// - No lease of a gateway, of a job, of a call or of a delivery is left.
    /// - A job that changes data and had not ended is not run again, also if it was waiting.
    /// - A call that a user had confirmed is not confirmed any more, and operators sign in to the
    ///   console again. Agents need new sessions, because one may have been deleted since the backup.
    /// - The tokens of every account are refreshed at the next start. The provider decides if the
    ///   refresh token is still valid.
    ///
    /// The audit gets an entry with `detail`, which says where the backup came from.
    pub async fn prepare_restored(&self, detail: &str) -> Stored<Restored> {
        let (by, detail) = (Acting::current(), detail.to_owned());
        self.write(Durability::PowerLoss, move |connection| {
            note(connection, &by, AuditAction::DatabaseRestored, "database", "", &detail)?;
            free_leases(connection, &["integrations", "webhook_deliveries"], None)?;
            free_leases(connection, &["idempotency_keys"], Some(DEAD))?;
            // The services may have forgotten a subscription, or know one that this database does not. A step
            // looks if one still waits for the user.
            connection.execute(
                "UPDATE subscriptions SET leased_until = NULL, renew_at = now_ms(), due_at = now_ms(),
                     blocked = CASE WHEN blocked = 'user' THEN blocked END",
                &[],
            )?;
            // The next gateway ends them with an unknown outcome, as jobs of a gateway that died.
            let cut_off_jobs = connection.execute(
                "UPDATE jobs SET status = 'running', leased_until = $1, fence = fence + 1,
                     attempts = CASE WHEN status = 'pending' THEN attempts + 1 ELSE attempts END,
                     started_at = coalesce(started_at, now_ms())
                 WHERE status IN ('pending', 'running') AND changes_data = $2",
                values![DEAD, true],
            )?;
            connection.execute(
                "UPDATE jobs SET leased_until = $1, fence = fence + 1 WHERE status = 'running'",
                values![DEAD],
            )?;
            let sessions = ["confirmations", "console_sessions", "agent_sessions"];
            for emptied in sessions.into_iter().chain(["gateway_connectors", "gateways", "budget_holders"]) {
                connection.execute(&format!("DELETE FROM {emptied}"), &[])?;
            }
            let accounts = connection.execute(
                "UPDATE integrations SET next_refresh_at = now_ms()
                 WHERE status = 'active' AND auth_type = 'oauth2' AND next_refresh_at IS NOT NULL",
                &[],
            )?;
            Ok(Restored { accounts, cut_off_jobs })
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tempfile::TempDir;

    use super::*;
    use crate::testing::{Site, at_second, connect, data_key, details, holder, on_every_database, sealed};
    use crate::{
        AuditFilter, AuthType, Connected, Details, FullShares, IdempotentCall, JobValue, KeyState, NewJob, acting,
        new_job_id,
    };

    on_every_database!(
        no_lease_is_left_in_a_restored_database,
        a_job_that_changes_data_is_not_run_again_and_one_that_reads_is,
        the_tokens_of_every_active_account_are_due,
        the_audit_says_who_has_restored_the_database,
    );

    const LONG: Duration = Duration::from_secs(60);

    async fn no_lease_is_left_in_a_restored_database(site: Site) {
        let store = &site.store;
        let id = connect(store, "ann").await.id;
        let fence = store.integrations().lease_refresh(&id, LONG).await.unwrap().unwrap();
        let call = IdempotentCall::new("acme", "ann", "k", &[b"POST"]);
        assert!(matches!(store.idempotency().begin(&call, LONG, LONG).await.unwrap(), KeyState::New(_)));
        store.prepare_restored("").await.unwrap();
        assert_eq!(store.integrations().lease_refresh(&id, LONG).await.unwrap(), Some(fence + 1));
        assert_eq!(store.idempotency().begin(&call, LONG, LONG).await.unwrap(), KeyState::Lost);
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

    async fn a_job_that_changes_data_is_not_run_again_and_one_that_reads_is(site: Site) {
        let store = &site.store;
        data_key(store, "dk_1").await;
        let jobs = [true, true, false, false].map(job);
        let ids = jobs.each_ref().map(|job| job.id.clone());
        let [running_change, waiting_change, running_read, waiting_read] = jobs;
        for job in [running_change, running_read] {
            store.jobs().add(job, 9).await.unwrap();
            store.jobs().take("one", LONG, FullShares::default()).await.unwrap().unwrap();
        }
        for job in [waiting_change, waiting_read] {
            store.jobs().add(job, 9).await.unwrap();
        }
        assert_eq!(store.prepare_restored("").await.unwrap().cut_off_jobs, 2);
        let (put_back, lost) = store.jobs().take_lost(LONG, 9, 9).await.unwrap();
        let mut lost: Vec<_> = lost.into_iter().map(|job| job.id).collect();
        lost.sort_unstable();
        let mut changes = vec![ids[0].clone(), ids[1].clone()];
        changes.sort_unstable();
        assert_eq!((put_back, lost), (1, changes));
        let mut taken = Vec::new();
        while let Some(job) = store.jobs().take("two", LONG, FullShares::default()).await.unwrap() {
            taken.push(job.id);
        }
        taken.sort_unstable();
        let mut reads = vec![ids[2].clone(), ids[3].clone()];
        reads.sort_unstable();
        assert_eq!(taken, reads);
    }

    async fn the_tokens_of_every_active_account_are_due(site: Site) {
        let store = &site.store;
        let at = |user: &'static str, next: Option<u64>| async move {
            let details = Details { next_refresh_at: next.map(at_second), ..details() };
            store
                .integrations()
                .connect(&holder(), user, Connected::new(AuthType::OAuth2, details), Vec::new(), None)
                .await
                .unwrap()
                .id
        };
        let later = at("later", Some(40_000_000_000)).await;
        at("never", None).await;
        assert_eq!(store.prepare_restored("").await.unwrap().accounts, 1);
        // Later than the clock of the database, and earlier than the time before.
        assert_eq!(store.integrations().due_for_refresh(at_second(20_000_000_000), 9).await.unwrap(), [later]);
    }

    #[tokio::test]
    async fn a_copy_has_what_the_database_has_and_replaces_no_file() {
        let site = Site::sqlite().await;
        data_key(&site.store, "dk_1").await;
        let id = connect(&site.store, "ann").await.id;
        let folder = TempDir::new().unwrap();
        let target = folder.path().join(database::FILE);
        site.store.database.copy_to(&target).await.unwrap();
        assert!(site.store.database.copy_to(&target).await.is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "the copy is one file");
        let copy = Store::open(folder.path()).await.unwrap();
        let needed = async |store| vault::Vault::needed_master_keys(store).await.unwrap();
        assert_eq!(needed(&copy).await, needed(&site.store).await);
        assert!(copy.integrations().lease_refresh(&id, LONG).await.unwrap().is_some());
    }

    async fn the_audit_says_who_has_restored_the_database(site: Site) {
        let restoring = site.store.prepare_restored("the backup of yesterday");
        acting(Acting::person("ann", "host"), restoring).await.unwrap();
        let entries = site.store.audit().list(AuditFilter { limit: 10, ..AuditFilter::default() }).await.unwrap();
        let found: Vec<_> = entries.iter().map(|entry| (&*entry.actor, &*entry.action, &*entry.detail)).collect();
        assert_eq!(found, [("person:ann@host", "database.restored", "the backup of yesterday")]);
    }
}
