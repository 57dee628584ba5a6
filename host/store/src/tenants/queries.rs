//! Listing tenants.

use database::value::values;

use crate::records::record;
use crate::{Store, Stored};

/// The largest number that a count shows. Counting more rows would make a page slow.
pub const MAX_COUNT: u64 = 1_000;

record! {
    /// The numbers of a tenant's records. No number is larger than [`MAX_COUNT`].
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Tenant {
        /// The name.
        pub name: String,
        /// Valid keys.
        pub keys: u64,
        /// Connected accounts.
        pub integrations: u64,
        /// Jobs that wait to be run.
        pub jobs_pending: u64,
        /// Its own OAuth clients.
        pub oauth_clients: u64,
    }
}

impl Store {
    /// Returns a page of tenants in the order of their names, after the tenant `after`.
    pub async fn tenants(&self, after: &str, limit: u32) -> Stored<Vec<Tenant>> {
        // Each step finds the next name by an index, so that a page reads as many index entries
        // as it has names.
        let next = |previous: &str| {
            let of = |table: &str| format!("SELECT min(tenant) AS name FROM {table} WHERE tenant > {previous}");
            let tables = ["api_keys", "integrations", "jobs", "oauth_clients"].map(of).join(" UNION ALL ");
            format!("(SELECT min(name) FROM ({tables}) AS next_names)")
        };
        let count = |rows: &str| format!("(SELECT count(*) FROM (SELECT 1 FROM {rows} LIMIT {MAX_COUNT}) AS counted)");
        let sql = format!(
            "WITH RECURSIVE names (tenant, position) AS (
                 SELECT {}, CAST(1 AS BIGINT)
                 UNION ALL
                 SELECT {}, position + 1 FROM names WHERE tenant IS NOT NULL AND position < CAST($2 AS BIGINT)
             )
             SELECT tenant, {}, {}, {}, {} FROM names WHERE tenant IS NOT NULL ORDER BY tenant",
            next("CAST($1 AS TEXT)"),
            next("names.tenant"),
            count(
                "api_keys WHERE tenant = names.tenant AND revoked_at IS NULL
                     AND (expires_at IS NULL OR expires_at > now_ms())"
            ),
            count("integrations WHERE tenant = names.tenant"),
            count("jobs WHERE tenant = names.tenant AND status = 'pending'"),
            count("oauth_clients WHERE tenant = names.tenant AND replaced_at IS NULL"),
        );
        self.read_all(sql, values![after, limit]).await
    }
}
