//! The database: its version and its clock, the master key, and the API keys.

use std::time::{Duration, SystemTime};

use humantime::{format_duration, format_rfc3339_seconds};

use super::machine::exposed_mode;
use super::report::Report;
use super::{SOON, capitalized};
use crate::exposure::Exposure;
use config::Config;
use store::vault::{Vault, VaultError};
use store::{ApiKey, DatabaseState, Store, StoreError};

/// Largest difference of the clocks of this machine and of the database. A larger one makes tokens
/// look expired, or valid for too long.
const MAX_DIFFERENCE: Duration = Duration::from_secs(5);

/// The action for a database that cannot be opened.
const SOLVE: &str = "Solve this, and run `connector-gateway doctor` again for the other checks";

/// The state of the database, which the examination of the connectors needs.
pub enum Examined {
    /// The gateway has served from this database.
    Used(Store),
    /// The gateway has not served yet, so it has neither grants nor accounts.
    New,
}

/// Examines the database. `open` is the connection of a gateway that serves; without it, a new one
/// is made. `None` if the connectors cannot be examined, because the database or the master key is
/// not good.
pub async fn examine(config: &Config, open: Option<&Store>, report: &mut Report) -> Option<Examined> {
    const CHECK: &str = "database";
    let before = clock::now();
    let state = match Store::inspect(&config.store()).await {
        Ok(Some(state)) => state,
        Ok(None) => {
            report.note(CHECK, "there is no database yet", "The first start makes it");
            exposures(config, &[], report);
            return Some(Examined::New);
        }
        Err(error) => {
            report.problem(CHECK, error.to_string(), SOLVE);
            return None;
        }
    };
    clocks(state, before, report);
    let DatabaseState { version, known, is_usable, .. } = state;
    if !is_usable {
        report.problem(
            CHECK,
            format!("the database has version {version}, and this release knows versions up to {known}"),
            "Use the release that the database belongs to, or a newer one, or restore a backup",
        );
        return None;
    }
    if version < known {
        report.note(
            CHECK,
            format!("the database has version {version}, and this release has {known}"),
            "Make a backup. The next start of the gateway migrates the database. Then run this command again for the other checks",
        );
        return None;
    }
    let connected = match open {
        Some(store) => Ok(store.clone()),
        None => Store::connect(&config.store()).await,
    };
    let store = match connected {
        Ok(store) => store,
        Err(error) => {
            report.problem(CHECK, error.to_string(), SOLVE);
            return None;
        }
    };
    report.ok(CHECK, format!("the database has version {version}"));
    match store.keys().all().await {
        Ok(keys) => {
            api_keys(config, &keys, report);
            exposures(config, &keys, report);
        }
        Err(error) => report.problem(CHECK, error.to_string(), "Run `connector-gateway doctor` again"),
    }
    master_key(config, &store, report).await.map(|is_used| if is_used { Examined::Used(store) } else { Examined::New })
}

/// Examines the other gateways that share the database.
///
/// # Errors
/// If the database does not answer.
pub async fn examine_gateways(store: &Store, report: &mut Report) -> Result<(), StoreError> {
    const CHECK: &str = "gateways";
    let gateways = store.gateways().list().await?;
    for away in gateways.iter().filter(|gateway| gateway.is_away) {
        report.problem(
            CHECK,
            format!("the gateway {} is away since {}", away.name, format_rfc3339_seconds(away.seen_at)),
            "Start it again. If it was removed, wait: it is forgotten a day later",
        );
    }
    if gateways.len() > 1 && !gateways.iter().any(|gateway| gateway.is_away) {
        report.ok(CHECK, format!("{} gateways share the database, and none is away", gateways.len()));
    }
    Ok(())
}

