//! The commands about the connectors of a gateway: `connectors list`, `add`, `remove`, `grant`,
//! `revoke`, `grants`, `versions`, `rollback` and `history`. They change the gateway of the
//! configuration, or a running gateway (`--url`).
//!
//! - here: the commands
//! - [`arguments`]: their options
//! - `print`: their results

mod arguments;
mod print;

use std::io::{self, Write};

use authoring::gateway::{AddError, Gateway, GatewayError, ModuleChange};
use authoring::module_source::{self, FetchedModule, SourceError};
use authoring::output::{Results, print, print_json};
use authoring::{RefusedModule, Summary, shell};
use connector_gateway::records::{GrantRecord, GrantStateRecord};
use connector_gateway::{ChangeError, Config, Installation};
use serde_json::json;
use thiserror::Error;

pub(crate) use self::arguments::{AddArguments, InstalledCommand};

use self::print::{missing, print_command_to_grant};

/// Why a command failed. Each message is one line that says what to do.
#[derive(Debug, Error)]
pub(crate) enum InstalledError {
    /// The module was not read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The gateway was not opened, or did not do what the command requested.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    /// The module is refused.
    #[error(transparent)]
    Refused(#[from] RefusedModule),
    /// The module asks for more than the previous version.
    #[error(
        "`{module}` asks for more than the previous version, which stays live; if the lines with + are right, run `{command}`"
    )]
    NotAccepted {
        /// The module.
        module: String,
        /// The command that accepts it.
        command: String,
    },
    /// `--grant-asked` without `--accept`.
    #[error(
        "--grant-asked grants whatever the module asks for, so it needs --accept; add --accept, or name the hosts with --grant"
    )]
    GrantAskedAlone,
    /// The result cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// Runs one command. `program` begins the commands that messages name.
///
/// # Errors
/// See [`InstalledError`].
pub(crate) async fn run(command: &InstalledCommand, config: Config, program: &str) -> Result<(), InstalledError> {
    let limit_mb = config.compile.max_module_mb;
    let gateway = match command {
        InstalledCommand::Add(arguments) if arguments.grant_asked && !arguments.accept => {
            return Err(InstalledError::GrantAskedAlone);
        }
        InstalledCommand::Add(_) => Gateway::open_to_add(command.gateway(), config).await?,
        _ => Gateway::open(command.gateway(), config).await?,
    };
    match command {
        InstalledCommand::List { list, .. } => self::list(&gateway, list.json).await,
        InstalledCommand::Add(arguments) => add(&gateway, arguments, limit_mb, program).await,
        InstalledCommand::Grant { id, hosts, list, .. } => grant(&gateway, id, hosts, list.json, program).await,
        InstalledCommand::Revoke { id, hosts, list, .. } => revoke(&gateway, id, hosts, list.json).await,
        InstalledCommand::Grants { id, list, .. } => grants(&gateway, id.as_deref(), list.json, program).await,
        InstalledCommand::Remove { id, change, list, .. } => remove(&gateway, id, change.into(), list.json).await,
        InstalledCommand::Versions { id, list, .. } => versions(&gateway, id, list.json).await,
        InstalledCommand::Rollback { id, to, change, list, .. } => {
            rollback(&gateway, id, to.as_deref(), change.into(), list.json).await
        }
        InstalledCommand::History { id, limit, list, .. } => history(&gateway, id.as_deref(), *limit, list.json).await,
    }
}

async fn list(gateway: &Gateway, json: bool) -> Result<(), InstalledError> {
    let (record, service) = (gateway.list().await?, gateway.service().await?);
    match json {
        true => print::list_json(&record, &service)?,
        false => print::list(&record, &service)?,
    }
    Ok(())
}

async fn add(gateway: &Gateway, arguments: &AddArguments, limit_mb: u64, program: &str) -> Result<(), InstalledError> {
    let AddArguments { module: source, grants, accept, grant_asked, replace_shipped, change, list, registry, .. } =
        arguments;
    let FetchedModule { module, signature, pulled } = module_source::read(source, registry, limit_mb).await?;
    let (accepts, grants_asked, replaces_shipped) = (*accept, *grant_asked, *replace_shipped);
    let signature = signature.as_deref();
    let replaces = change.if_generation;
    let installation = Installation {
        grants,
        accepts,
        grants_asked,
        replaces_shipped,
        signature,
        replaces,
        ..Installation::default()
    };
    gateway.announce(&module);
    let installed = gateway.add(module, installation, change.wait).await.map_err(|error| match error {
        AddError::AsksForMore(more) => {
            for ask in &more {
                if let Err(error) = print(format_args!("  + {ask}")) {
                    return error.into();
                }
            }
            let name = pulled.as_ref().map_or_else(|| source.to_string(), ToString::to_string);
            let command = format!("{program} {}{}", command_to_accept(arguments, &name), gateway.options());
            InstalledError::NotAccepted { module: source.to_string(), command }
        }
        AddError::Other(GatewayError::Change(ChangeError::Refused(reason))) => {
            RefusedModule { module: source.to_string(), reason }.into()
        }
        AddError::Other(error) => error.into(),
    })?;
    if list.json {
        return Ok(print_json(json!(installed))?);
    }
    let (id, missing) = (installed.connector.connector.clone(), installed.connector.hosts.missing.clone());
    let (gateways, granted) = (installed.gateways.clone(), installed.newly_granted.clone());
    write!(Results::new(), "{}", Summary::from(installed))?;
    if let Some(pulled) = &pulled {
        print(format_args!("  pulled      {pulled}"))?;
    }
    for host in &granted {
        print(format_args!("  granted     {host}"))?;
    }
    print::gateways(gateways)?;
    print_command_to_grant(program, gateway, &id, &missing)?;
    gateway.remark("Added to", "A running gateway swaps it in within a second.");
    Ok(())
}

