//! The commands `keys …` for a running gateway, by its admin routes.

use std::io::{self, Write};

use authoring::gateway::RunningGateway;
use connector_gateway::Scope;
use contract::words::json_printable;
use humantime::{format_rfc3339_millis, parse_rfc3339};
use serde_json::{Value, json};

use super::error::KeysError;
use super::{CreateKeyArguments, KeysCommand, status};
use crate::operator::{self, cell};
use crate::table::Table;

/// Runs a command at a running gateway.
///
/// # Errors
/// See [`KeysError`].
pub(crate) async fn run(
    command: &KeysCommand,
    gateway: &RunningGateway,
    output: &mut impl Write,
    remarks: &mut impl Write,
) -> Result<(), KeysError> {
    match command {
        KeysCommand::Create(arguments) => {
            let record = gateway.post(&["admin", "keys"], Some(&body(arguments))).await?;
            if arguments.list.json {
                write_record(output, &record, true)?;
                return Ok(());
            }
            writeln!(output, "{}", cell(&record["key"]))?;
            output.flush()?;
            writeln!(remarks, "made the key {}", cell(&record["id"]))?;
            writeln!(remarks, "keep it now: the gateway stores only its hash, so it cannot be shown again")?;
        }
        KeysCommand::List { list, .. } => {
            let keys = operator::all_entries(gateway, &["admin", "keys"], "keys").await?.entries;
            match list.json {
                true => write_record(output, &Value::from(keys), true)?,
                false => write!(output, "{}", table(&keys))?,
            }
        }
        KeysCommand::Show { id, list, .. } => {
            write_record(output, &gateway.get(&["admin", "keys", id], &[]).await?, list.json)?;
        }
        KeysCommand::Revoke { id, list, .. } => {
            let record = gateway.delete(&["admin", "keys", id]).await?;
            if list.json {
                write_record(output, &record, true)?;
            }
            writeln!(remarks, "revoked the key {id}; every gateway refuses it within two seconds")?;
        }
        // It works on the file of the master key, so it has no option for a running gateway.
        KeysCommand::RotateMaster { .. } => {}
    }
    Ok(())
}

fn body(arguments: &CreateKeyArguments) -> Value {
    let CreateKeyArguments { name, tenant, subject, scopes, allow, effects, confirm, expires_at, .. } = arguments;
    let scopes: Vec<_> = Scope::ALL.into_iter().filter(|scope| scopes.contains(scope)).map(Scope::name).collect();
    let mut body = json!({"name": name, "tenant": tenant, "scopes": scopes});
    let members = [
        ("subject", subject.as_ref().map(|subject| json!(subject))),
        ("allow", (!allow.is_empty()).then(|| json!(allow))),
        ("effects", (!effects.is_empty()).then(|| json!(effects))),
        ("confirm", confirm.then(|| json!(true))),
        ("expires_at", expires_at.map(|at| json!(format_rfc3339_millis(at).to_string()))),
    ];
    for (name, value) in members {
        if let Some(value) = value {
            body[name] = value;
        }
    }
    body
}

fn table(keys: &[Value]) -> Table {
    let columns = [
        ("ID", "id"),
        ("NAME", "name"),
        ("KEY", "prefix"),
        ("TENANT", "tenant"),
        ("SUBJECT", "subject"),
        ("SCOPES", "scopes"),
        ("CREATED", "created_at"),
        ("LAST USED", "last_used_at"),
        ("EXPIRES", "expires_at"),
        ("REVOKED", "revoked_at"),
        ("STATE", STATE),
    ];
    let mut table = Table::new(columns.map(|(heading, _)| heading));
    for key in keys {
        table.row(columns.map(|(_, member)| if member == STATE { state(key) } else { cell(&key[member]) }));
    }
    table
}

/// In place of a member, in the column that follows from other members.
const STATE: &str = "state";

/// The state of a key by its record.
fn state(key: &Value) -> String {
    let expires_at = key["expires_at"].as_str().and_then(|time| parse_rfc3339(time).ok());
    status(!key["revoked_at"].is_null(), expires_at).to_string()
}

/// Writes a record as JSON, or as a table of its members.
pub(super) fn write_record(output: &mut impl Write, record: &Value, as_json: bool) -> io::Result<()> {
    match as_json {
        true => writeln!(output, "{}", json_printable(&format!("{record:#}"))),
        false => write!(output, "{}", operator::members(record)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_key_follows_from_its_times() {
        let key = |expires: &str, revoked: &str| {
            let time = |text: &str| if text.is_empty() { Value::Null } else { text.into() };
            json!({"id": "key_1", "expires_at": time(expires), "revoked_at": time(revoked)})
        };
        let (past, future) = ("2020-01-31T12:00:00.000Z", "2999-01-31T12:00:00.000Z");
        let keys = [key("", ""), key(future, ""), key(past, ""), key(past, past)];
        assert_eq!(keys.map(|key| state(&key)), ["valid", "valid", "expired", "revoked"]);
    }
}
