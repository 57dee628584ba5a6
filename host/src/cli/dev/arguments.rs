//! The options of `connectors dev`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::arguments::GatewayArguments;
use crate::cli::call::SurroundingsArguments;

/// The options of `connectors dev`.
#[derive(Clone, Debug, Args)]
pub struct DevArguments {
    /// The project's folder
    #[arg(default_value = ".")]
    pub folder: PathBuf,
    /// The port of the gateway at 127.0.0.1 [default: a free one]
    #[arg(long, conflicts_with = "url")]
    pub port: Option<u16>,
    #[command(flatten)]
    pub surroundings: SurroundingsArguments,
    /// Start a stand-in for the OAuth provider. It consents to everything, and its tokens are no tokens of the service
    #[arg(long, conflicts_with = "url")]
    pub oauth: bool,
    /// The lifetime of the stand-in's access tokens, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = clap::value_parser!(u32).range(1..), requires = "oauth")]
    pub token_lifetime: u32,
    /// Connect an account with the access token, API key or user:password in this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "oauth"])]
    pub credential_file: Option<PathBuf>,
    #[command(flatten)]
    pub gateway: GatewayArguments,
}
