//! The integrations of all tenants, for the operator.
//!
//! Every statement reads a page by an index, so that a page costs the same with any number of
//! integrations.

use std::time::SystemTime;

use database::conditions::Conditions;
use database::connection::Connection;
use database::value::values;

use super::queries::select;
use super::{AnyIntegrationFilter, Integration, Status};
use crate::Stored;
use crate::handles::Integrations;

/// The condition of integrations whose refresh was due, and was not done, at the time that follows.
/// The expression is the one of an index.
pub(crate) const OVERDUE_AT: &str = "status = 'active' AND auth_type = 'oauth2' AND
    (CASE WHEN reason IS NULL THEN next_refresh_at ELSE coalesce(refresh_failing_since, next_refresh_at) END) <=";

/// The condition of the integrations that a person names by their id or identifier, or by the id or
/// the email address of the account at its service. Each `?` stands for the name.
pub(crate) const NAMED: &str = "(id = ? OR user_identifier = ? OR account_id = ? OR lower(account_email) = lower(?))";

/// Integrations that are sorted for a page.
const MAX_SORTED: u32 = 10_000;

impl Integrations<'_> {
    /// Returns a page of the integrations of all tenants, the newest first.
    pub async fn all(self, filter: AnyIntegrationFilter) -> Stored<Vec<Integration>> {
        self.0.read(move |connection| {
            let status = filter.status;
            match status {
                None => page(connection, &filter, ""),
                Some(Status::Expired) => {
                    // Each of the two statements has an index. One statement with both conditions has
                    // none. `status <> 'active'` is the condition of an index, and `status || ''` keeps
                    // the databases from using an index that finds nearly all rows.
                    let mut found = page(connection, &filter, "status = 'expired' AND status <> 'active'")?;
                    let ended = "status || '' = 'active' AND next_refresh_at IS NULL AND expires_at IS NOT NULL
                        AND expires_at <= now_ms()";
                    found.extend(page(connection, &filter, ended)?);
                    found.sort_by(|left, right| place(right).cmp(&place(left)));
                    found.truncate(filter.limit as usize);
                    Ok(found)
                }
                Some(Status::Active) => page(
                    connection,
                    &filter,
                    "status = 'active' AND NOT (next_refresh_at IS NULL AND expires_at IS NOT NULL AND expires_at <= now_ms())",
                ),
                Some(Status::Revoked) => page(connection, &filter, "status = 'revoked' AND status <> 'active'"),
            }
        })
        .await
    }
}

fn place(integration: &Integration) -> (SystemTime, &str) {
    (integration.created_at, &integration.id)
}

/// A page of the integrations for which `condition` holds.
fn page(connection: &mut dyn Connection, filter: &AnyIntegrationFilter, condition: &str) -> Stored<Vec<Integration>> {
    let mut conditions = Conditions::with_limit(filter.limit);
    conditions.add(condition);
    let AnyIntegrationFilter { tenant, subject, connector, user_identifier, due_before, before, .. } = filter;
    let equal =
        [("tenant", tenant), ("subject", subject), ("connector", connector), ("user_identifier", user_identifier)];
    for (column, value) in equal {
        conditions.equal(column, value.as_ref());
    }
    conditions.with(NAMED, filter.account.as_ref());
    conditions.compare(OVERDUE_AT, *due_before);
    conditions.after("created_at, id", before.as_ref().map(|(at, id)| (*at, id)));
    let (clause, values) = conditions.finish();
    // With `+ 0`, the databases look for overdue integrations by their own index, and sort them. If
    // there are many, a page is soon found in the order of the list.
    let order = if has_few_overdue(connection, *due_before)? { "created_at + 0" } else { "created_at" };
    connection.all(&select(&format!("{clause} ORDER BY {order} DESC, id DESC LIMIT $1")), &values)
}

