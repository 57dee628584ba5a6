//! All commands and their options. `--help` shows their texts.

use std::convert::Infallible;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use secrecy::SecretString;
use url::Url;

use super::call::CallArguments;
use super::dev::DevArguments;
use super::new::{AuthKind, Language};
use super::oci::ModuleReference;
use super::project_tests::TestArguments;
use super::source::ModuleSource;
use crate::auth::Scope;
use sandbox::child::ChildLimits;

/// Runs third-party connectors in a sandbox and serves them through one REST scheme.
#[derive(Clone, Debug, Parser)]
#[command(name = "connector-gateway", version, arg_required_else_help = true, disable_help_subcommand = true)]
pub struct Arguments {
    /// The configuration file [default: $GATEWAY_CONFIG, else gateway.toml if it exists]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The command.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Serve until SIGTERM, SIGINT or SIGHUP
    Serve {
        /// Begin with an empty database although there is a master key. Without it, the gateway does not start, because the database
        /// may have been lost
        #[arg(long)]
        new_database: bool,
    },
    /// Make, list and revoke API keys, and replace the master key
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Add, remove, check and create connectors
    #[command(subcommand)]
    Connectors(ConnectorsCommand),
    /// Print the OpenAPI document of the live connectors
    Openapi,
    /// Compile one module. The gateway runs this command in a process of its own, which it can kill
    #[command(hide = true)]
    Compile(CompileArguments),
    /// Compile and try the schemas of one module. The gateway runs this command as it runs `compile`
    #[command(hide = true)]
    TrySchemas(TrySchemasArguments),
}

