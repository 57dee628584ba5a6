//! The commands `integrations …`, `jobs …`, `webhooks …`, `triggers …`, `inboxes …`, `calls …`,
//! `tenants …`, `tool-sets …`, `gateways …`, `usage` and `audit`, and their options.

use std::path::PathBuf;

use authoring::options::{GatewayArguments, ListArguments, RunningGatewayArguments, gateway_url};
use clap::{Args, Subcommand};
use url::Url;

use super::age::Recipient;
use super::filters::{Filters, ListOptions};
use connector_gateway::operator_lists::{
    AnyConnectLinks, AnyIntegrations, AnyJobs, AnyTriggers, AnyWebhooks, Audit, Calls, HookRequests,
};

/// The commands `integrations …`.
#[derive(Clone, Debug, Subcommand)]
pub enum IntegrationsCommand {
    /// List accounts of all tenants, the newest first
    List(ListOptions<AnyIntegrations>),
    /// List links to the page on which users connect accounts. The one that expires last is first
    Links(ListOptions<AnyConnectLinks>),
    /// Show one account
    Show(OneArguments),
    /// Refresh the tokens of an account now
    Renew(OneArguments),
    /// Revoke the access at the service if possible, and delete the account in any case
    Remove(OneArguments),
    /// Import accounts with their tokens, one in each line of a file. Nothing is called at the
    /// services
    Import(ImportArguments),
    /// Write all accounts with their tokens to a file, encrypted with age, in the lines that
    /// `import` reads. Runs on a machine with the database and the master key
    Export(ExportArguments),
}

/// The options of `integrations import`.
#[derive(Clone, Debug, Args)]
pub struct ImportArguments {
    /// The file, as `integrations export` writes it after `age --decrypt`
    pub file: PathBuf,
    /// Replace accounts that are connected
    #[arg(long)]
    pub replace: bool,
    #[command(flatten)]
    pub list: ListArguments,
    #[command(flatten)]
    pub gateway: RunningGatewayArguments,
}

/// The options of `integrations export`.
#[derive(Clone, Debug, Args)]
pub struct ExportArguments {
    /// The public key that can decrypt the file, as `age-keygen` prints it: age1…
    #[arg(long, value_name = "AGE_KEY", required = true, value_parser = recipient)]
    pub recipient: Vec<Recipient>,
    /// The file to write. It must not exist yet
    pub file: PathBuf,
}

fn recipient(text: &str) -> Result<Recipient, String> {
    text.parse().map_err(|error| format!("it is not a public key of age: {error}"))
}

/// The commands `jobs …`.
#[derive(Clone, Debug, Subcommand)]
pub enum JobsCommand {
    /// List jobs of all tenants, the newest first
    List(ListOptions<AnyJobs>),
    /// Show one job
    Show(OneArguments),
    /// Cancel a job
    Cancel(OneArguments),
}

/// The commands `gateways …`.
#[derive(Clone, Debug, Subcommand)]
pub enum GatewaysCommand {
    /// List the gateways of the service, and what each of them serves
    List {
        #[command(flatten)]
        list: ListArguments,
        #[command(flatten)]
        gateway: RunningGatewayArguments,
    },
    /// Show the configuration of the gateway at --url, without secrets
    Settings {
        /// Only settings that are not the default
        #[arg(long)]
        changed: bool,
        #[command(flatten)]
        list: ListArguments,
        #[command(flatten)]
        gateway: RunningGatewayArguments,
    },
    /// Show requests, errors, latency and saturation of the gateway at --url over the last hour
    Samples {
        #[command(flatten)]
        list: ListArguments,
        #[command(flatten)]
        gateway: RunningGatewayArguments,
    },
}

/// The commands `tenants …`.
#[derive(Clone, Debug, Subcommand)]
pub enum TenantsCommand {
    /// List tenants, with what they have
    List(PagedListArguments),
    /// List, set and remove the OAuth clients of a tenant
    #[command(subcommand)]
    Clients(ClientsCommand),
}

