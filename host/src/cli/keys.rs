//! The commands `keys …`. They work on the database itself, so that a gateway need not be serving; one that is takes notice.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, SystemTime};

use humantime::{format_duration, format_rfc3339_seconds};
use secrecy::ExposeSecret;
use serde_json::json;
use thiserror::Error;

use super::arguments::{CreateKeyArguments, KeysCommand, ListArguments};
use super::keys_rotate;
use super::table::Table;
use crate::auth::{NoRandomness, make_key};
use crate::config::Config;
use store::vault::VaultError;
use store::{ApiKey, KeyId, KeyRevocation, Store, StoreError};

/// Why a command was not carried out. The texts say what to do.
#[derive(Debug, Error)]
pub enum KeysError {
    /// There is no key with this id.
    #[error("there is no key with the id {0}; `connector-gateway keys list` shows the ids")]
    Unknown(KeyId),
    /// No key can be made.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    /// The store does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The keys of the vault are not exchanged.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The result cannot be written.
    #[error("cannot write the result: {0}")]
    Output(#[from] io::Error),
}

/// Carries out a command. `output` is for what was asked for, `remarks` for what is said about it.
///
/// # Errors
/// When it is not carried out; the process then ends with 1.
pub async fn run(
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
            keys_rotate::run(*finish, config, store, remarks, io::stderr().is_terminal()).await
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
    let said = format!(
        "made the key {} for {}, which permits: {}",
        stored.id,
        owner(tenant, subject.as_deref()),
        stored.scopes
    );
    store.create_key(stored).await?;
    writeln!(output, "{}", key.expose_secret())?;
    output.flush()?;
    writeln!(remarks, "{said}")?;
    writeln!(remarks, "keep it now: it is stored as a hash only and cannot be shown again")?;
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
        writeln!(output, "{:#}", serde_json::Value::from(keys))?;
        return Ok(());
    }
    if keys.is_empty() {
        writeln!(remarks, "there are no keys; `connector-gateway keys create --name NAME` makes one")?;
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
            writeln!(remarks, "a gateway that is serving refuses it within a second or two")?;
        }
        KeyRevocation::AlreadyRevoked(key) => writeln!(remarks, "the key {id} ({}) had been revoked before", key.name)?,
        KeyRevocation::Unknown => return Err(KeysError::Unknown(id)),
    }
    Ok(())
}

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

/// How long ago, in one unit: `3days ago`.
fn ago(time: SystemTime) -> String {
    let elapsed = SystemTime::now().duration_since(time).unwrap_or_default();
    let text = format_duration(Duration::from_secs(elapsed.as_secs())).to_string();
    match text.split(' ').next() {
        Some("0s") | None => "just now".to_owned(),
        Some(largest) => format!("{largest} ago"),
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::auth::Scope;

    struct Shell {
        store: Store,
        _folder: TempDir,
    }

    impl Shell {
        async fn new() -> Self {
            let folder = TempDir::new().unwrap();
            Self { store: Store::open(folder.path()).await.unwrap(), _folder: folder }
        }

        async fn run(&self, command: KeysCommand) -> (Result<(), KeysError>, String, String) {
            let (mut output, mut remarks) = (Vec::new(), Vec::new());
            let result = run(&command, &Config::default(), &self.store, &mut output, &mut remarks).await;
            (result, String::from_utf8(output).unwrap(), String::from_utf8(remarks).unwrap())
        }

        async fn create(&self, subject: Option<&str>) -> (String, String) {
            let arguments = CreateKeyArguments {
                name: "mobile app".into(),
                tenant: "acme".into(),
                subject: subject.map(str::to_owned),
                scopes: vec![Scope::Integrate, Scope::Operate, Scope::Operate],
            };
            let (result, output, remarks) = self.run(KeysCommand::Create(arguments)).await;
            result.unwrap();
            (output, remarks)
        }
    }

    #[tokio::test]
    async fn creating_prints_the_key_alone_on_standard_output_and_it_is_listed_without_it() {
        let shell = Shell::new().await;
        let (output, remarks) = shell.create(Some("ann")).await;
        let key = output.trim_end();
        assert!(key.starts_with("cgw_") && !key.contains(char::is_whitespace), "{output}");
        assert!(remarks.contains("the user ann of the tenant acme, which permits: operate integrate\n"), "{remarks}");
        assert!(!remarks.contains(key));

        let (_, list, _) = shell.run(KeysCommand::List(ListArguments { json: false })).await;
        assert!(list.starts_with("ID "), "{list}");
        for expected in ["mobile app", &key[..8], "acme", "ann", "operate integrate", "just now", "never", "good"] {
            assert!(list.contains(expected), "{expected} is not in\n{list}");
        }
        assert!(!list.contains(&key[..12]));
    }

    #[tokio::test]
    async fn a_list_for_programs_is_json_with_one_object_a_key() {
        let shell = Shell::new().await;
        shell.create(None).await;
        let (_, list, _) = shell.run(KeysCommand::List(ListArguments { json: true })).await;
        let list: serde_json::Value = serde_json::from_str(&list).unwrap();
        assert_eq!(list[0]["scopes"], json!(["operate", "integrate"]));
        assert_eq!(list[0]["subject"], json!(null));
        assert_eq!(list[0]["revoked_at"], json!(null));
        assert!(humantime::parse_rfc3339(list[0]["created_at"].as_str().unwrap()).is_ok());
        assert!(list[0].get("hash").is_none());
    }

    #[tokio::test]
    async fn without_keys_the_list_says_how_to_make_one() {
        let shell = Shell::new().await;
        let (_, output, remarks) = shell.run(KeysCommand::List(ListArguments { json: false })).await;
        assert_eq!(output, "");
        assert!(remarks.contains("keys create --name"));
        let (_, output, _) = shell.run(KeysCommand::List(ListArguments { json: true })).await;
        assert_eq!(output, "[]\n");
    }

    #[tokio::test]
    async fn revoking_twice_is_no_error_and_revoking_the_unknown_says_where_to_look() {
        let shell = Shell::new().await;
        shell.create(None).await;
        let id = shell.store.keys().await.unwrap()[0].id.0.clone();
        let (result, _, remarks) = shell.run(KeysCommand::Revoke { id: id.clone() }).await;
        result.unwrap();
        assert!(remarks.starts_with(&format!("revoked the key {id} (mobile app) of the tenant acme\n")), "{remarks}");
        let (result, _, remarks) = shell.run(KeysCommand::Revoke { id }).await;
        result.unwrap();
        assert!(remarks.contains("had been revoked before"), "{remarks}");
        let (result, ..) = shell.run(KeysCommand::Revoke { id: "key_x".into() }).await;
        assert_eq!(
            result.unwrap_err().to_string(),
            "there is no key with the id key_x; `connector-gateway keys list` shows the ids"
        );
    }
}
