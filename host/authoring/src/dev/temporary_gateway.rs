//! The gateway that `connectors dev` runs. It has a temporary folder, listens on this machine only,
//! and serves one connector.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use connector_gateway::{AuthorSettings, Config, Connector, Oauth, Registry, open_registry};
use url::Url;

use super::DevError;
use super::provider::Provider;
use contract::AuthScheme;
use sandbox::CompiledModules;
use store::Store;

/// Time for calls in progress to finish when the author ends the command.
const DRAIN: Duration = Duration::from_secs(1);

/// The configuration of a gateway in a folder. It does not depend on the operator's configuration.
pub(super) fn config(folder: &Path, port: u16) -> io::Result<Config> {
    let [data_dir, modules_dir, shipped_dir] = ["data", "modules", "shipped"].map(|name| folder.join(name));
    fs::create_dir(&modules_dir)?;
    fs::create_dir(&shipped_dir)?;
    let mut config =
        Config { data_dir, modules_dir, shipped_dir: Some(shipped_dir), drain: DRAIN, ..Config::default() };
    config.listening_on(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    Ok(config)
}

/// The registry of the gateway before it serves. The gateway does not compile again what it
/// compiles.
pub(super) async fn registry(config: &Config, compiled: Option<&CompiledModules>) -> Result<Arc<Registry>, DevError> {
    let store = Store::connect(&config.store()).await?;
    Ok(open_registry(&Arc::new(config.clone()), store, compiled).await?)
}

/// The configuration with the settings of one connector.
pub(super) fn for_connector(
    config: &Config,
    connector: &Connector,
    settings: &AuthorSettings,
    provider: Option<&Provider>,
) -> Config {
    let name = connector.name().to_string();
    let mut config = settings.applied(config, &name);
    let connector_config = config.connectors.entry(name.clone()).or_default();
    if let Some(provider) = provider {
        connector_config.oauth = provider.settings();
        connector_config.allow_private_network = true;
        config.oauth_clients.entry(name).or_default().client = Some(provider.client());
    } else if let AuthScheme::Oauth2(scheme) = &connector.manifest().auth {
        // The author permits that tokens go to the manifest's provider, whatever its site is.
        connector_config.oauth = Oauth {
            authorization_url: Url::parse(&scheme.authorization_url).ok(),
            token_url: Url::parse(&scheme.token_url).ok(),
            device_authorization_url: connector
                .auth_additions()
                .device_code
                .as_ref()
                .and_then(|device| Url::parse(&device.device_authorization_url).ok()),
            ..Oauth::default()
        };
    }
    config
}
