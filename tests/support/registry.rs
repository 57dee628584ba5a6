//! A registry of modules on loopback: the one of Debian's package `docker-registry`, as a separate
//! process.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use crate::process::Process;
use crate::{Client, programs, wait_for};

/// The user of a registry with a password.
pub const USER: &str = "alice";

/// The password of [`USER`].
pub const PASSWORD: &str = "registry-password";

/// The password as the registry stores it.
const HASH: &str = "$2b$05$abcdefghijklmnopqrstuux7DVfxfgfXTmp/9Tsk6HzX2QQGjxePG";

/// Precedes the address in a line of the registry's log.
const LISTENING: &str = "msg=\"listening on ";

/// A running registry without modules. It ends when this is dropped.
pub struct Registry {
    address: String,
    folder: TempDir,
    _process: Process,
}

impl Registry {
    /// Starts a registry without authentication.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start() -> Self {
        Self::with("")
    }

    /// Starts a registry that only [`USER`] may use.
    ///
    /// # Panics
    /// When it does not start.
    pub fn with_password() -> Self {
        Self::with("auth: {htpasswd: {realm: registry, path: users}}\n")
    }

    fn with(settings: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let config = folder.path().join("config.yml");
        let text = format!(
            "version: 0.1\nlog: {{level: info, accesslog: {{disabled: true}}}}\nhttp: {{addr: \"127.0.0.1:0\"}}\n\
             storage: {{filesystem: {{rootdirectory: data}}}}\n{settings}"
        );
        fs::write(&config, text).unwrap();
        fs::write(folder.path().join("users"), format!("{USER}:{HASH}\n")).unwrap();
        let mut command = programs::debian("core", "docker-registry");
        let process = Process::start(command.arg("serve").arg(&config).current_dir(folder.path()));
        let address = wait_for("the registry to listen", || {
            process.lines().iter().find_map(|line| Some(line.split_once(LISTENING)?.1.split('"').next()?.to_owned()))
        });
        Self { address, folder, _process: process }
    }

    /// The port.
    pub fn port(&self) -> &str {
        self.address.rsplit(':').next().unwrap_or_default()
    }

    /// The name of a module in this registry.
    pub fn name(&self, repository_and_version: &str) -> String {
        format!("oci://{}/{repository_and_version}", self.address)
    }

    /// A document of the registry, as it sends it.
    pub fn get(&self, path: &str) -> Value {
        let client = Client::new(&format!("http://{}", self.address));
        let accepted = "application/vnd.oci.image.manifest.v1+json";
        client.request("GET", &format!("/v2/{path}")).header("accept", accepted).send().json()
    }

    /// The file in which the registry keeps bytes with this digest.
    pub fn blob(&self, digest: &str) -> PathBuf {
        let hexadecimal = digest.trim_start_matches("sha256:");
        let blobs = self.folder.path().join("data/docker/registry/v2/blobs/sha256");
        blobs.join(&hexadecimal[..2]).join(hexadecimal).join("data")
    }
}
