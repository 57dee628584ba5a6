//! The commands `keys …`. They change the database, with or without a running gateway. A running
//! gateway notices a change within two seconds.
//!
//! - here: `keys create`, `keys list`, `keys show` and `keys revoke`
//! - [`remote`]: the same commands for a running gateway (`--url`)
//! - [`arguments`]: the commands and their options
//! - [`rotate`]: `keys rotate-master`
//! - [`error`]: why a command failed

mod arguments;
mod error;
mod remote;
mod rotate;

use std::io::Write;
use std::time::{Duration, SystemTime};

use authoring::options::ListArguments;
use authoring::output::ProgressLine;
use connector_gateway::operator_records::{KeyRecord, KeyRevokedRecord};
use connector_gateway::{Config, make_key};
use humantime::format_duration;
use serde_json::json;

pub(crate) use self::arguments::{CreateKeyArguments, KeysCommand};
pub(crate) use self::remote::run as run_remote;

use self::error::KeysError;
use crate::table::Table;
use store::{ApiKey, KeyId, KeyRevocation, KeyStatus, Store};

/// Runs a command. `output` gets its result, `remarks` gets messages for a person.
///
/// # Errors
/// See [`KeysError`].
pub(crate) async fn run(
    command: &KeysCommand,
    config: &Config,
    store: &Store,
    output: &mut impl Write,
    remarks: &mut (impl Write + Send),
) -> Result<(), KeysError> {
    match command {
        KeysCommand::Create(arguments) => create(arguments, store, output, remarks).await,
        KeysCommand::List { list: arguments, .. } => list(*arguments, store, output, remarks).await,
        KeysCommand::Show { id, list: arguments, .. } => show(id, *arguments, store, output).await,
        KeysCommand::Revoke { id, list: arguments, .. } => revoke(id, *arguments, store, output, remarks).await,
        KeysCommand::RotateMaster { finish, list } => {
            rotate::run(*finish, list.json, config, store, output, remarks, ProgressLine::open()).await
        }
    }
}

async fn create(
    arguments: &CreateKeyArguments,
    store: &Store,
    output: &mut impl Write,
    remarks: &mut impl Write,
) -> Result<(), KeysError> {
    let CreateKeyArguments { name, tenant, subject, scopes, allow, effects, confirm, expires_at, list, .. } = arguments;
    let (mut stored, key) = make_key(name, tenant, subject.as_deref(), scopes.iter().copied().collect())?;
    stored.allow = (!allow.is_empty()).then(|| json!(allow).to_string());
    stored.effects = (!effects.is_empty()).then(|| effects.join(" "));
    stored.confirm = *confirm;
    stored.expires_at = *expires_at;
    let remark = format!(
        "made the key {} for {}, with the scopes: {}",
        stored.id,
        owner(tenant, subject.as_deref()),
        stored.scopes
    );
    let id = stored.id.clone();
    store.keys().create(stored).await?;
    if list.json {
        let made = store.keys().get(&id).await?.ok_or(KeysError::Unknown(id))?;
        let mut record = as_json(made);
        record["key"] = json!(key.shown());
        remote::write_record(output, &record, true)?;
        return Ok(());
    }
    writeln!(output, "{}", key.shown())?;
    output.flush()?;
    writeln!(remarks, "{remark}")?;
    writeln!(remarks, "keep it now: the gateway stores only its hash, so it cannot be shown again")?;
    Ok(())
}

async fn list(
    arguments: ListArguments,
    store: &Store,
    output: &mut impl Write,
    remarks: &mut impl Write,
) -> Result<(), KeysError> {
    let keys = store.keys().all().await?;
    if arguments.json {
        let keys: Vec<_> = keys.into_iter().map(as_json).collect();
        remote::write_record(output, &serde_json::Value::from(keys), true)?;
        return Ok(());
    }
    if keys.is_empty() {
        writeln!(remarks, "there are no keys; make one with `connector-gateway keys create --name NAME`")?;
        return Ok(());
    }
    let mut table = Table::new(["ID", "NAME", "KEY", "TENANT", "SUBJECT", "SCOPES", "CREATED", "LAST USED", "STATE"]);
    for key in keys {
        let shown = if key.prefix.is_empty() { String::new() } else { format!("{}…", key.prefix) };
        let status = status(key.revoked_at.is_some(), key.expires_at);
        table.row([
            key.id.0,
            key.name,
            shown,
            key.tenant,
            key.subject.unwrap_or_default(),
            key.scopes.clone(),
            ago(key.created_at),
            key.last_used_at.map_or_else(|| "never".to_owned(), ago),
            status.to_string(),
        ]);
    }
    write!(output, "{table}")?;
    Ok(())
}

async fn show(id: &str, arguments: ListArguments, store: &Store, output: &mut impl Write) -> Result<(), KeysError> {
    let id = KeyId(id.to_owned());
    let key = store.keys().get(&id).await?.ok_or(KeysError::Unknown(id))?;
    remote::write_record(output, &as_json(key), arguments.json)?;
    Ok(())
}

async fn revoke(
    id: &str,
    arguments: ListArguments,
    store: &Store,
    output: &mut impl Write,
    remarks: &mut impl Write,
) -> Result<(), KeysError> {
    let id = KeyId(id.to_owned());
    match store.keys().revoke(&id).await? {
        KeyRevocation::Revoked(key) => {
            writeln!(remarks, "revoked the key {id} ({}) of {}", key.name, owner(&key.tenant, key.subject.as_deref()))?;
            writeln!(remarks, "a running gateway refuses it within two seconds")?;
        }
        KeyRevocation::AlreadyRevoked(key) => writeln!(remarks, "the key {id} ({}) was revoked before", key.name)?,
        KeyRevocation::Unknown => return Err(KeysError::Unknown(id)),
    }
    if arguments.json {
        remote::write_record(output, &json!(KeyRevokedRecord { id: id.0, revoked: true }), true)?;
    }
    Ok(())
}

/// The state of a key now.
fn status(is_revoked: bool, expires_at: Option<SystemTime>) -> KeyStatus {
    match is_revoked {
        true => KeyStatus::Revoked,
        false if expires_at.is_some_and(|at| at <= SystemTime::now()) => KeyStatus::Expired,
        false => KeyStatus::Valid,
    }
}

/// The tenant or the user that a key acts for.
fn owner(tenant: &str, subject: Option<&str>) -> String {
    match subject {
        Some(subject) => format!("the user {subject} of the tenant {tenant}"),
        None => format!("the tenant {tenant}"),
    }
}

fn as_json(key: ApiKey) -> serde_json::Value {
    json!(KeyRecord::from(key))
}

/// The time since a moment, in one unit: `3days ago`.
fn ago(time: SystemTime) -> String {
    let elapsed = SystemTime::now().duration_since(time).unwrap_or_default();
    let text = format_duration(Duration::from_secs(elapsed.as_secs())).to_string();
    match text.split(' ').next() {
        Some("0s") | None => "just now".to_owned(),
        Some(largest) => format!("{largest} ago"),
    }
}

#[cfg(test)]
mod tests;
