//! Adding, listing and deleting counts of usage.

use std::time::Duration;

use database::connection::{Connection, Durability};
use database::time::millis;
use database::value::{FromRow, Row, Value, values};

use super::types::{OPERATIONS, SUBJECTS};
use super::{NewUsageBatch, UsageCounts, UsageFilter, UsageKey, UsageRow};
use crate::Stored;
use crate::handles::Usage;

/// Time for which the id of a batch is kept. A gateway that reaches the database again after a
/// longer time may add its last batch twice.
const BATCH_KEPT: Duration = Duration::from_secs(7 * 86_400);

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// Rows that one transaction deletes or adds up.
const ROWS: u32 = 1_000;

/// The keys of the tables, without the part.
const OPERATION_KEY: &str = "day, tenant, connector, operation";
const SUBJECT_KEY: &str = "day, tenant, subject";

/// The columns of [`UsageCounts`].
const COUNTS: [&str; 7] = ["calls", "failed", "upstream_requests", "bytes_in", "bytes_out", "jobs", "events"];

impl Usage<'_> {
    /// Adds the counts of a batch, unless they were added before.
    ///
    /// # Errors
    /// Fails if the database does not answer. The counts may have been added then.
    pub async fn add(self, batch: NewUsageBatch) -> Stored<()> {
        self.0
            .write(Durability::ProcessKill, move |connection| {
                let added = connection.execute(
                    "INSERT INTO usage_batches (id, added_at) VALUES ($1, now_ms()) ON CONFLICT (id) DO NOTHING",
                    values![&batch.id],
                )?;
                if added == 0 {
                    return Ok(());
                }
                connection
                    .execute("DELETE FROM usage_batches WHERE added_at < now_ms() - $1", values![millis(BATCH_KEPT)])?;
                for (day, tenant, key, counts) in &batch.counts {
                    let (table, names) = match key {
                        UsageKey::Operation { connector, operation } => {
                            (OPERATIONS, vec![Value::from(tenant), connector.into(), operation.into()])
                        }
                        UsageKey::Subject(subject) => (SUBJECTS, vec![Value::from(tenant), subject.into()]),
                    };
                    add(connection, table, *day, names, counts)?;
                }
                Ok(())
            })
            .await
    }

    /// Returns a page of usage: the newest day first, and the names of a day in their order.
    pub async fn list(self, filter: UsageFilter) -> Stored<Vec<UsageRow>> {
        let (statement, values) = list_statement(&filter);
        let columns = filter.by.columns().len();
        let read = move |connection: &mut dyn Connection| -> Stored<Vec<UsageRow>> {
            let rows = connection.query(&statement, &values)?;
            rows.into_iter().map(|mut row| read_row(&mut row, columns)).collect()
        };
        self.0.read(read).await
    }

    /// Deletes the usage of days that ended longer ago than `keep`, and adds up what sessions have
    /// counted.
    pub async fn sweep(self, keep: Duration) -> Stored<()> {
        for (table, key) in [(OPERATIONS, OPERATION_KEY), (SUBJECTS, SUBJECT_KEY)] {
            let delete = format!(
                "DELETE FROM {table} WHERE ({key}, part) IN
                     (SELECT {key}, part FROM {table} WHERE (day + 1) * {DAY_MS} <= now_ms() - $1 LIMIT $2)"
            );
            let old = values![millis(keep), ROWS];
            while self.0.execute(Durability::ProcessKill, delete.clone(), old).await? == u64::from(ROWS) {}
            let fold_some = || self.0.write(Durability::ProcessKill, move |connection| fold(connection, table, key));
            while fold_some().await? == ROWS as usize {}
        }
        Ok(())
    }
}

