//! The commands `keys …` and their options.

use std::time::SystemTime;

use authoring::options::{GatewayArguments, ListArguments};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use connector_gateway::Scope;
use contract_rules::text::is_hidden;

/// The commands `keys …`.
#[derive(Clone, Debug, Subcommand)]
pub enum KeysCommand {
    /// Make a key and print it. It cannot be printed again
    Create(CreateKeyArguments),
    /// List all keys, without their secret parts
    List {
        #[command(flatten)]
        list: ListArguments,
        #[command(flatten)]
        gateway: GatewayArguments,
    },
    /// Show one key, without its secret part
    Show {
        /// The key's id, as `keys list` shows it
        id: String,
        #[command(flatten)]
        list: ListArguments,
        #[command(flatten)]
        gateway: GatewayArguments,
    },
    /// Revoke a key. A running gateway refuses it within two seconds
    Revoke {
        /// The key's id, as `keys list` shows it
        id: String,
        #[command(flatten)]
        list: ListArguments,
        #[command(flatten)]
        gateway: GatewayArguments,
    },
    /// Replace the master key and seal every secret again, while gateways run. If interrupted, run
    /// it again
    RotateMaster {
        /// Delete the previous master key of a rotation in progress. Use this once every gateway
        /// has a copy of the new file. On SQLite it happens without this option, because all
        /// gateways share one file
        #[arg(long)]
        finish: bool,
        #[command(flatten)]
        list: ListArguments,
    },
}

/// The options of `keys create`.
#[derive(Clone, Debug, Args)]
pub struct CreateKeyArguments {
    /// The purpose of the key, so that you know later which one to revoke
    #[arg(long, value_parser = label)]
    pub name: String,

    /// The tenant whose data the key gives access to
    #[arg(long, default_value = "default", value_parser = label)]
    pub tenant: String,

    /// The user that the key acts for. It sees only this user's accounts and jobs [default: the
    /// tenant itself, whose accounts and jobs are separate from the accounts and jobs of its users]
    #[arg(long, value_parser = label)]
    pub subject: Option<String>,

    /// A permission of the key, in place of the default ones. Repeat the option for several
    #[arg(long = "scope", value_name = "SCOPE", value_parser = scope(), default_values = ["operate", "integrate"])]
    pub scopes: Vec<Scope>,

    /// A connector or an operation (`CONNECTOR/OPERATION`) that the key may call. Repeat the option
    /// for several [default: all]
    #[arg(long, value_name = "NAME", value_parser = allowed)]
    pub allow: Vec<String>,

    /// An effect of operations that the key may call. Repeat the option for several [default: all]
    #[arg(long = "effect", value_name = "EFFECT", value_parser = ["read", "write", "destructive"])]
    pub effects: Vec<String>,

    /// Agents that use the key must confirm each call of a destructive operation
    #[arg(long)]
    pub confirm: bool,

    /// The time from which the key is refused, in UTC, such as 2030-01-31T12:00:00Z, or in how long
    /// it comes, such as 90days [default: never]
    #[arg(long, value_name = "TIME", value_parser = crate::time::future)]
    pub expires_at: Option<SystemTime>,

    #[command(flatten)]
    pub list: ListArguments,

    #[command(flatten)]
    pub gateway: GatewayArguments,
}

impl KeysCommand {
    /// The gateway that the command is about. `None` if it is always the one of the configuration.
    pub(crate) fn gateway(&self) -> Option<&GatewayArguments> {
        match self {
            Self::Create(CreateKeyArguments { gateway, .. })
            | Self::List { gateway, .. }
            | Self::Show { gateway, .. }
            | Self::Revoke { gateway, .. } => Some(gateway),
            Self::RotateMaster { .. } => None,
        }
    }
}

/// Accepts the name of a connector, or of an operation with its connector.
fn allowed(text: &str) -> Result<String, String> {
    let is_name = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    let parts: Vec<&str> = text.split('/').collect();
    if parts.len() <= 2 && parts.into_iter().all(is_name) {
        return Ok(text.to_owned());
    }
    Err("it must be a connector or an operation with its connector, such as calendar or calendar/list-events"
        .to_owned())
}

/// Parses a scope by its name. `--help` lists the scopes.
fn scope() -> impl TypedValueParser<Value = Scope> {
    let possible = Scope::ALL.map(|scope| {
        let help = match scope {
            Scope::Operate => "call operations, and read and cancel their jobs",
            Scope::Integrate => "connect and remove users' accounts, and manage webhook secrets",
            Scope::Proxy => "send requests to the services of connectors around their operations",
            Scope::Admin => "add, remove and roll back connectors, see why one was refused, and read the metrics",
        };
        PossibleValue::new(scope.name()).help(help)
    });
    PossibleValuesParser::new(possible).try_map(|name| {
        let found = Scope::ALL.into_iter().find(|scope| scope.name() == name);
        found.ok_or_else(|| format!("`{name}` is not a scope"))
    })
}

/// Accepts a name that fits on one line of a list. Blanks at its ends would be invisible there.
fn label(text: &str) -> Result<String, String> {
    const MAX_CHARACTERS: usize = 256;
    if text.is_empty() || text.trim() != text {
        return Err("it must not be empty, and must not begin or end with a blank".to_owned());
    }
    if text.contains(is_hidden) || text.chars().count() > MAX_CHARACTERS {
        return Err(format!("it must be on one line of visible characters and have at most {MAX_CHARACTERS} of them"));
    }
    Ok(text.to_owned())
}