/// The commands `keys …`.
#[derive(Clone, Debug, Subcommand)]
pub enum KeysCommand {
    /// Make a key and print it. It cannot be printed again
    Create(CreateKeyArguments),
    /// List all keys, without their secret parts
    List(ListArguments),
    /// Revoke a key. A running gateway refuses it within two seconds
    Revoke {
        /// The key's id, as `keys list` shows it
        id: String,
    },
    /// Replace the master key and seal every secret again, while gateways run. If interrupted, run it again
    RotateMaster {
        /// Delete the former master key of a rotation that is under way. Use this once every gateway has a copy of the new file.
        /// On SQLite it happens without this option, because all gateways share one file
        #[arg(long)]
        finish: bool,
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

    /// The user that the key acts for. It sees only this user's accounts and jobs [default: the tenant itself, whose accounts and
    /// jobs are apart from those of its users]
    #[arg(long, value_parser = label)]
    pub subject: Option<String>,

    /// A permission of the key, in place of the default ones. Repeat the option for several
    #[arg(long = "scope", value_name = "SCOPE", default_values = ["operate", "integrate"])]
    pub scopes: Vec<Scope>,
}

/// The commands `connectors …`.
#[derive(Clone, Debug, Subcommand)]
pub enum ConnectorsCommand {
    /// List the connectors of a gateway
    List {
        #[command(flatten)]
        list: ListArguments,
        #[command(flatten)]
        gateway: GatewayArguments,
    },
    /// Check a module and add it to a gateway, or put it in the place of the version before. A running gateway swaps it in
    Add(AddArguments),
    /// Check a module and push it into a registry, with its signature if there is one beside it
    Push(PushArguments),
    /// Let a connector reach hosts, besides those that it was granted before. A running gateway notices it within two seconds
    Grant {
        /// The connector's identifier
        id: String,
        /// The hosts, as `connectors grants` shows them
        #[arg(required = true, value_name = "HOST")]
        hosts: Vec<String>,
        #[command(flatten)]
        gateway: GatewayArguments,
    },
    /// Let a connector no longer reach hosts. A running gateway notices it within two seconds
    Revoke {
        /// The connector's identifier
        id: String,
        /// The hosts
        #[arg(required = true, value_name = "HOST")]
        hosts: Vec<String>,
        #[command(flatten)]
        gateway: GatewayArguments,
    },
    /// List the hosts that connectors were granted, and those that they ask for
    Grants {
        /// The connector's identifier [default: all connectors that need grants]
        id: Option<String>,
        #[command(flatten)]
        list: ListArguments,
        #[command(flatten)]
        gateway: GatewayArguments,
    },
    /// Remove a connector and its grants. If it replaces one that came with the gateway, that one is live again
    Remove {
        /// The connector's identifier
        id: String,
        #[command(flatten)]
        gateway: GatewayArguments,
    },
    /// List the versions of a connector that were live and can be brought back
    Versions {
        /// The connector's identifier
        id: String,
        #[command(flatten)]
        list: ListArguments,
        #[command(flatten)]
        gateway: GatewayArguments,
    },
    /// Bring back the version that was live before the current one, with the grants that it had
    Rollback {
        /// The connector's identifier
        id: String,
        /// Another version that `connectors versions` lists: its version, or at least six digits of its SHA-256
        #[arg(long, value_name = "VERSION")]
        to: Option<String>,
        #[command(flatten)]
        gateway: GatewayArguments,
    },
    /// List who changed connectors and their grants, and when. The newest change is first
    History {
        /// The connector's identifier, also of a removed one [default: all connectors]
        id: Option<String>,
        /// The most changes that are listed
        #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
        #[command(flatten)]
        list: ListArguments,
        #[command(flatten)]
        gateway: GatewayArguments,
    },
    /// Create the project of a connector, from a template or an OpenAPI document
    New(NewArguments),
    /// Build a connector from its project, and write the module
    Build {
        /// The project's folder
        #[arg(default_value = ".")]
        folder: PathBuf,
        /// The file to write the module to [default: in the project's folder, with the project's name]
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Check if a module would be accepted, and report what it is, what it asks for and what changed since the version before.
    /// Needs no gateway, and changes nothing
    Check {
        /// The module, a WebAssembly component: a file, or its name in a registry
        module: ModuleSource,
        #[command(flatten)]
        list: ListArguments,
        #[command(flatten)]
        registry: RegistryArguments,
    },
    /// Run an operation of a module without a server, as the gateway does. All hosts that the module names are granted. The answer
    /// is printed; a failure is printed as the problem document that callers of the gateway get, and the exit code is 1
    Call(CallArguments),
    /// Build a project, replay its recordings in the folder `recordings` against the module, and run its own tests (`cargo test`,
    /// `node --test` or `python -m unittest`). The exit code is 1 if a recording differs or a test fails
    Test(TestArguments),
    /// Build a project whenever a source is saved, and swap the module into a gateway that this command runs, or into another one
    /// (--url). The log of the connector, its requests and the compiler's messages are on the screen. Ctrl-C ends it
    Dev(DevArguments),
    /// Turn a core module that a toolchain built into a component
    Pack {
        /// The core module
        file: PathBuf,
        /// The file to write the component to
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
    },
}

impl ConnectorsCommand {
    /// The gateway that the command is about. `None` if it is about none.
    pub fn gateway(&self) -> Option<&GatewayArguments> {
        match self {
            Self::Add(AddArguments { gateway, .. })
            | Self::List { gateway, .. }
            | Self::Grant { gateway, .. }
            | Self::Revoke { gateway, .. }
            | Self::Grants { gateway, .. }
            | Self::Remove { gateway, .. }
            | Self::Versions { gateway, .. }
            | Self::Rollback { gateway, .. }
            | Self::History { gateway, .. } => Some(gateway),
            Self::New(_)
            | Self::Build { .. }
            | Self::Call(_)
            | Self::Test(_)
            | Self::Dev(_)
            | Self::Check { .. }
            | Self::Pack { .. }
            | Self::Push(_) => None,
        }
    }
}

/// The options of `connectors add`.
#[derive(Clone, Debug, Args)]
pub struct AddArguments {
    /// The module, a WebAssembly component: a file, or its name in a registry, such as
    /// oci://registry.example.com/acme/words:1.0.0
    pub module: ModuleSource,
    /// A host that the connector may reach, besides those that it was granted before. Repeat the option for several
    #[arg(long = "grant", value_name = "HOST")]
    pub grants: Vec<String>,
    /// Accept that the module asks for more than the version before: hosts, scopes, the user's credential for another
    /// upstream, destructive operations
    #[arg(long)]
    pub accept: bool,
    /// Put the module in the place of the connector of its identifier that came with the gateway
    #[arg(long)]
    pub replace_shipped: bool,
    #[command(flatten)]
    pub registry: RegistryArguments,
    #[command(flatten)]
    pub gateway: GatewayArguments,
}

/// The gateway that a command is about.
#[derive(Clone, Debug, Args)]
pub struct GatewayArguments {
    /// The URL of a running gateway [default: the folders and the database of the configuration]
    #[arg(long, value_parser = gateway_url)]
    pub url: Option<Url>,
    /// A key of that gateway with the scope `admin`. Other users of this machine can read an argument, so better set the
    /// environment variable
    #[arg(long, env = "GATEWAY_KEY", hide_env_values = true, value_parser = secret)]
    pub key: Option<SecretString>,
    /// A file with the key, in place of --key
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
}

/// The options of `connectors new`.
#[derive(Clone, Debug, Args)]
pub struct NewArguments {
    /// The new connector's identifier
    pub id: String,
    /// The folder of the project, which is made [default: the identifier, in the working directory]
    #[arg(long)]
    pub folder: Option<PathBuf>,
    /// The language
    #[arg(long, value_enum, default_value_t = Language::Rust)]
    pub lang: Language,
    /// How users authenticate at the service [default: none, or what the OpenAPI document says]
    #[arg(long, value_enum)]
    pub auth: Option<AuthKind>,
    /// The folder of an SDK that is used in place of the published one
    #[arg(long, value_name = "FOLDER")]
    pub sdk: Option<PathBuf>,
    /// Make the table from this OpenAPI document (3.0, 3.1 or 2.0, as JSON or YAML)
    #[arg(long, value_name = "FILE")]
    pub from_openapi: Option<PathBuf>,
    /// The document's operations to take, by their operationId or as "GET /path" [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "from_openapi")]
    pub operations: Vec<String>,
}

/// The options of `connectors push`.
#[derive(Clone, Debug, Args)]
pub struct PushArguments {
    /// The module, a WebAssembly component
    pub file: PathBuf,
    /// The name that the module gets, such as oci://registry.example.com/acme/words:1.0.0. Without a version, it is the module's
    pub reference: ModuleReference,
    /// Replace another module that has this version
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub registry: RegistryArguments,
}

/// The options for a registry. Without a user name, the credentials are those that `docker login` has stored.
#[derive(Clone, Debug, Default, Args)]
pub struct RegistryArguments {
    /// The user of the registry [default: the one that `docker login` has stored]
    #[arg(long, value_name = "NAME", requires = "password_stdin")]
    pub username: Option<String>,
    /// Read the user's password from standard input
    #[arg(long, requires = "username")]
    pub password_stdin: bool,
    /// Connect to the registry without TLS. On loopback it is always so
    #[arg(long)]
    pub plain_http: bool,
}

/// The options of a list.
#[derive(Clone, Copy, Debug, Args)]
pub struct ListArguments {
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}

/// The options of `compile`.
#[derive(Clone, Debug, Args)]
pub struct CompileArguments {
    /// The module
    #[arg(long, value_name = "FILE")]
    pub input: PathBuf,
    /// The file to write the compiled module to
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub limits: LimitArguments,
}

/// The options of `try-schemas`.
#[derive(Clone, Debug, Args)]
pub struct TrySchemasArguments {
    /// The schemas
    #[arg(long, value_name = "FILE")]
    pub input: PathBuf,
    #[command(flatten)]
    pub limits: LimitArguments,
}

/// The limits of a child process.
#[derive(Clone, Copy, Debug, Args)]
pub struct LimitArguments {
    /// Memory limit, in MiB
    #[arg(long)]
    pub memory_mb: u64,
    /// Computing time limit, in seconds
    #[arg(long)]
    pub cpu_s: u64,
}

impl From<LimitArguments> for ChildLimits {
    fn from(limits: LimitArguments) -> Self {
        Self { memory_mb: limits.memory_mb, cpu_s: limits.cpu_s }
    }
}

impl ValueEnum for Scope {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        let help = match self {
            Self::Operate => "call operations, and read and cancel their jobs",
            Self::Integrate => "connect and remove users' accounts, and manage webhook secrets",
            Self::Admin => "add, remove and roll back connectors, see why one was refused, and read the metrics",
        };
        Some(clap::builder::PossibleValue::new(self.name()).help(help))
    }
}

/// The URL of a gateway. It may have a path, if a proxy serves the gateway below one.
fn gateway_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    url.ok_or_else(|| "it must be an absolute http or https URL, such as https://gateway.example.com".to_owned())
}