/// The commands `tenants clients …`.
#[derive(Clone, Debug, Subcommand)]
pub enum ClientsCommand {
    /// List the OAuth clients of a tenant, without their secrets
    List {
        /// The tenant
        tenant: String,
        #[command(flatten)]
        list: ListArguments,
        #[command(flatten)]
        gateway: RunningGatewayArguments,
    },
    /// Set the OAuth client with which users of a tenant connect accounts from now on
    Set(SetClientArguments),
    /// Remove an OAuth client of a tenant. Accounts that were connected with it must be connected
    /// again
    Remove {
        #[command(flatten)]
        client: ClientArguments,
        #[command(flatten)]
        list: ListArguments,
        #[command(flatten)]
        gateway: RunningGatewayArguments,
    },
}

/// An OAuth client of a tenant.
#[derive(Clone, Debug, Args)]
pub struct ClientArguments {
    /// The tenant
    pub tenant: String,
    /// The connector, or the provider of connectors that came with the gateway
    pub name: String,
}

/// The options of `tenants clients set`.
#[derive(Clone, Debug, Args)]
pub struct SetClientArguments {
    #[command(flatten)]
    pub client: ClientArguments,
    /// The id that the provider issued
    #[arg(long, value_name = "ID")]
    pub client_id: String,
    /// The file with the secret that the provider issued. Without it, the client is public
    #[arg(long, value_name = "FILE")]
    pub client_secret_file: Option<PathBuf>,
    /// A scope that users are asked to permit; may be given several times [default: those of the
    /// connector]
    #[arg(long = "scope", value_name = "SCOPE")]
    pub scopes: Vec<String>,
    /// The URL that the provider sends users back to [default: the gateway's]
    #[arg(long, value_name = "URL")]
    pub redirect_url: Option<String>,
    #[command(flatten)]
    pub list: ListArguments,
    #[command(flatten)]
    pub gateway: RunningGatewayArguments,
}

/// The commands `tool-sets …`.
#[derive(Clone, Debug, Subcommand)]
pub enum ToolSetsCommand {
    /// List the tool sets of the key's tenant
    List(PagedListArguments),
    /// Show one tool set
    Show(ToolSetArguments),
    /// Make a tool set
    Create(CreateToolSetArguments),
    /// Remove a tool set. Its address is not found from then on
    Remove(ToolSetArguments),
}

/// The options of a command about one tool set.
#[derive(Clone, Debug, Args)]
pub struct ToolSetArguments {
    /// The name
    pub name: String,
    #[command(flatten)]
    pub list: ListArguments,
    #[command(flatten)]
    pub gateway: RunningGatewayArguments,
}

/// The options of `tool-sets create`.
#[derive(Clone, Debug, Args)]
pub struct CreateToolSetArguments {
    /// The last part of the address: /mcp/sets/NAME
    pub name: String,
    /// A connector or an operation (`CONNECTOR/OPERATION`) of the set. Repeat the option for
    /// several
    #[arg(long, value_name = "NAME", required = true)]
    pub allow: Vec<String>,
    /// An effect of operations of the set. Repeat the option for several [default: all]
    #[arg(long = "effect", value_name = "EFFECT", value_parser = ["read", "write", "destructive"])]
    pub effects: Vec<String>,
    /// How operations become tools: each one (`direct`), by a search (`search`), or by their number
    /// (`auto`) [default: auto]
    #[arg(long, value_parser = ["auto", "direct", "search"])]
    pub mode: Option<String>,
    /// An operation that is a tool in every mode. Repeat the option for several
    #[arg(long, value_name = "CONNECTOR/OPERATION")]
    pub pinned: Vec<String>,
    /// Results have a structured form too
    #[arg(long)]
    pub structured: bool,
    /// Each call of a destructive operation must be confirmed
    #[arg(long)]
    pub confirm: bool,
    /// The account that every call uses [default: calls choose it]
    #[arg(long, value_name = "NAME")]
    pub account: Option<String>,
    #[command(flatten)]
    pub list: ListArguments,
    #[command(flatten)]
    pub gateway: RunningGatewayArguments,
}

/// The commands `webhooks …`.
#[derive(Clone, Debug, Subcommand)]
pub enum WebhooksCommand {
    /// List webhooks of all tenants, the newest first
    List(ListOptions<AnyWebhooks>),
    /// Put a webhook into the queue, so that it is sent once more under the same id
    Resend(OneArguments),
}

