//! The options of `connectors call` and `connectors test`.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;
use url::Url;

use crate::registry::AuthorSettings;

/// The options of `connectors call`.
#[derive(Clone, Debug, Args)]
pub struct CallArguments {
    /// The module, or the folder of a project whose module was built
    pub module: PathBuf,
    /// The operation
    pub operation: String,
    /// The input: JSON, `@FILE` for the content of a file, or `-` for standard input [default: that of the recording, else {}]
    pub input: Option<String>,
    #[command(flatten)]
    pub surroundings: SurroundingsArguments,
    #[command(flatten)]
    pub credential: CredentialArguments,
    /// Write the requests and the service's answers to a file, without credentials and personal data
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub record: Option<PathBuf>,
    /// Take out the values of members with this name too. Repeat the option for several
    #[arg(long = "redact", value_name = "NAME", requires = "record")]
    pub redacted: Vec<String>,
    /// Keep the answers' header of this name too. Repeat the option for several
    #[arg(long = "keep-header", value_name = "NAME", requires = "record")]
    pub headers: Vec<String>,
    /// Answer the requests from a recording. Nothing is sent, and no credential is needed
    #[arg(long, value_name = "FILE", conflicts_with_all = ["credential_file", "credential_env", "upstreams"])]
    pub replay: Option<PathBuf>,
}

/// The settings that a gateway's operator would configure.
#[derive(Clone, Debug, Args)]
pub struct SurroundingsArguments {
    /// Call this address in place of an upstream's. It may be on this machine. Repeat the option for several
    #[arg(long = "upstream", value_name = "NAME=URL", value_parser = upstream)]
    pub upstreams: Vec<(String, Url)>,
    /// Set one of the connector's settings to JSON or text. Repeat the option for several
    #[arg(long = "setting", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<(String, Value)>,
}

impl SurroundingsArguments {
    /// The settings of the connector.
    pub(in crate::cli) fn settings(&self) -> AuthorSettings {
        AuthorSettings {
            upstreams: self.upstreams.iter().cloned().collect(),
            settings: self.settings.iter().cloned().collect(),
        }
    }
}

/// The source of the user's credential. It is not an argument itself, because other users of the machine can see arguments.
#[derive(Clone, Debug, Args)]
pub struct CredentialArguments {
    /// Read the user's access token, API key or user:password from a file
    #[arg(long, value_name = "FILE", conflicts_with = "credential_env")]
    pub credential_file: Option<PathBuf>,
    /// Read the user's access token, API key or user:password from an environment variable
    #[arg(long, value_name = "NAME")]
    pub credential_env: Option<String>,
}

fn upstream(text: &str) -> Result<(String, Url), String> {
    let (name, url) = pair(text, "NAME=URL")?;
    let url = Url::parse(url).map_err(|error| format!("`{url}` is not a URL: {error}"))?;
    Ok((name, url))
}

fn setting(text: &str) -> Result<(String, Value), String> {
    let (name, value) = pair(text, "NAME=VALUE")?;
    Ok((name, serde_json::from_str(value).unwrap_or_else(|_| value.into())))
}

fn pair<'a>(text: &'a str, form: &str) -> Result<(String, &'a str), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("it has the form {form}"))?;
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_json_or_text() {
        assert_eq!(setting("n=7"), Ok(("n".to_owned(), 7.into())));
        assert_eq!(setting("n=a=b"), Ok(("n".to_owned(), "a=b".into())));
        assert!(setting("n").is_err());
        assert!(upstream("api=http://127.0.0.1:1").is_ok() && upstream("api=here").is_err());
    }
}