/// Takes a text that is never printed.
fn secret(text: &str) -> Result<SecretString, Infallible> {
    Ok(text.into())
}

/// Accepts a name that fits on one line of a list. Blanks at its ends would be invisible there.
fn label(text: &str) -> Result<String, String> {
    const MAX_CHARACTERS: usize = 256;
    if text.is_empty() || text.trim() != text {
        return Err("it must not be empty, and must not begin or end with a blank".to_owned());
    }
    if text.chars().any(char::is_control) || text.chars().count() > MAX_CHARACTERS {
        return Err(format!("it must be on one line and have at most {MAX_CHARACTERS} characters"));
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
    fn the_definitions_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_configuration_file_may_be_named_before_or_after_the_command() {
        for line in ["g serve --config a.toml", "g --config a.toml serve", "g keys list --config a.toml"] {
            assert_eq!(parse(line).unwrap().config, Some("a.toml".into()), "{line}");
        }
    }

    #[test]
    fn a_key_without_scopes_has_operate_and_integrate_but_not_admin() {
        let Command::Keys(KeysCommand::Create(arguments)) = parse("g keys create --name app").unwrap().command else {
            unreachable!()
        };
        assert_eq!(arguments.scopes, [Scope::Operate, Scope::Integrate]);
        assert_eq!(arguments.tenant, "default");
    }

    #[test]
    fn given_scopes_replace_the_default_ones() {
        let line = "g keys create --name ci --scope admin --scope operate";
        let Command::Keys(KeysCommand::Create(arguments)) = parse(line).unwrap().command else { unreachable!() };
        assert_eq!(arguments.scopes, [Scope::Admin, Scope::Operate]);
    }

    #[test]
    fn a_wrong_command_line_exits_with_2_and_suggests_the_nearest_value() {
        let error = parse("g keys create --name app --scope operat").unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("operate"), "{error}");
        assert_eq!(parse("g keys create --name").unwrap_err().exit_code(), 2);
    }

    #[test]
    fn a_url_that_is_not_one_of_a_gateway_is_refused_with_an_example() {
        for url in ["127.0.0.1:8080", "localhost:8080", "gateway.example.com", "ftp://gateway.example.com"] {
            let error = parse(&format!("g connectors list --url {url}")).unwrap_err().to_string();
            assert!(error.contains("an absolute http or https URL, such as https://gateway.example.com"), "{error}");
        }
        assert!(parse("g connectors list --url http://127.0.0.1:8080").is_ok());
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