/// The command that was run, with `--accept` and with the exact name of the module.
fn command_to_accept(arguments: &AddArguments, module: &str) -> String {
    let AddArguments { grants, replace_shipped, change, list, registry, .. } = arguments;
    let mut command = format!("connectors add {}", shell::quoted(module));
    for host in grants {
        command.push_str(&format!(" --grant {}", shell::quoted(host)));
    }
    if *replace_shipped {
        command.push_str(" --replace-shipped");
    }
    command.push_str(" --accept");
    if let Some(generation) = change.if_generation {
        command.push_str(&format!(" --if-generation {generation}"));
    }
    if let Some(seconds) = change.wait {
        command.push_str(&format!(" --wait {seconds}"));
    }
    if list.json {
        command.push_str(" --json");
    }
    command.push_str(&registry.options());
    command
}

async fn grant(gateway: &Gateway, id: &str, hosts: &[String], json: bool, program: &str) -> Result<(), InstalledError> {
    let hosts = gateway.grant(id, hosts).await?;
    if json {
        return Ok(print::grants_json(&hosts)?);
    }
    for GrantRecord { host, state, .. } in &hosts {
        match state {
            GrantStateRecord::Missing => print(format_args!("  asks for    {host} (not granted)"))?,
            GrantStateRecord::Granted | GrantStateRecord::Configured => print(format_args!("  reaches     {host}"))?,
            GrantStateRecord::Unnamed => {}
        }
    }
    print_command_to_grant(program, gateway, id, &missing(&hosts, id))?;
    gateway.remark("Granted in", "A running gateway notices it within two seconds.");
    Ok(())
}

async fn revoke(gateway: &Gateway, id: &str, hosts: &[String], json: bool) -> Result<(), InstalledError> {
    gateway.revoke(id, hosts).await?;
    if json {
        return Ok(print::grants_json(&gateway.grants(Some(id)).await?)?);
    }
    gateway.remark("Revoked in", "A running gateway notices it within two seconds.");
    Ok(())
}

async fn grants(gateway: &Gateway, id: Option<&str>, json: bool, program: &str) -> Result<(), InstalledError> {
    let hosts = gateway.grants(id).await?;
    match json {
        true => print::grants_json(&hosts)?,
        false => print::grants(&hosts, program, gateway)?,
    }
    Ok(())
}

async fn remove(gateway: &Gateway, id: &str, change: ModuleChange, json: bool) -> Result<(), InstalledError> {
    let gateways = gateway.remove(id, change).await?;
    if json {
        return Ok(print_json(json!({"connector": id, "gateways": gateways}))?);
    }
    print::gateways(gateways)?;
    let done = format!("Removed `{id}` from");
    gateway.remark(&done, "A running gateway finishes the calls in progress.");
    Ok(())
}

async fn versions(gateway: &Gateway, id: &str, json: bool) -> Result<(), InstalledError> {
    let versions = gateway.versions(id).await?;
    match json {
        true => print_json(json!(versions))?,
        false => print::versions(&versions)?,
    }
    Ok(())
}

async fn rollback(
    gateway: &Gateway,
    id: &str,
    to: Option<&str>,
    change: ModuleChange,
    json: bool,
) -> Result<(), InstalledError> {
    let brought_back = gateway.rollback(id, to, change).await?;
    if json {
        return Ok(print_json(json!(brought_back))?);
    }
    print::gateways(brought_back.gateways)?;
    let live = brought_back.connector;
    let done = format!("Brought back `{id}` {} ({}) in", live.version, live.sha256);
    gateway.remark(&done, "A running gateway swaps it in within a second.");
    Ok(())
}

async fn history(gateway: &Gateway, id: Option<&str>, limit: u32, json: bool) -> Result<(), InstalledError> {
    let changes = gateway.history(id, limit).await?;
    match json {
        true => print_json(json!(changes))?,
        false => print::history(&changes)?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::arguments::{Arguments, Command, ConnectorsCommand};

    #[test]
    fn the_command_that_accepts_a_module_has_the_options_of_the_one_that_was_refused() {
        let line = "g connectors add oci://registry.example.com/acme/words:1 --grant *.help.example --wait 10 --json \
                    --replace-shipped --if-generation 3 --url http://127.0.0.1:1 --plain-http --username ci --password-stdin";
        let parsed = Arguments::try_parse_from(line.split_whitespace()).unwrap();
        let Command::Connectors(ConnectorsCommand::Installed(InstalledCommand::Add(arguments))) = parsed.command else {
            unreachable!()
        };
        assert_eq!(
            command_to_accept(&arguments, "oci://registry.example.com/acme/words@sha256:0"),
            "connectors add oci://registry.example.com/acme/words@sha256:0 --grant '*.help.example' --replace-shipped --accept \
             --if-generation 3 --wait 10 --json --plain-http --username ci --password-stdin"
        );
    }
}
