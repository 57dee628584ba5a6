//! What a gateway is started with.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::{Gateway, Home, module, process};

/// The key that gateways are started with unless a test wants none.
pub const KEY: &str = "a-key-for-tests-only-0123456789";

/// What a gateway is started with.
#[derive(Default)]
pub struct Setup {
    modules: Vec<(String, Vec<u8>)>,
    config: String,
    environment: Vec<(String, String)>,
    first_key: bool,
    cold: bool,
}

impl Setup {
    /// Defaults, no connectors, and [`KEY`] as the key with every scope.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a connector that belongs to the product.
    #[must_use]
    pub fn shipped(self, name: &str) -> Self {
        let module = module::shipped(name);
        self.module(name, module)
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

    /// Adds to `gateway.toml`; keys that belong to no section first.
    #[must_use]
    pub fn config(mut self, toml: &str) -> Self {
        self.config.push_str(toml);
        self.config.push('\n');
        self
    }

    /// Leads an upstream of a connector to a server on loopback, which is allowed for it. Opens the connector's section, so
    /// that keys added next are this connector's.
    #[must_use]
    pub fn upstream(self, connector: &str, upstream: &str, url: &str) -> Self {
        self.config(&format!(
            "[connectors.{connector}]\nallow_private_network = true\nupstreams.{upstream} = \"{url}\""
        ))
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Has the gateway make its first key itself.
    #[must_use]
    pub fn with_first_key(mut self) -> Self {
        self.first_key = true;
        self
    }

    /// Compiles every module anew. Otherwise the cache of compiled modules is one for all tests, to save time.
    #[must_use]
    pub fn cold(mut self) -> Self {
        self.cold = true;
        self
    }

    /// Makes the folders, without starting anything.
    ///
    /// # Panics
    /// When they cannot be made.
    pub fn prepare(self) -> Home {
        let folder = TempDir::new().unwrap();
        let home = Home::new(folder, self.environment, (!self.first_key).then(|| KEY.to_owned()));
        fs::create_dir(home.modules()).unwrap();
        fs::create_dir(home.data()).unwrap();
        if !self.cold {
            let shared = shared_cache();
            fs::create_dir_all(&shared).unwrap();
            std::os::unix::fs::symlink(shared, home.data().join("compiled")).unwrap();
        }
        for (name, module) in &self.modules {
            fs::write(home.module(name), module).unwrap();
        }
        let own = format!(
            "listen = \"127.0.0.1:0\"\ndata_dir = {:?}\nmodules_dir = {:?}\nlog_format = \"json\"\n",
            home.data(),
            home.modules()
        );
        fs::write(home.config(), own + &self.config).unwrap();
        home
    }

    /// Starts the gateway, and waits until it takes requests.
    pub fn start(self) -> Gateway {
        self.prepare().start()
    }
}

/// Beside the binaries, so that it goes when they do.
fn shared_cache() -> PathBuf {
    process::binary().with_file_name("product-tests-compiled")
}
