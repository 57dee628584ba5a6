//! Refresh leases. Of all gateways on one database, one at a time refreshes the tokens of an
//! integration.
//!
//! A lease ends if its worker does not renew it, because the worker may have died. A worker may
//! also be slower than the lease. Each lease therefore has a number, the fence, which is higher
//! than every earlier fence of the integration. A write with an old fence has no effect, so a slow
//! worker cannot overwrite the tokens of its successor.
//!
//! The clock of the database says when a lease ends, but it does not give the lease to another
//! process: see [`database::health`].

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use database::connection::Durability;
use database::time::millis;
use database::value::values;

use crate::Stored;
use crate::handles::Integrations;

impl Integrations<'_> {
    /// Returns the ids of active integrations whose tokens are due for a refresh at `now` and that
    /// have no lease. The most urgent one comes first.
    pub async fn due_for_refresh(self, now: SystemTime, limit: u32) -> Stored<Vec<String>> {
        // SQLite prepares a statement again each time its limit is bound.
        let due = format!(
            "SELECT id FROM integrations
             WHERE status = 'active' AND auth_type = 'oauth2' AND next_refresh_at <= $1
                 AND (leased_until IS NULL OR leased_until <= now_ms())
             ORDER BY next_refresh_at LIMIT {limit}"
        );
        self.0.read_all(due, values![now]).await
    }

    /// Returns the ids of active integrations whose tokens have expired at `now` and that no
    /// refresh can help. The oldest one comes first.
    pub async fn ended_without_refresh(self, now: SystemTime, limit: u32) -> Stored<Vec<String>> {
        let ended = format!(
            "SELECT id FROM integrations
             WHERE status = 'active' AND auth_type = 'oauth2' AND next_refresh_at IS NULL AND expires_at <= $1
             ORDER BY expires_at LIMIT {limit}"
        );
        self.0.read_all(ended, values![now]).await
    }

    /// Takes the lease of an integration for the time `life`, by the clock of the database, and
    /// returns its fence. Returns `None` if another worker has the lease, or if there is no such
    /// integration.
    ///
    /// A lease that has ended without a release is taken over once this process has seen it
    /// abandoned ([`database::health`]). So callers repeat the call.
    pub async fn lease_refresh(self, id: &str, life: Duration) -> Stored<Option<i64>> {
        let (id, health) = (id.to_owned(), Arc::clone(self.0.database.health()));
        // A database server may lose its power while the worker continues. Its lease must then not
        // be given to another one.
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let taken = connection.optional(
                    "UPDATE integrations SET fence = fence + 1, leased_until = now_ms() + $1
                 WHERE id = $2 AND leased_until IS NULL RETURNING fence",
                    values![millis(life), &id],
                )?;
                if taken.is_some() {
                    return Ok(taken);
                }
                // A lease that would last longer than any is the trace of a clock that was set back.
                let ended: Option<(i64, i64)> = connection.optional(
                    "SELECT fence, leased_until FROM integrations
                 WHERE id = $1 AND (leased_until <= now_ms() OR leased_until > now_ms() + $2)",
                    values![&id, millis(life)],
                )?;
                let Some((fence, leased_until)) = ended else { return Ok(None) };
                if !health.is_abandoned(&id, fence, leased_until) {
                    return Ok(None);
                }
                connection.optional(
                    "UPDATE integrations SET fence = fence + 1, leased_until = now_ms() + $1
                 WHERE id = $2 AND fence = $3 AND leased_until = $4 RETURNING fence",
                    values![millis(life), &id, fence, leased_until],
                )
            })
            .await
    }

    /// Extends a lease to the time `life` from now. Does nothing if it was released, or if another
    /// worker has taken the lease since.
    pub async fn renew_refresh(self, id: &str, fence: i64, life: Duration) -> Stored<()> {
        let renew = "UPDATE integrations SET leased_until = now_ms() + $1
             WHERE id = $2 AND fence = $3 AND leased_until IS NOT NULL";
        self.0.execute(Durability::ProcessKill, renew, values![millis(life), id, fence]).await.map(drop)
    }

    /// Releases a lease. Does nothing if another worker has taken the lease since.
    ///
    /// # Errors
    /// Fails if the database does not answer. The lease then expires.
    pub async fn release_refresh(self, id: &str, fence: i64) -> Stored<()> {
        let release = "UPDATE integrations SET leased_until = NULL WHERE id = $1 AND fence = $2";
        self.0.execute(Durability::ProcessKill, release, values![id, fence]).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Site, at_second, connect, details, holder, on_every_database};
    use crate::{AuthType, Connected, Details, Integration, Status, Store};

    on_every_database!(
        due_integrations_are_active_late_and_without_a_lease,
        ended_integrations_are_active_and_have_expired_tokens_that_no_refresh_can_help,
        one_of_many_gets_the_lease_and_the_next_one_after_it_was_released_or_ended,
        a_worker_whose_lease_has_ended_overwrites_nothing_of_its_successor,
        an_ended_lease_is_taken_over_after_the_grace_time_and_a_released_one_immediately,
        a_lease_that_is_renewed_in_the_grace_time_is_not_taken_over,
        a_lease_is_renewed_until_it_is_released_or_taken_over,
    );

    async fn due_integrations_are_active_late_and_without_a_lease(site: Site) {
        let store = &site.store;
        let at = |user: &'static str, auth_type, status, next: Option<u64>| async move {
            let details = Details { status, next_refresh_at: next.map(at_second), ..details() };
            store
                .integrations()
                .connect(&holder(), user, Connected::new(auth_type, details), Vec::new(), None)
                .await
                .unwrap()
                .id
        };
        let late = at("late", AuthType::OAuth2, Status::Active, Some(20)).await;
        let later = at("later", AuthType::OAuth2, Status::Active, Some(10)).await;
        let leased = at("leased", AuthType::OAuth2, Status::Active, Some(10)).await;
        at("early", AuthType::OAuth2, Status::Active, Some(40)).await;
        at("never", AuthType::OAuth2, Status::Active, None).await;
        at("expired", AuthType::OAuth2, Status::Expired, Some(10)).await;
        at("key", AuthType::ApiKey, Status::Active, Some(10)).await;
        store.integrations().lease_refresh(&leased, Duration::from_secs(60)).await.unwrap().unwrap();
        assert_eq!(store.integrations().due_for_refresh(at_second(30), 10).await.unwrap(), [later.clone(), late]);
        assert_eq!(store.integrations().due_for_refresh(at_second(30), 1).await.unwrap(), [later]);
    }

    async fn ended_integrations_are_active_and_have_expired_tokens_that_no_refresh_can_help(site: Site) {
        let store = &site.store;
        let at = |user: &'static str, status, expiry: Option<u64>, next: Option<u64>| async move {
            let (expires_at, next_refresh_at) = (expiry.map(at_second), next.map(at_second));
            let details = Details { status, expires_at, next_refresh_at, ..details() };
            store
                .integrations()
                .connect(&holder(), user, Connected::new(AuthType::OAuth2, details), Vec::new(), None)
                .await
                .unwrap()
                .id
        };
        let late = at("late", Status::Active, Some(20), None).await;
        let later = at("later", Status::Active, Some(10), None).await;
        at("good", Status::Active, Some(40), None).await;
        at("endless", Status::Active, None, None).await;
        at("refreshed", Status::Active, Some(10), Some(5)).await;
        at("known", Status::Expired, Some(10), None).await;
        assert_eq!(store.integrations().ended_without_refresh(at_second(30), 10).await.unwrap(), [later.clone(), late]);
        assert_eq!(store.integrations().ended_without_refresh(at_second(30), 1).await.unwrap(), [later]);
    }

    async fn one_of_many_gets_the_lease_and_the_next_one_after_it_was_released_or_ended(site: Site) {
        let integration = connect(&site.store, "ann").await;
        let other = site.open_again().await;
        let asking: Vec<_> = (0..10)
            .map(|number| {
                let store = if number % 2 == 0 { &site.store } else { &other }.clone();
                let id = integration.id.clone();
                tokio::spawn(
                    async move { store.integrations().lease_refresh(&id, Duration::from_secs(60)).await.unwrap() },
                )
            })
            .collect();
        let mut fences = Vec::new();
        for answer in asking {
            fences.extend(answer.await.unwrap());
        }
        let [fence] = fences[..] else { panic!("{} have the lease", fences.len()) };

        other.integrations().release_refresh(&integration.id, fence + 1).await.unwrap();
        assert_eq!(other.integrations().lease_refresh(&integration.id, Duration::ZERO).await.unwrap(), None);
        other.integrations().release_refresh(&integration.id, fence).await.unwrap();
        // This lease ends in the moment in which it is taken.
        assert_eq!(other.integrations().lease_refresh(&integration.id, Duration::ZERO).await.unwrap(), Some(fence + 1));
        assert_eq!(take_over(&other, &integration.id, Duration::from_secs(60)).await, Some(fence + 2));
        assert_eq!(other.integrations().lease_refresh("int_x", Duration::from_secs(60)).await.unwrap(), None);
    }

    async fn a_worker_whose_lease_has_ended_overwrites_nothing_of_its_successor(site: Site) {
        let store = &site.store;
        let Integration { id, version, .. } = connect(store, "ann").await;
        let late = store.integrations().lease_refresh(&id, Duration::ZERO).await.unwrap().unwrap();
        let next = take_over(store, &id, Duration::from_secs(60)).await.unwrap();
        assert_eq!(store.integrations().update_leased(&id, version, late, details(), Vec::new()).await.unwrap(), None);
        store.integrations().release_refresh(&id, late).await.unwrap();
        assert_eq!(store.integrations().lease_refresh(&id, Duration::from_secs(60)).await.unwrap(), None);

        assert_eq!(
            store.integrations().update_leased(&id, version + 1, next, details(), Vec::new()).await.unwrap(),
            None
        );
        let written =
            store.integrations().update_leased(&id, version, next, details(), Vec::new()).await.unwrap().unwrap();
        assert_eq!(written.version, version + 1);
        // The update has also released the lease.
        assert_eq!(store.integrations().lease_refresh(&id, Duration::from_secs(60)).await.unwrap(), Some(next + 1));
    }

    /// Takes over a lease that has ended, as a process does that has seen it ended for long enough.
    async fn take_over(store: &Store, id: &str, life: Duration) -> Option<i64> {
        assert_eq!(store.integrations().lease_refresh(id, life).await.unwrap(), None);
        store.database.health().pass_grace();
        store.integrations().lease_refresh(id, life).await.unwrap()
    }

    async fn an_ended_lease_is_taken_over_after_the_grace_time_and_a_released_one_immediately(site: Site) {
        let (store, other) = (&site.store, site.open_again().await);
        let id = connect(store, "ann").await.id;
        let fence = store.integrations().lease_refresh(&id, Duration::ZERO).await.unwrap().unwrap();
        assert_eq!(other.integrations().lease_refresh(&id, Duration::ZERO).await.unwrap(), None);
        other.database.health().pass_grace();
        let failing = other.read(|connection| connection.query("SELECT nothing FROM nowhere", &[]).map(drop));
        assert!(failing.await.unwrap_err().is_failure());
        assert_eq!(take_over(&other, &id, Duration::ZERO).await, Some(fence + 1), "the failure began the time again");
        store.integrations().release_refresh(&id, fence + 1).await.unwrap();
        assert_eq!(other.integrations().lease_refresh(&id, Duration::ZERO).await.unwrap(), Some(fence + 2));
    }

    async fn a_lease_that_is_renewed_in_the_grace_time_is_not_taken_over(site: Site) {
        let (store, other) = (&site.store, site.open_again().await);
        let id = connect(store, "ann").await.id;
        let fence = store.integrations().lease_refresh(&id, Duration::ZERO).await.unwrap().unwrap();
        assert_eq!(other.integrations().lease_refresh(&id, Duration::from_secs(60)).await.unwrap(), None);
        tokio::time::sleep(Duration::from_millis(2)).await;
        store.integrations().renew_refresh(&id, fence, Duration::ZERO).await.unwrap();
        other.database.health().pass_grace();
        assert_eq!(other.integrations().lease_refresh(&id, Duration::from_secs(60)).await.unwrap(), None);
        // The clock of the database is set back by an hour.
        store.integrations().renew_refresh(&id, fence, Duration::from_secs(3600)).await.unwrap();
        assert_eq!(take_over(&other, &id, Duration::from_secs(60)).await, Some(fence + 1));
    }

    async fn a_lease_is_renewed_until_it_is_released_or_taken_over(site: Site) {
        const LONG: Duration = Duration::from_secs(60);
        let store = &site.store;
        let id = connect(store, "ann").await.id;
        let fence = store.integrations().lease_refresh(&id, Duration::ZERO).await.unwrap().unwrap();
        store.integrations().renew_refresh(&id, fence, LONG).await.unwrap();
        assert_eq!(store.integrations().lease_refresh(&id, LONG).await.unwrap(), None);
        store.integrations().renew_refresh(&id, fence, Duration::ZERO).await.unwrap();
        let next = take_over(store, &id, Duration::ZERO).await.unwrap();
        store.integrations().renew_refresh(&id, fence, LONG).await.unwrap();
        assert_eq!(take_over(store, &id, Duration::ZERO).await, Some(next + 1));
        store.integrations().release_refresh(&id, next + 1).await.unwrap();
        store.integrations().renew_refresh(&id, next + 1, LONG).await.unwrap();
        assert_eq!(store.integrations().lease_refresh(&id, LONG).await.unwrap(), Some(next + 2));
    }
}
