//! The migrations of the tables.

use database::Tables;

/// The texts of migrations for both databases, by the names of their files.
macro_rules! tables {
    (oldest: $oldest:expr, probe: $probe:expr, $($name:literal),* $(,)?) => {
        Tables {
            sqlite: &[$(include_str!(concat!("migrations/sqlite/", $name, ".sql"))),*],
            postgres: &[$(include_str!(concat!("migrations/postgres/", $name, ".sql"))),*],
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
    "0001_initial",
    "0002_integrations",
    "0003_webhooks",
    "0004_jobs",
    "0005_accounts",
    "0006_idempotency",
    "0007_former_grants",
    "0008_connector_changes",
    "0009_sealed_storage",
    "0010_modules",
    "0011_audit",
    "0012_key_limits",
    "0013_labels",
    "0014_operator_lists",
    "0015_webhook_lists",
    "0016_oauth_clients",
    "0017_calls",
    "0018_connect_links",
    "0019_budgets",
    "0020_tool_sets",
    "0021_console_sessions",
    "0022_console_people",
    "0023_account_addresses",
    "0024_grant_types",
    "0025_device_codes",
    "0026_failing_refreshes",
    "0027_makers_of_links",
    "0028_reasons_of_calls",
    "0029_stored_bytes",
    "0030_triggers",
    "0031_agent_sessions",
    "0032_usage",
    "0033_agent_triggers",
    "0034_people",
    "0035_backlog",
    "0036_links_of_people",
    "0037_failed_calls",
    "0038_inbox_rejections",
    "0039_addresses_of_subscriptions",
    "0040_unasked_services",
    "0041_unknown_accounts",
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
