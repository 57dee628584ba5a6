//! Adding, listing and deleting records of calls.

use std::time::Duration;

use database::conditions::Conditions;
use database::connection::{Connection, Durability};
use database::time::millis;
use database::value::{Value, values, without_zero_bytes};

use super::types::{COLUMN_COUNT, COLUMNS};
use super::{CallFilter, RecordedCall};
use crate::Stored;
use crate::handles::Calls;
use crate::integrations::NAMED;

/// The place of the time of a call in [`COLUMNS`].
const AT: usize = 1;

/// Records that one statement adds. Fewer are added one by one, so that there are two texts of
/// statements to prepare, and not one for each number.
const ROWS: usize = 32;

impl Calls<'_> {
    /// Adds records, each with the time since its call arrived. If there are then more than `max`,
    /// the oldest ones are deleted, at most two for each record that was added.
    pub async fn record(self, calls: Vec<(Duration, RecordedCall)>, max: u32) -> Stored<()> {
        self.0
            .write(Durability::ProcessKill, move |connection| {
                let deleted = calls.len() * 2;
                let mut rows = calls.into_iter().map(parameters).peekable();
                while rows.peek().is_some() {
                    let chunk: Vec<_> = rows.by_ref().take(ROWS).collect();
                    match chunk.len() {
                        ROWS => insert(connection, ROWS, &chunk.concat())?,
                        _ => chunk.iter().try_for_each(|row| insert(connection, 1, row))?,
                    }
                }
                connection.run(
                    "DELETE FROM calls WHERE number IN (SELECT number FROM calls
                     WHERE number <= (SELECT max(number) FROM calls) - $1 ORDER BY number LIMIT $2)",
                    values![max, i64::try_from(deleted).unwrap_or(i64::MAX)],
                )
            })
            .await
    }

    /// Returns a page of records, the newest first.
    pub async fn list(self, filter: CallFilter) -> Stored<Vec<RecordedCall>> {
        let CallFilter { status, problem, owner, tenant, connector, operation, since, until, before, .. } = filter;
        let mut conditions = Conditions::with_limit(filter.limit);
        conditions.equal("status", status.map(u32::from));
        conditions.with(&of_account(), filter.account);
        conditions.add(if filter.failed { "problem IS NOT NULL" } else { "" });
        let equal = [
            ("problem", problem),
            ("owner", owner),
            ("tenant", tenant),
            ("subject", filter.subject),
            ("user_identifier", filter.user_identifier),
            ("connector", connector),
            ("operation", operation),
        ];
        for (column, value) in equal {
            conditions.equal(column, value);
        }
        conditions.compare("at >=", since);
        conditions.compare("at <", until);
        conditions.after("at, number", before);
        let (clause, values) = conditions.finish();
        let list = format!("SELECT number, {COLUMNS} FROM calls {clause} ORDER BY at DESC, number DESC LIMIT $1");
        self.0.read_all(list, &values).await
    }

    /// Returns the record of a request or job. Callers choose the ids of requests, so there may be
    /// several; this is the last one.
    pub async fn get(self, request_id: &str) -> Stored<Option<RecordedCall>> {
        // No request has such an id, and PostgreSQL cannot look for it.
        if request_id.contains('\0') {
            return Ok(None);
        }
        let last = format!("SELECT number, {COLUMNS} FROM calls WHERE request_id = $1 ORDER BY number DESC LIMIT 1");
        self.0.read_optional(last, values![request_id]).await
    }

    /// Deletes the records that are older than `keep`, and returns their number.
    pub async fn delete_old(self, keep: Duration) -> Stored<u64> {
        self.0.database.delete_older("calls", keep).await
    }
}

/// The condition of calls on an account. The first part keeps the databases from comparing each
/// call with the accounts: they find the identifiers first.
fn of_account() -> String {
    format!(
        "user_identifier IN (SELECT CAST(? AS TEXT) UNION ALL SELECT user_identifier FROM integrations WHERE {NAMED})
         AND (user_identifier = ? OR (tenant, subject, connector, user_identifier) IN
            (SELECT tenant, subject, connector, user_identifier FROM integrations WHERE {NAMED}))"
    )
}

fn insert(connection: &mut dyn Connection, rows: usize, parameters: &[Value]) -> Stored<()> {
    let row = |number: usize| {
        let names = (1..=COLUMN_COUNT).map(|column| format!("${}", number * COLUMN_COUNT + column));
        // The age of the call takes the place of its time.
        let value = |(place, name)| if place == AT { format!("now_ms() - {name}") } else { name };
        let values: Vec<_> = names.enumerate().map(value).collect();
        format!("({})", values.join(", "))
    };
    let rows: Vec<_> = (0..rows).map(row).collect();
    connection.run(&format!("INSERT INTO calls ({COLUMNS}) VALUES {}", rows.join(", ")), parameters)
}

/// The parameters of a record. Callers and modules write some of the texts, and one of them must
/// not lose the other records of its batch.
fn parameters((age, call): (Duration, RecordedCall)) -> Vec<Value> {
    let values: [Value; COLUMN_COUNT] = [
        call.request_id.into(),
        millis(age).into(),
        call.gateway.into(),
        call.tenant.into(),
        call.subject.into(),
        call.key_id.into(),
        call.connector.into(),
        call.operation.into(),
        call.version.into(),
        call.status.map(u32::from).into(),
        call.problem.into(),
        call.owner.into(),
        call.detail.as_deref().map(without_zero_bytes).into(),
        call.pointers.into(),
        call.user_identifier.as_deref().map(without_zero_bytes).into(),
        call.duration_us.into(),
        call.stages.into(),
        call.upstream.into(),
        call.idempotency.into(),
        call.job_id.into(),
    ];
    values.into()
}
