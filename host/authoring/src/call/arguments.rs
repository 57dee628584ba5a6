//! The options of `connectors call`.

use std::path::PathBuf;

use clap::Args;

use crate::options::ConnectorArguments;

/// The options of `connectors call`.
#[derive(Clone, Debug, Args)]
pub struct CallArguments {
    /// The module, or the folder of a project whose module was built
    pub module: PathBuf,
    /// The operation
    pub operation: String,
    /// The input: JSON, `@FILE` for the content of a file, or `-` for standard input [default: the
    /// input of the recording, else {}]
    pub input: Option<String>,
    #[command(flatten)]
    pub connector: ConnectorArguments,
    #[command(flatten)]
    pub credential: CredentialArguments,
    /// Write the requests and the upstreams' responses to a file, without credentials and personal
    /// data
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub record: Option<PathBuf>,
    /// Take out the values of members with this name too. Repeat the option for several
    #[arg(long = "redact", value_name = "NAME", requires = "record")]
    pub redacted: Vec<String>,
    /// Keep the responses' header of this name too. Repeat the option for several
    #[arg(long = "keep-header", value_name = "NAME", requires = "record")]
    pub headers: Vec<String>,
    /// Answer the requests from a recording. Nothing is sent, and no credential is needed
    #[arg(long, value_name = "FILE", conflicts_with_all = ["credential_file", "credential_env", "upstreams"])]
    pub replay: Option<PathBuf>,
}

/// The source of the user's credential. It is not an argument itself, because other users of the
/// machine can see arguments.
#[derive(Clone, Debug, Args)]
pub struct CredentialArguments {
    /// Read the user's access token, API key, user:password or id:secret from a file
    #[arg(long, value_name = "FILE", conflicts_with = "credential_env")]
    pub credential_file: Option<PathBuf>,
    /// Read the user's access token, API key, user:password or id:secret from an environment variable
    #[arg(long, value_name = "NAME")]
    pub credential_env: Option<String>,
}
