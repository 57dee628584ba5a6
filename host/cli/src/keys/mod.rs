//! The commands `keys …`. They change the database, with or without a running gateway. A running
//! gateway notices a change within two seconds.
//!
//! - here: `keys create`, `keys list` and `keys revoke`
//! - [`arguments`]: the commands and their options
//! - [`rotate`]: `keys rotate-master`
//! - [`error`]: why a command failed

mod arguments;
mod error;
mod rotate;

use std::io::Write;
use std::time::{Duration, SystemTime};

use authoring::options::ListArguments;
use authoring::output::ProgressLine;
use connector_gateway::{Config, make_key};
use contract::words::json_printable;
use humantime::{format_duration, format_rfc3339_seconds};
use secrecy::ExposeSecret;
use serde_json::json;

pub(crate) use self::arguments::{CreateKeyArguments, KeysCommand};

use self::error::KeysError;
use crate::table::Table;
use store::{ApiKey, KeyId, KeyRevocation, Store};

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
        KeysCommand::List(arguments) => list(*arguments, store, output, remarks).await,
        KeysCommand::Revoke { id } => revoke(id, store, remarks).await,
        KeysCommand::RotateMaster { finish } => {
            rotate::run(*finish, config, store, remarks, ProgressLine::open()).await
        }
    }
}

async fn create(
    arguments: &CreateKeyArguments,
    store: &Store,
    output: &mut impl Write,
    remarks: &mut impl Write,
) -> Result<(), KeysError> {
    let CreateKeyArguments { name, tenant, subject, scopes } = arguments;
    let (stored, key) = make_key(name, tenant, subject.as_deref(), scopes.iter().copied().collect())?;
    let remark = format!(
        "made the key {} for {}, with the scopes: {}",
        stored.id,
        owner(tenant, subject.as_deref()),
        stored.scopes
    );
    store.create_key(stored).await?;
    writeln!(output, "{}", key.expose_secret())?;
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
    let keys = store.keys().await?;
    if arguments.json {
        let keys: Vec<_> = keys.iter().map(as_json).collect();
        writeln!(output, "{}", json_printable(&format!("{:#}", serde_json::Value::from(keys))))?;
        return Ok(());
    }
    if keys.is_empty() {
        writeln!(remarks, "there are no keys; make one with `connector-gateway keys create --name NAME`")?;
        return Ok(());
    }
    let mut table = Table::new(["ID", "NAME", "KEY", "TENANT", "SUBJECT", "SCOPES", "CREATED", "LAST USED", "STATE"]);
    for key in keys {
        let shown = if key.prefix.is_empty() { String::new() } else { format!("{}…", key.prefix) };
        let state = if key.revoked_at.is_some() { "revoked" } else { "good" };
        table.row([
            key.id.0,
            key.name,
            shown,
            key.tenant,
            key.subject.unwrap_or_default(),
            key.scopes.clone(),
            ago(key.created_at),
            key.last_used_at.map_or_else(|| "never".to_owned(), ago),
            state.to_owned(),
        ]);
    }
    write!(output, "{table}")?;
    Ok(())
}

async fn revoke(id: &str, store: &Store, remarks: &mut impl Write) -> Result<(), KeysError> {
    let id = KeyId(id.to_owned());
    match store.revoke_key(&id).await? {
        KeyRevocation::Revoked(key) => {
            writeln!(remarks, "revoked the key {id} ({}) of {}", key.name, owner(&key.tenant, key.subject.as_deref()))?;
            writeln!(remarks, "a running gateway refuses it within two seconds")?;
        }
        KeyRevocation::AlreadyRevoked(key) => writeln!(remarks, "the key {id} ({}) was revoked before", key.name)?,
        KeyRevocation::Unknown => return Err(KeysError::Unknown(id)),
    }
    Ok(())
}

/// The tenant or the user that a key acts for.
fn owner(tenant: &str, subject: Option<&str>) -> String {
    match subject {
        Some(subject) => format!("the user {subject} of the tenant {tenant}"),
        None => format!("the tenant {tenant}"),
    }
}

fn as_json(key: &ApiKey) -> serde_json::Value {
    let time = |time: SystemTime| format_rfc3339_seconds(time).to_string();
    json!({
        "id": key.id.0,
        "name": key.name,
        "prefix": key.prefix,
        "tenant": key.tenant,
        "subject": key.subject,
        "scopes": key.scopes.split_whitespace().collect::<Vec<_>>(),
        "created_at": time(key.created_at),
        "last_used_at": key.last_used_at.map(time),
        "revoked_at": key.revoked_at.map(time),
    })
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
