//! The modules, configuration and environment that a gateway is started with.

use std::fs;
use std::path::PathBuf;
use std::sync::Once;

use rustls::ClientConfig;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::home::write_private;
use crate::oauth::{ClientAuthentication, Dialect, Revocation};
use crate::tls::{Authority, Issued};
use crate::{Gateway, Home, OAuthProvider, Store, module, process, tables};

/// The bootstrap key of every gateway that is not started
/// [with a first key](Setup::with_first_key).
pub const KEY: &str = "a-key-for-tests-only-0123456789";

/// The master key of gateways that share a cache: the gateway loads only compiled modules that its
/// own key authenticates.
const SHARED_MASTER_KEY: &str = "QSBtYXN0ZXIga2V5IHRoYXQgb25seSB0ZXN0cyB1c2U=\n";

/// The modules, configuration and environment of a gateway.
#[derive(Default)]
pub struct Setup {
    modules: Vec<(String, Vec<u8>)>,
    shipped: Vec<(String, Vec<u8>)>,
    /// The keys of `gateway.toml` outside of sections, and its sections.
    general: String,
    config: String,
    environment: Vec<(String, String)>,
    first_key: bool,
    cold: bool,
    descriptors: Option<u32>,
    release: Option<PathBuf>,
    tls: Option<(Issued, ClientConfig)>,
}

impl Setup {
    /// Default configuration, no connectors, and [`KEY`] as the key with every scope.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a connector of the product.
    ///
    /// # Panics
    /// When the connectors were not built.
    #[must_use]
    pub fn shipped(self, name: &str) -> Self {
        // Tests begin together. Each of their gateways would compile the same connectors, and they
        // would slow each other down until one is not ready in time.
        static COMPILED: Once = Once::new();
        COMPILED.call_once(|| drop(Self::new().with_shipped(&module::shipped_names()).start()));
        self.with_shipped(&[name.to_owned()])
    }

    fn with_shipped(self, names: &[String]) -> Self {
        names.iter().fold(self, |setup, name| setup.shipped_module(name, module::shipped(name)))
    }

    /// Adds a module under this name, as one that came with the gateway.
    #[must_use]
    pub fn shipped_module(mut self, name: &str, module: Vec<u8>) -> Self {
        self.shipped.push((name.to_owned(), module));
        self
    }

    /// Adds every connector of the product.
    ///
    /// # Panics
    /// When they were not built.
    #[must_use]
    pub fn every_shipped(self) -> Self {
        module::shipped_names().iter().fold(self, |setup, name| setup.shipped(name))
    }

    /// Adds a guest from `tests/guests`.
    #[must_use]
    pub fn guest(self, name: &str) -> Self {
        let module = module::guest(name);
        self.module(name, module)
    }

    /// Adds a module under this name.
    #[must_use]
    pub fn module(mut self, name: &str, module: Vec<u8>) -> Self {
        self.modules.push((name.to_owned(), module));
        self
    }

    /// Adds lines to `gateway.toml`. Keys outside of sections are set by [`Setup::general`].
    #[must_use]
    pub fn config(mut self, toml: &str) -> Self {
        self.config.push_str(toml);
        self.config.push('\n');
        self
    }

    /// Sets the URL of a connector's upstream to a server on loopback, and allows the private
    /// network for the connector. This opens the connector's section: keys that are added next
    /// belong to the connector.
    #[must_use]
    pub fn upstream(self, connector: &str, upstream: &str, url: &str) -> Self {
        self.config(&format!(
            "[connectors.{connector}]\nallow_private_network = true\nupstreams.{upstream} = \"{url}\""
        ))
    }

    /// Selects the store.
    #[must_use]
    pub fn on(mut self, store: &Store) -> Self {
        self.general.push_str(&store.config());
        self
    }

    /// Sets keys outside of sections.
    #[must_use]
    pub fn general(mut self, toml: &str) -> Self {
        self.general.push_str(toml);
        self.general.push('\n');
        self
    }

