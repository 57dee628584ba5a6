//! The commands about the connectors of a gateway, and their options.

use authoring::gateway::ModuleChange;
use authoring::module_source::ModuleSource;
use authoring::options::{GatewayArguments, ListArguments, RegistryArguments};
use clap::{Args, Subcommand};

/// The commands `connectors …` about the connectors of a gateway.
#[derive(Clone, Debug, Subcommand)]
pub enum InstalledCommand {
    /// List the connectors of a gateway
    List {
        #[command(flatten)]
        list: ListArguments,
        #[command(flatten)]
        gateway: GatewayArguments,
    },
    /// Check a module and add it to a gateway, or replace the previous version. A running gateway
    /// swaps it in
    Add(AddArguments),
    /// Let a connector reach hosts, in addition to the hosts that it was already granted. A running
    /// gateway notices it within two seconds
    Grant {
        /// The connector's identifier
        id: String,
        /// The hosts, as `connectors grants` shows them
        #[arg(required = true, value_name = "HOST")]
        hosts: Vec<String>,
        #[command(flatten)]
        list: ListArguments,
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
        list: ListArguments,
        #[command(flatten)]
        gateway: GatewayArguments,
    },
    /// List the hosts that connectors were granted, and the hosts that they ask for
    Grants {
        /// The connector's identifier [default: all connectors that need grants]
        id: Option<String>,
        #[command(flatten)]
        list: ListArguments,
        #[command(flatten)]
        gateway: GatewayArguments,
    },
    /// Remove a connector and its grants. If it replaces one that came with the gateway, that one
    /// is live again
    Remove {
        /// The connector's identifier
        id: String,
        #[command(flatten)]
        change: ChangeArguments,
        #[command(flatten)]
        list: ListArguments,
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
        /// Another version that `connectors versions` lists: its version, or at least six digits of
        /// its SHA-256
        #[arg(long, value_name = "VERSION")]
        to: Option<String>,
        #[command(flatten)]
        change: ChangeArguments,
        #[command(flatten)]
        list: ListArguments,
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
}

impl InstalledCommand {
    /// The gateway that the command is about.
    pub(super) fn gateway(&self) -> &GatewayArguments {
        match self {
            Self::Add(AddArguments { gateway, .. })
            | Self::List { gateway, .. }
            | Self::Grant { gateway, .. }
            | Self::Revoke { gateway, .. }
            | Self::Grants { gateway, .. }
            | Self::Remove { gateway, .. }
            | Self::Versions { gateway, .. }
            | Self::Rollback { gateway, .. }
            | Self::History { gateway, .. } => gateway,
        }
    }
}

/// The options of each change of the module of a connector.
#[derive(Clone, Copy, Debug, Args)]
pub struct ChangeArguments {
    /// Change the connector only if this is still its generation, as `connectors list` shows it
    #[arg(long, value_name = "GENERATION", value_parser = clap::value_parser!(i64).range(0..))]
    pub if_generation: Option<i64>,
    /// Wait until every gateway of the service serves or refuses the change, for so many seconds, and
    /// list them
    #[arg(long, value_name = "SECONDS", requires = "url", value_parser = clap::value_parser!(u32).range(1..=60))]
    pub wait: Option<u32>,
}

impl From<&ChangeArguments> for ModuleChange {
    fn from(arguments: &ChangeArguments) -> Self {
        Self { replaces: arguments.if_generation, wait: arguments.wait }
    }
}

/// The options of `connectors add`.
#[derive(Clone, Debug, Args)]
pub struct AddArguments {
    /// The module, a WebAssembly component: a file, or its name in a registry, such as
    /// oci://registry.example.com/acme/words:1.0.0
    pub module: ModuleSource,
    /// A host that the connector may reach, in addition to the hosts that it was already granted.
    /// Repeat the option for several
    #[arg(long = "grant", value_name = "HOST")]
    pub grants: Vec<String>,
    /// Accept that the module asks for more than the previous version: hosts, scopes, the user's
    /// credential for another upstream, destructive operations
    #[arg(long)]
    pub accept: bool,
    /// With --accept, also grant the hosts that the module asks for. They are printed
    #[arg(long)]
    pub grant_asked: bool,
    /// Replace the connector with the same identifier that came with the gateway
    #[arg(long)]
    pub replace_shipped: bool,
    #[command(flatten)]
    pub change: ChangeArguments,
    #[command(flatten)]
    pub list: ListArguments,
    #[command(flatten)]
    pub registry: RegistryArguments,
    #[command(flatten)]
    pub gateway: GatewayArguments,
}
