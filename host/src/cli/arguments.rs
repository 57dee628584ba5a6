//! All commands and their options. Their texts are what `--help` shows.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::auth::Scope;

/// Runs third-party connectors in a sandbox and serves them through one REST scheme.
#[derive(Clone, Debug, Parser)]
#[command(name = "connector-gateway", version, arg_required_else_help = true, disable_help_subcommand = true)]
pub struct Arguments {
    /// The configuration file [default: $GATEWAY_CONFIG, else gateway.toml if it is there]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Serve until told to stop
    Serve,
    /// Make, list and revoke API keys; exchange the keys that secrets are sealed under
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Add, remove and write connectors
    #[command(subcommand)]
    Connectors(ConnectorsCommand),
    /// Print the OpenAPI document of the live connectors
    Openapi,
    /// Compile one module; the gateway starts this in a process of its own, which can be killed
    #[command(hide = true)]
    Compile(CompileArguments),
}

/// `keys …`
#[derive(Clone, Debug, Subcommand)]
pub enum KeysCommand {
    /// Make a key and print it, this once
    Create(CreateKeyArguments),
    /// List all keys, without giving any away
    List(ListArguments),
    /// Revoke a key; a gateway that is serving refuses it within a second or two
    Revoke {
        /// The key's id, as `keys list` shows it
        id: String,
    },
    /// Exchange the master key and seal every secret anew, while gateways serve; can be interrupted and run again
    RotateMaster {
        /// Forget the former master key: every gateway has a copy of the new file. Done without asking on SQLite, whose
        /// gateways share one file
        #[arg(long)]
        finish: bool,
    },
}

/// `keys create`
#[derive(Clone, Debug, Args)]
pub struct CreateKeyArguments {
    /// What the key is for, so that you know which one to revoke
    #[arg(long, value_parser = label)]
    pub name: String,

    /// The tenant whose data the key is for
    #[arg(long, default_value = "default", value_parser = label)]
    pub tenant: String,

    /// The one user that the key speaks for [default: every user of the tenant]
    #[arg(long, value_parser = label)]
    pub subject: Option<String>,

    /// What the key permits; may be given several times
    #[arg(long = "scope", value_name = "SCOPE", default_values = ["operate", "integrate"])]
    pub scopes: Vec<Scope>,
}

/// `connectors …`
#[derive(Clone, Debug, Subcommand)]
pub enum ConnectorsCommand {
    /// List the connectors in the modules folder
    List(ListArguments),
    /// Check a module and put it into the modules folder; a gateway that is serving swaps it in
    Add {
        /// The module, a WebAssembly component
        file: PathBuf,
        /// A host that the connector may reach; may be given several times
        #[arg(long = "grant", value_name = "HOST")]
        grants: Vec<String>,
    },
    /// Take a connector out of the modules folder
    Remove {
        /// The connector's identifier
        id: String,
    },
    /// Bring back the version that was live before the present one
    Rollback {
        /// The connector's identifier
        id: String,
    },
    /// Write a connector to begin with, in the gateway's source tree
    New {
        /// The new connector's identifier
        id: String,
    },
    /// Say whether a module would be accepted, and what it asks for
    Check {
        /// The module, a WebAssembly component
        file: PathBuf,
    },
    /// Make a component of a core module that a toolchain built
    Pack {
        /// The core module
        file: PathBuf,
        /// Where the component is written
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
    },
}

/// A list for people, or for programs.
#[derive(Clone, Copy, Debug, Args)]
pub struct ListArguments {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `compile`
#[derive(Clone, Debug, Args)]
pub struct CompileArguments {
    /// The module
    #[arg(long, value_name = "FILE")]
    pub input: PathBuf,
    /// Where the compiled form is written
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    /// Memory that compiling may take, in MiB
    #[arg(long)]
    pub memory_mb: u64,
    /// Computing time that compiling may take, in seconds
    #[arg(long)]
    pub cpu_s: u64,
}

impl ValueEnum for Scope {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        let help = match self {
            Self::Operate => "calling operations",
            Self::Integrate => "connecting users' accounts",
            Self::Admin => "changing the gateway itself",
        };
        Some(clap::builder::PossibleValue::new(self.name()).help(help))
    }
}

/// A name that fits on a line of a list, and is what it looks like.
fn label(text: &str) -> Result<String, String> {
    const MAX_CHARACTERS: usize = 256;
    if text.is_empty() || text.trim() != text {
        return Err("it must not be empty, nor begin or end with a blank".to_owned());
    }
    if text.chars().any(char::is_control) || text.chars().count() > MAX_CHARACTERS {
        return Err(format!("it must be at most {MAX_CHARACTERS} characters on one line"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(line: &str) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from(line.split(' '))
    }

    #[test]
    fn the_definitions_do_not_contradict_each_other() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_configuration_file_may_be_named_before_or_after_the_command() {
        for line in ["g serve --config a.toml", "g --config a.toml serve", "g keys list --config a.toml"] {
            assert_eq!(parse(line).unwrap().config, Some("a.toml".into()), "{line}");
        }
    }

    #[test]
    fn a_key_without_scopes_may_operate_and_integrate_but_not_administer() {
        let Command::Keys(KeysCommand::Create(arguments)) = parse("g keys create --name app").unwrap().command else {
            unreachable!()
        };
        assert_eq!(arguments.scopes, [Scope::Operate, Scope::Integrate]);
        assert_eq!(arguments.tenant, "default");
    }

    #[test]
    fn scopes_that_are_given_replace_the_default_ones() {
        let line = "g keys create --name ci --scope admin --scope operate";
        let Command::Keys(KeysCommand::Create(arguments)) = parse(line).unwrap().command else { unreachable!() };
        assert_eq!(arguments.scopes, [Scope::Admin, Scope::Operate]);
    }

    #[test]
    fn a_wrong_command_line_ends_with_2_and_names_what_was_probably_meant() {
        let error = parse("g keys create --name app --scope operat").unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("operate"), "{error}");
        assert_eq!(parse("g keys create --name").unwrap_err().exit_code(), 2);
    }

    #[test]
    fn names_with_line_breaks_are_refused() {
        assert!(Arguments::try_parse_from(["g", "keys", "create", "--name", "a\nb"]).is_err());
        assert!(Arguments::try_parse_from(["g", "keys", "create", "--name", ""]).is_err());
    }

    #[test]
    fn the_command_of_the_compiling_process_is_hidden() {
        assert!(!Arguments::command().render_help().to_string().contains("compile"));
        assert!(parse("g compile --input a --output b --memory-mb 64 --cpu-s 5").is_ok());
    }
}