    /// Adds the guest `account` under this identifier. Its users have accounts at the provider, and
    /// its upstreams are the provider's API. This opens the connector's section, as
    /// [`Setup::upstream`] does.
    #[must_use]
    pub fn account(self, identifier: &str, provider: &OAuthProvider) -> Self {
        self.account_with(identifier, provider, &json!({}))
    }

    /// As [`Setup::account`], without the client's credentials.
    #[must_use]
    pub fn account_without_client(self, identifier: &str, provider: &OAuthProvider) -> Self {
        let mut described = described(provider);
        described["identifier"] = json!(identifier);
        let module = module::account(&described);
        self.module(identifier, module).endpoints(identifier, provider, &[("api", ""), ("other", "")])
    }

    /// As [`Setup::account`], with members of `service` added to the guest's description of its
    /// service, or replaced in it.
    #[must_use]
    pub fn account_with(self, identifier: &str, provider: &OAuthProvider, service: &Value) -> Self {
        let mut described = described(provider);
        described["identifier"] = json!(identifier);
        for (name, value) in service.as_object().into_iter().flatten() {
            described[name] = value.clone();
        }
        let module = module::account(&described);
        self.module(identifier, module).provider(identifier, provider, &[("api", ""), ("other", "")])
    }

    /// Configures a connector for a provider: the OAuth endpoints, the client's credentials, and
    /// each upstream as a path below the provider's API. This opens the connector's section, as
    /// [`Setup::upstream`] does.
    #[must_use]
    pub fn provider(self, connector: &str, provider: &OAuthProvider, upstreams: &[(&str, &str)]) -> Self {
        self.oauth_client(connector, provider.dialect()).endpoints(connector, provider, upstreams)
    }

    /// Sets the client's credentials of a connector, or of all connectors of a provider.
    #[must_use]
    pub fn oauth_client(self, name: &str, dialect: &Dialect) -> Self {
        self.config(&format!(
            "[oauth_clients.{name}]\nclient_id = \"{}\"\nclient_secret = \"{}\"",
            dialect.client_id, dialect.client_secret
        ))
    }

