//! The gateway that `connectors dev` runs: with its own folder, on this machine only, for one connector.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use url::Url;

use super::provider::Provider;
use crate::cli::connectors::ConnectorsError;
use crate::config::{Config, Oauth};
use crate::metrics::Metrics;
use crate::registry::{AuthorSettings, Connector, Registry};
use crate::serve::open_registry;
use crate::webhooks::Events;
use contract::AuthScheme;
use store::Store;
use store::vault::Vault;

/// Time for calls under way to finish when the author ends the command.
const DRAIN: Duration = Duration::from_secs(1);

/// The configuration of a gateway in a folder. It has nothing of the operator's configuration.
pub(super) fn config(folder: &Path, port: u16) -> Result<Config, ConnectorsError> {
    let [data_dir, modules_dir, shipped_dir] = ["data", "modules", "shipped"].map(|name| folder.join(name));
    fs::create_dir(&modules_dir)?;
    fs::create_dir(&shipped_dir)?;
    let mut config =
        Config { data_dir, modules_dir, shipped_dir: Some(shipped_dir), drain: DRAIN, ..Config::default() };
    config.listening_on(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    Ok(config)
}

/// The registry of the gateway before it serves. What it compiles, the gateway need not compile again.
pub(super) async fn registry(config: &Config) -> Result<Arc<Registry>, ConnectorsError> {
    let store = Store::connect(&config.store()).await?;
    let vault = Vault::open(&config.master_key_path(), &store).await?;
    let metrics = Arc::new(Metrics::default());
    Ok(open_registry(&Arc::new(config.clone()), store, &vault, &metrics, Events::default())?)
}

/// Adds what the gateway needs for one connector.
pub(super) fn for_connector(
    config: &Config,
    connector: &Connector,
    settings: &AuthorSettings,
    provider: Option<&Provider>,
) -> Config {
    let name = connector.name().to_string();
    let mut config = settings.applied(config, &name);
    let own = config.connectors.entry(name.clone()).or_default();
    if let Some(provider) = provider {
        own.oauth = provider.settings();
        own.allow_private_network = true;
        config.oauth_clients.insert(name, provider.client());
    } else if let AuthScheme::Oauth2(scheme) = &connector.manifest().auth {
        // The author's word that tokens may go to the manifest's own provider, at whatever site it is.
        own.oauth = Oauth {
            authorization_url: Url::parse(&scheme.authorization_url).ok(),
            token_url: Url::parse(&scheme.token_url).ok(),
            ..Oauth::default()
        };
    }
    config
}
