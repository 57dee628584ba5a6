//! The options of `connectors dev`.

use std::path::PathBuf;

use clap::Args;
use url::Url;

use crate::options::{AccessArguments, ConnectorArguments, gateway_url};

/// The options of `connectors dev`. The options about the gateway that the command runs conflict
/// with `--url`.
#[derive(Clone, Debug, Args)]
#[command(
    mut_arg("upstreams", |upstreams| upstreams.conflicts_with("url")),
    mut_arg("settings", |settings| settings.conflicts_with("url")),
    mut_arg("address", |address| address.conflicts_with("url"))
)]
pub struct DevArguments {
    /// The project's folder
    #[arg(default_value = ".")]
    pub folder: PathBuf,
    /// The port of the gateway at 127.0.0.1 [default: a free one]
    #[arg(long, conflicts_with = "url")]
    pub port: Option<u16>,
    #[command(flatten)]
    pub connector: ConnectorArguments,
    /// Start a stand-in for the OAuth provider. It consents to everything, and its tokens are no
    /// tokens of the service
    #[arg(long, conflicts_with = "url")]
    pub oauth: bool,
    /// The lifetime of the stand-in's access tokens, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = clap::value_parser!(u32).range(1..), requires = "oauth", conflicts_with = "url")]
    pub token_lifetime: u32,
    /// Connect an account with the access token, API key, user:password or id:secret in this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "oauth"])]
    pub credential_file: Option<PathBuf>,
    /// The URL of a running gateway, which gets each module that is built [default: the command runs
    /// a gateway]
    // The variable GATEWAY_URL has no effect here: it may name a gateway that serves, and a module
    // that is being written must not reach it by mistake.
    #[arg(long, value_parser = gateway_url)]
    pub url: Option<Url>,
    #[command(flatten)]
    pub access: AccessArguments,
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;
    use clap::{Command, FromArgMatches};

    use super::*;

    fn parsed(arguments: &[&str]) -> Result<DevArguments, clap::Error> {
        let command = DevArguments::augment_args(Command::new("dev"));
        DevArguments::from_arg_matches(&command.try_get_matches_from([&["dev"], arguments].concat())?)
    }

    #[test]
    fn no_variable_names_the_gateway_that_gets_unfinished_modules() {
        let command = DevArguments::augment_args(Command::new("dev"));
        let variable = |id: &str| command.get_arguments().find(|argument| argument.get_id() == id).unwrap().get_env();
        assert_eq!(variable("url"), None);
        assert_eq!(variable("key").unwrap(), "GATEWAY_KEY");
    }

    #[test]
    fn options_about_the_temporary_gateway_are_refused_for_another_gateway() {
        for option in [
            "--port=1",
            "--upstream=api=http://127.0.0.1:1",
            "--setting=a=1",
            "--address=subdomain=acme",
            "--token-lifetime=9",
            "--oauth",
            "--credential-file=token",
        ] {
            let refused = parsed(&["--url=https://gateway.example.com", option]).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::ArgumentConflict, "{option}: {refused}");
        }
        parsed(&["--url=https://gateway.example.com"]).unwrap();
        let own = ["--upstream=api=http://127.0.0.1:1", "--setting=a=1", "--address=subdomain=acme", "--oauth"];
        parsed(&[&own[..], &["--token-lifetime=9"]].concat()).unwrap();
    }
}