    /// As [`Setup::provider`], without the client's credentials.
    #[must_use]
    pub fn endpoints(self, connector: &str, provider: &OAuthProvider, upstreams: &[(&str, &str)]) -> Self {
        let url = provider.url();
        let mut section = format!(
            "[connectors.{connector}]\nallow_private_network = true\n\
             oauth.authorization_url = \"{url}/authorize\"\noauth.token_url = \"{url}/token\"\n"
        );
        if let Some(revocation) = provider.revocation_url() {
            section.push_str(&format!("oauth.revocation_url = \"{revocation}\"\n"));
        }
        for (upstream, path) in upstreams {
            section.push_str(&format!("upstreams.{upstream} = \"{}{path}\"\n", provider.api()));
        }
        self.config(&section)
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Speaks TLS to callers with a certificate of this authority. Clients of the gateway trust the
    /// authority. This opens the section `tls`.
    #[must_use]
    pub fn tls(mut self, authority: &Authority) -> Self {
        self.tls = Some((authority.issue(), authority.client()));
        self.config("[tls]\ncertificate = \"tls.crt\"\nkey = \"tls.key\"")
    }

    /// Sets no bootstrap key, so that the gateway makes its first key itself.
    #[must_use]
    pub fn with_first_key(mut self) -> Self {
        self.first_key = true;
        self
    }

    /// Uses its own empty cache of compiled modules, its own master key, and an empty database. By
    /// default all tests share one cache and one key, and [`Setup::start`] puts a database with tables
    /// into the data directory, which saves time.
    #[must_use]
    pub fn cold(mut self) -> Self {
        self.cold = true;
        self
    }

    /// Limits the number of descriptors that the gateway's process may open.
    #[must_use]
    pub fn descriptors(mut self, limit: u32) -> Self {
        self.descriptors = Some(limit);
        self
    }

    /// Runs the binary of another release. Such a gateway should be [cold](Setup::cold): releases do
    /// not share compiled modules.
    #[must_use]
    pub fn release(mut self, binary: PathBuf) -> Self {
        self.release = Some(binary);
        self
    }

    /// Creates the folders without starting the gateway.
    ///
    /// # Panics
    /// When they cannot be created.
    pub fn prepare(self) -> Home {
        let folder = TempDir::new().unwrap();
        let mut home = Home::new(folder, self.environment, (!self.first_key).then(|| KEY.to_owned()));
        home.descriptors = self.descriptors;
        home.release = self.release;
        if let Some((issued, client)) = self.tls {
            let (certificate, key) = home.pair();
            issued.write(&certificate, &key);
            home.tls = Some(client);
        }
        fs::create_dir(home.modules()).unwrap();
        fs::create_dir(home.shipped()).unwrap();
        fs::create_dir(home.data()).unwrap();
        if !self.cold {
            let shared = shared_cache();
            fs::create_dir_all(&shared).unwrap();
            std::os::unix::fs::symlink(shared, home.data().join("compiled")).unwrap();
            write_private(&home.data().join("master.key"), SHARED_MASTER_KEY);
        }
        for (name, module) in &self.modules {
            fs::write(home.module(name), module).unwrap();
        }
        for (name, module) in &self.shipped {
            fs::write(home.shipped_module(name), module).unwrap();
        }
        let own = format!(
            "listen = \"127.0.0.1:0\"\ndata_dir = {:?}\nshipped_dir = {:?}\nmodules_dir = {:?}\nlog_format = \"json\"\n",
            home.data(),
            home.shipped(),
            home.modules()
        );
        fs::write(home.config(), own + &self.general + &self.config).unwrap();
        home
    }

    /// Starts the gateway and waits until it accepts requests.
    pub fn start(self) -> Gateway {
        let has_tables = self.takes_tables();
        let home = self.prepare();
        if has_tables {
            write_private(&home.database(), tables::sqlite());
        }
        home.start()
    }

    /// Returns `true` if the gateway uses the SQLite file, and may find the tables of this release in
    /// it. A PostgreSQL database [has them already](Store::postgres).
    fn takes_tables(&self) -> bool {
        let is_on_sqlite = ![&self.general, &self.config].iter().any(|lines| lines.contains("database_url"));
        is_on_sqlite && !self.cold && self.release.is_none()
    }
}

/// The guest's description of a provider, without its URLs.
fn described(provider: &OAuthProvider) -> Value {
    let dialect = provider.dialect();
    let mut described = json!({
        "auth": "oauth2",
        "scopes": ["read", "write"],
        "scope_separator": dialect.scope_separator,
        "scope_parameter": dialect.scope_parameter,
        "authorization_parameters": dialect.parameters,
        "pkce": dialect.pkce,
        "revokes_replaced_grants": !dialect.one_grant_per_account,
        "client_authentication": match dialect.client_authentication {
            ClientAuthentication::Body => "body",
            ClientAuthentication::Basic => "basic",
        },
        "token_pointer": match dialect.token_member {
            "" => String::new(),
            member => format!("/{member}"),
        },
    });
    if let Some(revocation) = dialect.revocation {
        let (name, url) = match revocation {
            Revocation::Form => ("form", "https://accounts.example/revoke"),
            Revocation::Bearer => ("bearer", "https://accounts.example/revoke"),
            Revocation::Delete => ("delete", "https://accounts.example/applications/{client_id}/token"),
        };
        described["revocation"] = json!(name);
        described["revocation_url"] = json!(url);
    }
    described
}

/// The cache that tests share. It is next to the binary, so that `cargo clean` removes it too.
fn shared_cache() -> PathBuf {
    process::binary().with_file_name("product-tests-compiled")
}
