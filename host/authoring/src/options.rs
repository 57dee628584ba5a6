//! Groups of options that several commands have.

use std::convert::Infallible;
use std::path::PathBuf;

use clap::Args;
use connector_gateway::AuthorSettings;
use secrecy::SecretString;
use serde_json::Value;
use url::Url;

use crate::shell;
use store::AccountAddress;

/// The options of a command whose result programs may read.
#[derive(Clone, Copy, Debug, Args)]
pub struct ListArguments {
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}

/// The gateway that a command is about: a running one, or the one of the configuration.
#[derive(Clone, Debug, Default, Args)]
pub struct GatewayArguments {
    /// The URL of a running gateway [default: the folders and the database of the configuration]
    #[arg(long, env = "GATEWAY_URL", value_parser = gateway_url)]
    pub url: Option<Url>,
    /// The key and the certificate for it.
    #[command(flatten)]
    pub access: AccessArguments,
}

/// The running gateway that a command is about.
#[derive(Clone, Debug, Args)]
pub struct RunningGatewayArguments {
    /// The URL of the running gateway, which the command needs, such as http://127.0.0.1:8080
    #[arg(long, env = "GATEWAY_URL", value_parser = gateway_url)]
    pub url: Option<Url>,
    /// The key and the certificate for it.
    #[command(flatten)]
    pub access: AccessArguments,
}

/// The key and the certificate that a command presents to a running gateway.
#[derive(Clone, Debug, Default, Args)]
pub struct AccessArguments {
    /// A key of that gateway with the scope `admin`, or `integrate` for tool sets. Other users of
    /// this machine can read an argument, so better set the environment variable
    #[arg(long, env = "GATEWAY_KEY", hide_env_values = true, value_parser = secret)]
    pub key: Option<SecretString>,
    /// A file with the key, in place of --key
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// A PEM file with a client certificate and its key, for a gateway with `admin_tls.client_ca`
    #[arg(long, value_name = "FILE", env = "GATEWAY_CLIENT_CERTIFICATE")]
    pub client_certificate: Option<PathBuf>,
}

/// The options for a registry. Without a user name, the credentials are those that `docker login`
/// has stored.
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

impl RegistryArguments {
    /// The options that a further command for the same registry needs, each after a blank. The
    /// command reads the password again.
    pub fn options(&self) -> String {
        let mut options = String::new();
        if self.plain_http {
            options.push_str(" --plain-http");
        }
        if let Some(username) = &self.username {
            options.push_str(&format!(" --username {} --password-stdin", shell::quoted(username)));
        }
        options
    }
}

/// The settings of the connector that a gateway's operator would configure.
#[derive(Clone, Debug, Args)]
pub struct ConnectorArguments {
    /// Call this address in place of an upstream's. It may be on this machine. Repeat the option
    /// for several
    #[arg(long = "upstream", value_name = "NAME=URL", value_parser = upstream)]
    pub upstreams: Vec<(String, Url)>,
    /// Set one of the connector's settings to JSON or text. Repeat the option for several
    #[arg(long = "setting", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<(String, Value)>,
    /// A part of the address of the account, such as its subdomain, if the connector's URLs have
    /// it. Repeat the option for several
    #[arg(long, value_name = "NAME=VALUE", value_parser = address_part)]
    pub address: Vec<(String, String)>,
}

impl ConnectorArguments {
    /// The parts of the address of the account.
    pub(crate) fn address(&self) -> AccountAddress {
        self.address.iter().cloned().collect()
    }

    /// The settings of the connector.
    pub(crate) fn settings(&self) -> AuthorSettings {
        AuthorSettings {
            upstreams: self.upstreams.iter().cloned().collect(),
            settings: self.settings.iter().cloned().collect(),
        }
    }
}

/// The URL of a gateway or of another server. It may have a path, if a proxy serves the gateway
/// below one.
///
/// # Errors
/// A phrase that says what the URL must be.
pub fn gateway_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    url.ok_or_else(|| "it must be an absolute http or https URL, such as https://gateway.example.com".to_owned())
}

/// Takes a text that is never printed.
fn secret(text: &str) -> Result<SecretString, Infallible> {
    Ok(files::secret_of(text).into())
}

fn upstream(text: &str) -> Result<(String, Url), String> {
    let (name, url) = pair(text, "NAME=URL")?;
    let url = Url::parse(url).map_err(|error| format!("`{url}` is not a URL: {error}"))?;
    Ok((name, url))
}

/// A part of the address of an account.
fn address_part(text: &str) -> Result<(String, String), String> {
    pair(text, "NAME=VALUE").map(|(name, value)| (name, value.to_owned()))
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

    #[test]
    fn a_further_command_reaches_the_same_registry() {
        assert_eq!(RegistryArguments::default().options(), "");
        let username = Some("robot$ci".to_owned());
        let with_all = RegistryArguments { username, password_stdin: true, plain_http: true };
        assert_eq!(with_all.options(), " --plain-http --username 'robot$ci' --password-stdin");
    }
}