fn clocks(state: DatabaseState, before: SystemTime, report: &mut Report) {
    const CHECK: &str = "clock";
    let after = clock::now();
    let Some(server) = state.server_time else {
        report.ok(CHECK, "the database has the clock of this machine");
        return;
    };
    // The server was asked between the two times.
    let difference = before.duration_since(server).or_else(|_| server.duration_since(after)).unwrap_or_default();
    if difference > MAX_DIFFERENCE {
        let difference = format_duration(Duration::from_secs(difference.as_secs()));
        report.problem(
            CHECK,
            format!("the clocks of this machine and of the database differ by {difference}"),
            "Set both clocks by NTP",
        );
    } else {
        report.ok(CHECK, "the clocks of this machine and of the database agree");
    }
}

/// Returns `true` if the database depends on a master key. `None` if the key is missing, wrong, or
/// can be read by others.
async fn master_key(config: &Config, store: &Store, report: &mut Report) -> Option<bool> {
    const CHECK: &str = "master key";
    // The check of the machine has it. Reading the file would make it private.
    if exposed_mode(&config.master_key_path()).is_some() {
        return None;
    }
    let checked = match Vault::check(&config.master_key_path(), store).await {
        Ok(ids) => Vault::needed_master_keys(store).await.map(|needed| (ids, needed)).map_err(VaultError::from),
        Err(error) => Err(error),
    };
    match checked {
        Ok((_, needed)) if needed.is_empty() => {
            report.note(
                CHECK,
                "the database depends on no master key yet",
                "The first start makes a key if there is none. Keep a copy of it apart from the backups",
            );
            Some(false)
        }
        Ok((ids, _)) => {
            report.ok(CHECK, format!("the master key {} fits the database", ids.join(" and ")));
            Some(true)
        }
        Err(error) => {
            report.problem(
                CHECK,
                error.to_string(),
                "Copy the master key that the message names, from where you keep it or from another gateway",
            );
            None
        }
    }
}

fn exposures(config: &Config, keys: &[ApiKey], report: &mut Report) {
    for exposure in Exposure::of(config, keys) {
        let text = exposure.to_string();
        let (found, action) = text.split_once("; ").unwrap_or((&text, "See host/docs/operating.md"));
        match exposure {
            // The check of the folders has it.
            Exposure::OpenDataFolder { .. } => {}
            Exposure::NoTls { .. } | Exposure::UnlimitedKeys { .. } => {
                report.problem("exposure", found, capitalized(action))
            }
        }
    }
}

fn api_keys(config: &Config, keys: &[ApiKey], report: &mut Report) {
    const CHECK: &str = "keys";
    let now = clock::now();
    let valid: Vec<&ApiKey> = keys
        .iter()
        .filter(|key| key.revoked_at.is_none() && key.expires_at.is_none_or(|expires_at| expires_at > now))
        .collect();
    let mut expire = false;
    for key in &valid {
        // A key whose whole life is that short is meant to expire.
        let was_made_for_longer = |end: &SystemTime| end.duration_since(key.created_at).is_ok_and(|life| life > SOON);
        let end = key.expires_at.filter(was_made_for_longer);
        let Some(expires_at) = end.filter(|expires_at| *expires_at < now + SOON) else { continue };
        expire = true;
        report.problem(
            CHECK,
            format!("the key {} (`{}`) of the tenant `{}` expires at {}", key.id, key.name, key.tenant, format_rfc3339_seconds(expires_at)),
            "Make a new key with `connector-gateway keys create`, and give it to the users of this one. If no one uses it, \
             run `connector-gateway keys revoke` with its id",
        );
    }
    if valid.is_empty() && config.bootstrap_key.is_none() && config.jwt_issuers.is_empty() && !keys.is_empty() {
        report.problem(
            CHECK,
            "no key is valid, so no one can call the gateway",
            "Make a key with `connector-gateway keys create`",
        );
    } else if !expire {
        report.ok(
            CHECK,
            format!(
                "{} valid keys, none of which has to be replaced within {} days",
                valid.len(),
                SOON.as_secs() / 86_400
            ),
        );
    }
}