/// Adds counts to the row of a key.
fn add(connection: &mut dyn Connection, table: &str, day: u32, names: Vec<Value>, counts: &UsageCounts) -> Stored<()> {
    let key = if table == OPERATIONS { OPERATION_KEY } else { SUBJECT_KEY };
    let counts = [
        counts.calls,
        counts.failed,
        counts.upstream_requests,
        counts.bytes_in,
        counts.bytes_out,
        counts.jobs,
        counts.events,
    ];
    let mut values = vec![Value::from(day)];
    values.extend(names);
    values.push(0_u32.into());
    values.extend(counts.map(|count| Value::from(i64::try_from(count).unwrap_or(i64::MAX))));
    let parameters: Vec<_> = (1..=values.len()).map(|number| format!("${number}")).collect();
    let sums: Vec<_> = COUNTS.iter().map(|name| format!("{name} = {table}.{name} + excluded.{name}")).collect();
    connection.run(
        &format!(
            "INSERT INTO {table} ({key}, part, {}) VALUES ({}) ON CONFLICT ({key}, part) DO UPDATE SET {}",
            COUNTS.join(", "),
            parameters.join(", "),
            sums.join(", ")
        ),
        &values,
    )
}

/// Adds up what sessions have counted, in part 0. Returns the number of rows that were added.
fn fold(connection: &mut dyn Connection, table: &'static str, key: &'static str) -> Stored<usize> {
    let names = key.split(", ").count() - 1;
    let select = format!(
        "SELECT part, day, {}, {} FROM {table} WHERE part <> 0 ORDER BY {key}, part LIMIT $1 {}",
        key.trim_start_matches("day, "),
        COUNTS.join(", "),
        connection.skip_locked()
    );
    let mut folded = 0;
    for mut row in connection.query(&select, values![ROWS])? {
        let part: i64 = row.read()?;
        let UsageRow { day, names, counts } = read_row(&mut row, names)?;
        let mut values = vec![Value::from(part), day.into()];
        values.extend(names.iter().map(Value::from));
        let conditions: Vec<_> =
            key.split(", ").enumerate().map(|(number, name)| format!("{name} = ${}", number + 2)).collect();
        connection
            .execute(&format!("DELETE FROM {table} WHERE part = $1 AND {}", conditions.join(" AND ")), &values)?;
        add(connection, table, day, names.into_iter().map(Value::from).collect(), &counts)?;
        folded += 1;
    }
    Ok(folded)
}

/// The statement of a list, and its parameters.
fn list_statement(filter: &UsageFilter) -> (String, Vec<Value>) {
    let columns = filter.by.columns().join(", ");
    let mut values = vec![Value::from(filter.limit)];
    let mut conditions = Vec::new();
    let mut parameter = |value: Value| {
        values.push(value);
        format!("${}", values.len())
    };
    if let Some(since) = filter.since {
        conditions.push(format!("day >= {}", parameter(since.into())));
    }
    if let Some(until) = filter.until {
        conditions.push(format!("day < {}", parameter(until.into())));
    }
    if let Some((day, names)) = &filter.after {
        let day = parameter((*day).into());
        let names: Vec<_> = names.iter().map(|name| parameter(name.into())).collect();
        conditions.push(format!("(day < {day} OR (day = {day} AND ({columns}) > ({})))", names.join(", ")));
    }
    let clause = if conditions.is_empty() { String::new() } else { format!("WHERE {}", conditions.join(" AND ")) };
    let sums = COUNTS.map(|name| format!("CAST(sum({name}) AS BIGINT)")).join(", ");
    let statement = format!(
        "SELECT day, {columns}, {sums} FROM {} {clause} GROUP BY day, {columns} ORDER BY day DESC, {columns} LIMIT $1",
        filter.by.table()
    );
    (statement, values)
}

/// Reads a day, names and counts.
fn read_row(row: &mut Row, names: usize) -> Stored<UsageRow> {
    let day: i64 = row.read()?;
    let names = (0..names).map(|_| row.read()).collect::<Result<_, _>>()?;
    Ok(UsageRow { day: u32::try_from(day).unwrap_or_default(), names, counts: UsageCounts::from_row(row)? })
}
