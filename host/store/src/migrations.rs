//! The migrations of the tables.

use database::Tables;

/// The text of a migration for a database: one text for both, or one for each of them.
macro_rules! text {
    (both $database:ident $name:literal) => {
        include_str!(concat!("migrations/both/", $name, ".sql"))
    };
    (each $database:ident $name:literal) => {
        include_str!(concat!("migrations/", stringify!($database), "/", $name, ".sql"))
    };
}

/// The texts of migrations for both databases, by the names of their files.
macro_rules! tables {
    (oldest: $oldest:expr, probe: $probe:expr, $($for:ident $name:literal),* $(,)?) => {
        Tables {
            sqlite: &[$(text!($for sqlite $name)),*],
            postgres: &[$(text!($for postgres $name)),*],
            oldest: $oldest,
            probe: $probe,
        }
    };
}

/// The tables of the gateway.
///
/// A release adds tables and columns that the previous release can do without, and a later release
/// removes the unused ones. Each release sets `oldest` to the number of migrations of the release
/// before.
pub(crate) static TABLES: Tables = tables! {
    oldest: 9,
    // Every gateway has a data key.
    probe: [
        "UPDATE data_keys SET created_at = created_at + 1 WHERE retired_at IS NULL",
        "UPDATE data_keys SET created_at = created_at - 1 WHERE retired_at IS NULL",
    ],
    each "0001_initial",
    each "0002_integrations",
    each "0003_webhooks",
    each "0004_jobs",
    each "0005_accounts",
    each "0006_idempotency",
    each "0007_former_grants",
    each "0008_connector_changes",
    both "0009_sealed_storage",
    each "0010_modules",
    each "0011_audit",
    each "0012_key_limits",
    both "0013_labels",
    both "0014_operator_lists",
    each "0015_webhook_lists",
    each "0016_oauth_clients",
    each "0017_calls",
    each "0018_connect_links",
    each "0019_budgets",
    each "0020_tool_sets",
    each "0021_console_sessions",
    both "0022_console_people",
    both "0023_account_addresses",
    both "0024_grant_types",
    each "0025_device_codes",
    each "0026_failing_refreshes",
    both "0027_makers_of_links",
    both "0028_reasons_of_calls",
    each "0029_stored_bytes",
    each "0030_triggers",
    each "0031_agent_sessions",
    each "0032_usage",
    each "0033_agent_triggers",
    both "0034_people",
    each "0035_backlog",
    both "0036_links_of_people",
    both "0037_failed_calls",
    each "0038_inbox_rejections",
    each "0039_addresses_of_subscriptions",
    each "0040_unasked_services",
    each "0041_unknown_accounts",
    both "0042_waiting_webhooks",
    each "0043_told_disabled",
    each "0044_replayed_events",
    both "0045_ended_triggers",
    each "0046_bytes_of_triggers",
};

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::testing::{Site, on_every_database};

    on_every_database!(the_health_check_writes_again_on_the_tables_of_the_gateway);

    #[test]
    fn values_that_connectors_have_stored_survive_the_upgrade_to_sealed_values() {
        let connection = Connection::open_in_memory().unwrap();
        let (before, after) = TABLES.sqlite.split_at(8);
        connection.execute_batch(&before.concat()).unwrap();
        let rows = "INSERT INTO connector_storage VALUES ('demo', 't', 'a', x'01', NULL), ('demo', 't', 'b', x'02', 5)";
        connection.execute_batch(rows).unwrap();
        connection.execute_batch(&after.concat()).unwrap();
        let kept = "SELECT count(*) FROM connector_storage WHERE id IS NULL AND data_key IS NULL AND value <= x'02'";
        assert_eq!(connection.query_row(kept, [], |row| row.get(0)), Ok(2));
    }

    #[test]
    fn requests_that_were_rejected_before_the_upgrade_are_counted_at_their_inbox() {
        let connection = Connection::open_in_memory().unwrap();
        let (before, after) = TABLES.sqlite.split_at(37);
        connection.execute_batch(&before.concat()).unwrap();
        let rows = "INSERT INTO inboxes (id, connector, inbox, tenant, address, created_at) VALUES ('inb_1', 'chat', 'events', '', 'a', 0);
             INSERT INTO hook_requests (at, gateway, address, connector, outcome, events, ms, bytes, remote) VALUES
                 (600000, '', 'inb_1', 'chat', 'rejected', 0, 0, 0, ''), (1199999, '', 'inb_1', 'chat', 'rejected', 0, 0, 0, ''),
                 (600000, '', 'inb_1', 'chat', 'stored', 0, 0, 0, ''), (600000, '', '', '', 'rejected', 0, 0, 0, '')";
        connection.execute_batch(rows).unwrap();
        connection.execute_batch(&after.concat()).unwrap();
        let counted = "SELECT count(*) FROM inbox_rejections WHERE inbox = 'inb_1' AND period = 1 AND requests = 2";
        assert_eq!(connection.query_row(counted, [], |row| row.get(0)), Ok(1));
        assert_eq!(connection.query_row("SELECT count(*) FROM inbox_rejections", [], |row| row.get(0)), Ok(1));
    }

    async fn the_health_check_writes_again_on_the_tables_of_the_gateway(site: Site) {
        crate::testing::data_key(&site.store, "dk_1").await;
        for statement in TABLES.probe {
            assert_eq!(site.execute(statement).await, 1, "{statement}");
        }
    }
}