/// Returns `true` if the list is about integrations whose refresh was due at a time, and so few of
/// them that they can be sorted.
fn has_few_overdue(connection: &mut dyn Connection, due_before: Option<SystemTime>) -> Stored<bool> {
    let Some(due_before) = due_before else { return Ok(false) };
    let counted: u64 = connection.one(
        &format!("SELECT count(*) FROM (SELECT 1 FROM integrations WHERE {OVERDUE_AT} $1 LIMIT $2) AS overdue"),
        values![due_before, MAX_SORTED],
    )?;
    Ok(counted < u64::from(MAX_SORTED))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::testing::{Site, at_second, details, on_every_database};
    use crate::{AuthType, Connected, Details, Holder};

    on_every_database!(
        the_integrations_of_all_tenants_are_listed_in_pages_the_newest_first,
        many_overdue_integrations_are_listed_in_pages_the_newest_first,
        a_refresh_that_fails_is_overdue_from_the_first_time_that_it_was_due,
        the_list_has_filters,
    );

    async fn connect(site: &Site, tenant: &str, user: &str, details: Details) -> String {
        let holder = Holder { tenant: tenant.into(), subject: "ann".into(), connector: "calendar".into() };
        let connected = site.store.integrations().connect(
            &holder,
            user,
            Connected::new(AuthType::OAuth2, details),
            Vec::new(),
            None,
        );
        let id = connected.await.unwrap().id;
        // Times of creation are in milliseconds.
        tokio::time::sleep(Duration::from_millis(2)).await;
        id
    }

    async fn ids(site: &Site, filter: AnyIntegrationFilter) -> Vec<String> {
        let found = site.store.integrations().all(AnyIntegrationFilter { limit: 10, ..filter }).await.unwrap();
        found.into_iter().map(|integration| integration.id).collect()
    }

    async fn the_integrations_of_all_tenants_are_listed_in_pages_the_newest_first(site: Site) {
        let mut made = Vec::new();
        for number in 0..5 {
            made.insert(0, connect(&site, &format!("t{}", number % 2), &format!("u{number}"), details()).await);
        }
        assert_eq!(ids(&site, AnyIntegrationFilter::default()).await, made);
        let mut seen = Vec::new();
        let mut before = None;
        loop {
            let filter = AnyIntegrationFilter { before: before.clone(), limit: 2, ..AnyIntegrationFilter::default() };
            let page = site.store.integrations().all(filter).await.unwrap();
            let Some(last) = page.last() else { break };
            before = Some((last.created_at, last.id.clone()));
            seen.extend(page.into_iter().map(|integration| integration.id));
        }
        assert_eq!(seen, made);
        let of_one = AnyIntegrationFilter { tenant: Some("t1".into()), ..AnyIntegrationFilter::default() };
        assert_eq!(ids(&site, of_one).await, [made[1].clone(), made[3].clone()]);
    }

    async fn many_overdue_integrations_are_listed_in_pages_the_newest_first(site: Site) {
        const { assert!(MAX_SORTED < 10_005, "the rows are too many to be sorted") };
        site.execute(
            "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10005)
             INSERT INTO integrations (id, tenant, subject, connector, user_identifier, auth_type, created_at, updated_at, status,
                 scopes, next_refresh_at)
             SELECT 'int_' || n, 't', 's', 'mail', 'u' || n, 'oauth2', n, n, 'active', '[]', 1 FROM numbers",
        )
        .await;
        let filter =
            AnyIntegrationFilter { due_before: Some(at_second(20)), limit: 3, ..AnyIntegrationFilter::default() };
        let first = site.store.integrations().all(filter.clone()).await.unwrap();
        let last = first.last().map(|last| (last.created_at, last.id.clone()));
        let second = site.store.integrations().all(AnyIntegrationFilter { before: last, ..filter }).await.unwrap();
        let ids: Vec<_> = first.into_iter().chain(second).map(|integration| integration.id).collect();
        let expected: Vec<_> = (0..6).map(|back| format!("int_{}", 10_005 - back)).collect();
        assert_eq!(ids, expected);
    }

    async fn a_refresh_that_fails_is_overdue_from_the_first_time_that_it_was_due(site: Site) {
        let future = SystemTime::now() + Duration::from_secs(3600);
        let failing =
            Details { next_refresh_at: Some(future), refresh_failing_since: Some(at_second(10)), ..details() };
        let failing = connect(&site, "t", "failing", failing).await;
        let overdue_at = |second| AnyIntegrationFilter { due_before: Some(at_second(second)), ..Default::default() };
        let counted = async |second| site.store.backlog(at_second(second), Duration::ZERO).await.unwrap();
        assert!(ids(&site, overdue_at(9)).await.is_empty() && counted(9).await.overdue_refreshes == 0);
        assert_eq!(ids(&site, overdue_at(10)).await, std::slice::from_ref(&failing));
        assert_eq!(counted(10).await.overdue_refreshes, 1);
        let read = async || site.store.integrations().by_id(&failing).await.unwrap().unwrap().details;
        assert_eq!(read().await.refresh_failing_since, Some(at_second(10)));
        // A gateway of the release before has refreshed the account.
        site.execute("UPDATE integrations SET reason = NULL").await;
        assert!(ids(&site, overdue_at(10)).await.is_empty() && counted(10).await.overdue_refreshes == 0);
        assert_eq!(read().await.refresh_failing_since, None);
    }

    async fn the_list_has_filters(site: Site) {
        let future = SystemTime::now() + Duration::from_secs(3600);
        let good = Details { expires_at: Some(future), next_refresh_at: Some(future), ..details() };
        let active = connect(&site, "t", "active", good.clone()).await;
        let late = connect(&site, "t", "late", Details { next_refresh_at: Some(at_second(10)), ..good.clone() }).await;
        let ended = connect(&site, "t", "ended", Details { next_refresh_at: None, ..details() }).await;
        let expired = connect(&site, "t", "expired", Details { status: Status::Expired, ..good }).await;
        let with = |status| AnyIntegrationFilter { status: Some(status), ..AnyIntegrationFilter::default() };
        assert_eq!(ids(&site, with(Status::Active)).await, [late.clone(), active]);
        assert_eq!(ids(&site, with(Status::Expired)).await, [expired, ended]);
        assert!(ids(&site, with(Status::Revoked)).await.is_empty());
        let overdue = AnyIntegrationFilter { due_before: Some(at_second(20)), ..AnyIntegrationFilter::default() };
        assert_eq!(ids(&site, overdue).await, std::slice::from_ref(&late));
        for filter in [
            AnyIntegrationFilter { subject: Some("bob".into()), ..AnyIntegrationFilter::default() },
            AnyIntegrationFilter { connector: Some("mail".into()), ..AnyIntegrationFilter::default() },
        ] {
            assert!(ids(&site, filter).await.is_empty());
        }
        let named = AnyIntegrationFilter { user_identifier: Some("late".into()), ..AnyIntegrationFilter::default() };
        assert_eq!(ids(&site, named).await, std::slice::from_ref(&late));
        let of = |account: &str| AnyIntegrationFilter { account: Some(account.into()), ..Default::default() };
        assert_eq!(ids(&site, of("late")).await, std::slice::from_ref(&late));
        assert_eq!(ids(&site, of(&late)).await, [late]);
        assert_eq!(ids(&site, of("ANN@example.com")).await.len(), 4, "by the email address at the service");
        assert_eq!(ids(&site, of("1")).await.len(), 4, "by the id at the service");
        assert!(ids(&site, of("bob@example.com")).await.is_empty());
    }
}