/// The commands `triggers …`.
#[derive(Clone, Debug, Subcommand)]
pub enum TriggersCommand {
    /// List triggers of all tenants, the newest first
    List(ListOptions<AnyTriggers>),
    /// Show one trigger
    Show(OneArguments),
    /// Deliver the example of its type, as an event. For triggers of the key's tenant
    Test(OneArguments),
    /// Look for events at the service now. For triggers of the key's tenant
    Read(OneArguments),
    /// Pull the events of a trigger, and post each to a URL on this machine, as its webhooks would
    /// be. For development, and for triggers of the key's tenant. Ends with Ctrl-C
    Listen(ListenArguments),
    /// Make the subscription of a trigger at the service anew, and read
    Resubscribe(OneArguments),
    /// Delete a trigger with its events
    Remove(OneArguments),
}

/// The options of `triggers listen`.
#[derive(Clone, Debug, Args)]
pub struct ListenArguments {
    /// The id
    pub id: String,
    /// The URL that gets the events, such as http://127.0.0.1:3000/events
    #[arg(long, value_name = "URL", value_parser = gateway_url)]
    pub forward: Url,
    /// Begin with the oldest event that is kept [default: events from now on]
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub gateway: RunningGatewayArguments,
}

/// The commands `inboxes …`.
#[derive(Clone, Debug, Subcommand)]
pub enum InboxesCommand {
    /// List the inboxes, each with the address for the service
    List(PagedListArguments),
    /// Show one inbox
    Show(OneArguments),
    /// Make an inbox, and print the address for the service
    Create(CreateInboxArguments),
    /// Give an inbox the secret with which the service signs. The secret is read from standard
    /// input, or asked for
    Secret(InboxSecretArguments),
    /// Delete an inbox with its secrets. What the service sends to its address is refused from then
    /// on
    Remove(OneArguments),
    /// List what services have sent to the gateway, the newest first, without the bodies
    Requests(ListOptions<HookRequests>),
}

/// The options of `inboxes create`.
#[derive(Clone, Debug, Args)]
pub struct CreateInboxArguments {
    /// The connector
    pub connector: String,
    /// The name of the inbox, as the connector declares it
    pub inbox: String,
    /// The tenant whose application it is [default: it serves all tenants]
    #[arg(long)]
    pub tenant: Option<String>,
    #[command(flatten)]
    pub list: ListArguments,
    #[command(flatten)]
    pub gateway: RunningGatewayArguments,
}

/// The options of `inboxes secret`.
#[derive(Clone, Debug, Args)]
pub struct InboxSecretArguments {
    /// The id of the inbox
    pub id: String,
    /// Delete the secret with this id, in place of adding one
    #[arg(long, value_name = "SECRET_ID")]
    pub remove: Option<String>,
    #[command(flatten)]
    pub list: ListArguments,
    #[command(flatten)]
    pub gateway: RunningGatewayArguments,
}

/// The commands `calls …`.
#[derive(Clone, Debug, Subcommand)]
pub enum CallsCommand {
    /// List records of calls of all tenants, the newest first. Without other settings, only calls
    /// that failed have one
    List(ListOptions<Calls>),
    /// Show the record of one call
    Show(OneArguments),
}

/// The options of `audit`.
#[derive(Clone, Debug, Args)]
pub struct AuditArguments {
    #[command(flatten)]
    pub filters: Filters<Audit>,
    #[command(flatten)]
    pub page: PageArguments,
    #[command(flatten)]
    pub list: ListArguments,
    #[command(flatten)]
    pub gateway: GatewayArguments,
}

/// The part of a long list that is printed.
#[derive(Clone, Debug, Args)]
pub struct PageArguments {
    /// The most entries to print
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// The entries after those of another page: its `next_cursor`, with the same filters
    #[arg(long)]
    pub cursor: Option<String>,
}

/// The options of a long list of a running gateway.
#[derive(Clone, Debug, Args)]
pub struct PagedListArguments {
    #[command(flatten)]
    pub page: PageArguments,
    #[command(flatten)]
    pub list: ListArguments,
    #[command(flatten)]
    pub gateway: RunningGatewayArguments,
}

/// The options of a command about one thing.
#[derive(Clone, Debug, Args)]
pub struct OneArguments {
    /// The id
    pub id: String,
    #[command(flatten)]
    pub list: ListArguments,
    #[command(flatten)]
    pub gateway: RunningGatewayArguments,
}
