//! The folders of a gateway, and its command line.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustls::ClientConfig;
use tempfile::TempDir;

use crate::process::{self, Finished};
use crate::{Gateway, MAX_WAIT};

/// The soft limit of descriptors of a gateway whose descriptors are limited. The gateway has to
/// raise it to the hard limit.
const SOFT_DESCRIPTORS: u32 = 64;

/// Writes a module into a file next to the configuration, outside of the folders of modules, and
/// returns its path.
///
/// # Panics
/// When it cannot be written.
pub fn file(home: &Home, name: &str, module: &[u8]) -> PathBuf {
    let path = home.config().with_file_name(name);
    fs::write(&path, module).unwrap();
    path
}

/// Writes a file that only its owner can read.
///
/// # Panics
/// When it cannot be written.
pub(crate) fn write_private(path: &Path, content: impl AsRef<[u8]>) {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(content.as_ref()))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// A path as an argument of a command.
///
/// # Panics
/// When the path is not UTF-8.
pub fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The folders of a gateway, which exist whether the gateway runs or not. They are removed when
/// this is dropped.
pub struct Home {
    folder: TempDir,
    pub(crate) environment: Vec<(String, String)>,
    /// The key with every scope, if the gateway is not to make one itself.
    pub(crate) key: Option<String>,
    /// The number of descriptors that its processes may open, if it is limited.
    pub(crate) descriptors: Option<u32>,
    /// The binary of another release, if it is not the one of this tree.
    pub(crate) release: Option<PathBuf>,
    /// The settings of clients, if the gateway speaks TLS.
    pub(crate) tls: Option<ClientConfig>,
}

impl Home {
    pub(crate) fn new(folder: TempDir, environment: Vec<(String, String)>, key: Option<String>) -> Self {
        Self { folder, environment, key, descriptors: None, release: None, tls: None }
    }

    /// The configuration file.
    pub fn config(&self) -> PathBuf {
        self.folder.path().join("gateway.toml")
    }

    /// The modules folder.
    pub fn modules(&self) -> PathBuf {
        self.folder.path().join("modules")
    }

    /// The file of a connector.
    pub fn module(&self, name: &str) -> PathBuf {
        self.modules().join(format!("{name}.wasm"))
    }

    /// The folder of the connectors that came with the gateway.
    pub fn shipped(&self) -> PathBuf {
        self.folder.path().join("shipped")
    }

    /// The file of a connector that came with the gateway.
    pub fn shipped_module(&self, name: &str) -> PathBuf {
        self.shipped().join(format!("{name}.wasm"))
    }

    /// The data directory.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The SQLite database.
    pub(crate) fn database(&self) -> PathBuf {
        self.data().join("gateway.db")
    }

    /// The certificate and the key of a gateway that speaks TLS.
    pub fn pair(&self) -> (PathBuf, PathBuf) {
        (self.folder.path().join("tls.crt"), self.folder.path().join("tls.key"))
    }

    /// Runs a statement in the SQLite database of the gateway, and returns the number of rows that it
    /// changed.
    ///
    /// # Panics
    /// When the statement fails.
    pub fn sqlite(&self, statement: &str) -> usize {
        let database = rusqlite::Connection::open(self.database()).unwrap();
        // A running gateway may be writing.
        database.busy_timeout(MAX_WAIT).unwrap();
        database.execute(statement, []).expect("the statement succeeds")
    }

    /// Puts a module into the modules folder as an operator should: by a rename, so that the
    /// gateway never sees a part of it.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn put(&self, name: &str, module: &[u8]) {
        self.place(&self.module(name), module);
    }

    /// Puts a module into the folder of the shipped connectors, as an upgrade of the gateway does.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn ship(&self, name: &str, module: &[u8]) {
        self.place(&self.shipped_module(name), module);
    }

    fn place(&self, path: &Path, module: &[u8]) {
        let aside = self.folder.path().join("module.new");
        fs::write(&aside, module).unwrap();
        fs::rename(aside, path).unwrap();
    }

    /// A command of the gateway on these folders. More arguments can be added.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let binary = self.release.clone().unwrap_or_else(process::binary);
        let mut command = match self.descriptors {
            None => Command::new(binary),
            Some(limit) => {
                let mut shell = Command::new("sh");
                shell
                    .args(["-c", &format!("ulimit -Sn {SOFT_DESCRIPTORS} && ulimit -Hn {limit} && exec \"$0\" \"$@\"")])
                    .arg(binary);
                shell
            }
        };
        command.args(arguments).arg("--config").arg(self.config()).current_dir(self.folder.path());
        // The machine may have variables for another gateway.
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("GATEWAY_")) {
            command.env_remove(name);
        }
        // Commands of authors keep compiled modules there, and use the modules of earlier tests.
        command.env("XDG_CACHE_HOME", process::binary().with_file_name("product-tests-compiled-by-authors"));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(key) = &self.key {
            command.env("GATEWAY_BOOTSTRAP_KEY", key);
        }
        command
    }

    /// Runs a command of the gateway and waits for its end.
    pub fn run(&self, arguments: &[&str]) -> Finished {
        process::run(&mut self.command(arguments))
    }

    /// Runs a command that must succeed, and returns its standard output.
    ///
    /// # Panics
    /// When it fails.
    #[track_caller]
    pub fn run_ok(&self, arguments: &[&str]) -> String {
        let finished = self.run(arguments);
        assert_eq!(finished.code, Some(0), "{arguments:?}: {}", finished.stderr);
        finished.stdout
    }

    /// Starts the gateway and waits until it accepts requests.
    pub fn start(self) -> Gateway {
        Gateway::start(self)
    }
}
