//! The command line: the groups of commands, and the commands of child processes. `--help` shows
//! the texts of commands and options.

use std::path::PathBuf;
use std::sync::LazyLock;

use authoring::AuthorCommand;
use clap::{Args, Parser, Subcommand};

use crate::backup::{BackupArguments, RestoreArguments};
use crate::doctor::DoctorArguments;
use crate::installed::InstalledCommand;
use crate::keys::KeysCommand;
use crate::operator::{
    AuditArguments, CallsCommand, GatewaysCommand, InboxesCommand, IntegrationsCommand, JobsCommand, ListOptions,
    TenantsCommand, ToolSetsCommand, TriggersCommand, WebhooksCommand,
};
use connector_gateway::operator_lists::Usage;
use sandbox::child::ChildLimits;

/// The text after the name with `--version`: the version, the commit that `make dist` was run on,
/// and the contract with connectors.
fn version() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let commit = option_env!("GATEWAY_COMMIT").unwrap_or("not known, because this is no release");
        let (version, contract) = (env!("CARGO_PKG_VERSION"), sandbox::CONTRACT_VERSION);
        format!("{version}\ncommit: {commit}\ncontract with connectors: {contract}, and every earlier version of it")
    });
    &TEXT
}

/// Runs third-party connectors in a sandbox and serves them through one REST scheme.
#[derive(Clone, Debug, Parser)]
#[command(name = "connector-gateway", version = version(), arg_required_else_help = true, disable_help_subcommand = true)]
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
        /// Begin with an empty database although another one depended on the master key. Without
        /// it, the gateway does not start, because the database may have been lost
        #[arg(long)]
        new_database: bool,
    },
    /// Find what is wrong with a gateway, and say what to do. Without --url and GATEWAY_URL, it
    /// examines the gateway of the configuration: its machine, database, keys, connectors, and the
    /// hosts that they call
    Doctor(DoctorArguments),
    /// Back up the database, the modules, their versions and the configuration into one archive,
    /// while the gateway serves
    Backup(BackupArguments),
    /// Restore an archive of `backup` into empty folders
    Restore(RestoreArguments),
    /// Make, list and revoke API keys, and replace the master key
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Add, remove, check and create connectors
    #[command(subcommand)]
    Connectors(ConnectorsCommand),
    /// List, renew and remove accounts of all tenants
    #[command(subcommand)]
    Integrations(IntegrationsCommand),
    /// List and cancel jobs of all tenants
    #[command(subcommand)]
    Jobs(JobsCommand),
    /// List the gateways of the service
    #[command(subcommand)]
    Gateways(GatewaysCommand),
    /// List tenants, and set their OAuth clients
    #[command(subcommand)]
    Tenants(TenantsCommand),
    /// List, make and remove tool sets: the operations that agents get at one address
    #[command(subcommand)]
    ToolSets(ToolSetsCommand),
    /// List webhooks of all tenants, and send them once more
    #[command(subcommand)]
    Webhooks(WebhooksCommand),
    /// List triggers of all tenants, test them, and have their events forwarded to this machine
    #[command(subcommand)]
    Triggers(TriggersCommand),
    /// Make and list the addresses at which services notify the gateway about whole applications
    #[command(subcommand)]
    Inboxes(InboxesCommand),
    /// List records of calls, and show one
    #[command(subcommand)]
    Calls(CallsCommand),
    /// List what tenants have called on each day
    Usage(ListOptions<Usage>),
    /// List changes by people, keys and files
    Audit(AuditArguments),
    /// Print the OpenAPI document of the live connectors
    Openapi {
        /// With all that is known of the answers of operations, as `/openapi.json?answers=typed`
        #[arg(long)]
        typed: bool,
    },
    /// Compile one module. The gateway runs this command in a child process, which it can kill
    #[command(hide = true)]
    Compile(CompileArguments),
    /// Compile and try the schemas of one module. The gateway runs this command as it runs
    /// `compile`
    #[command(hide = true)]
    TrySchemas(TrySchemasArguments),
}

/// The commands `connectors …`.
#[derive(Clone, Debug, Subcommand)]
pub enum ConnectorsCommand {
    /// The commands about the connectors of a gateway.
    #[command(flatten)]
    Installed(InstalledCommand),
    /// The commands for authors of connectors.
    #[command(flatten)]
    Author(AuthorCommand),
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use connector_gateway::Scope;

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
