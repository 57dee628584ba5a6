//! The modules and grants that this gateway served last, in a file in `data_dir`.
//!
//! A gateway that starts while the database is away serves what the file says: the shipped
//! connectors, and the modules of the service, as far as this disk has them. Once the database
//! answers, the gateway follows it and forgets the file's content. With SQLite there is no such
//! file, because the database itself is on the disk.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::{Live, Registry};
use store::LiveModule;

/// The name of the file.
const FILE: &str = "last_served.json";

/// Largest file that is read. Ten thousand connectors need about two megabytes.
const MAX_BYTES: u64 = 16 << 20;

/// Time between two looks at the live connectors.
const POLL: Duration = Duration::from_secs(1);

/// The content of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LastServed {
    /// The foreign modules by connector.
    modules: BTreeMap<String, LastModule>,
    /// The operator's grants by connector.
    grants: BTreeMap<String, Vec<String>>,
}

/// A foreign module that was live.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LastModule {
    digest: String,
    generation: i64,
    signature: Option<String>,
    replaces_shipped: bool,
}

impl LastServed {
    /// Reads the file. `None` if it is missing or damaged: this gateway then needs its database to
    /// start.
    pub(super) fn read(data_dir: &Path) -> Option<Self> {
        let path = path(data_dir);
        let text = match files::read_regular(&path, MAX_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the list of modules that were served last cannot be read");
                return None;
            }
        };
        let parsed = serde_json::from_slice(&text);
        parsed
            .inspect_err(|error| {
                tracing::warn!(path = %path.display(), %error, "the list of modules that were served last is damaged");
            })
            .ok()
    }

    fn of(registry: &Registry, live: &Live) -> Self {
        let foreign = live.values().filter(|connector| !connector.is_shipped());
        let module = |connector: &Arc<super::Connector>| {
            let name = connector.name();
            let module = LastModule {
                digest: connector.digest().to_owned(),
                generation: registry.service.generation(name),
                signature: connector.signed().map(|signed| signed.signature.clone()),
                replaces_shipped: registry.folders.shipped(name).is_some(),
            };
            (name.to_string(), module)
        };
        let granted =
            live.values().map(|connector| (connector.name().to_string(), connector.operator_grants().to_vec()));
        Self { modules: foreign.map(module).collect(), grants: granted.collect() }
    }

    fn write(&self, data_dir: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        files::write_atomically(&path(data_dir), |file| file.write_all(&text))
    }

    /// The modules as the store lists them.
    pub(super) fn modules(&self) -> Vec<LiveModule> {
        let module = |(connector, module): (&String, &LastModule)| LiveModule {
            connector: connector.clone(),
            generation: module.generation,
            digest: Some(module.digest.clone()),
            version: None,
            signature: module.signature.clone(),
            replaces_shipped: module.replaces_shipped,
            changed_at: SystemTime::UNIX_EPOCH,
            changed_by: String::new(),
        };
        self.modules.iter().map(module).collect()
    }

    /// The digest of the foreign module of a connector.
    pub(super) fn digest(&self, connector: &str) -> Option<&str> {
        self.modules.get(connector).map(|module| module.digest.as_str())
    }

    /// The operator's grants of a connector. `None` if the connector was not live.
    pub(super) fn grants(&self, connector: &str) -> Option<&[String]> {
        self.grants.get(connector).map(Vec::as_slice)
    }
}

/// Returns whether a gateway has served from its database with this data directory. Such a gateway
/// can start while the database is away.
pub fn has_served(data_dir: &Path) -> bool {
    LastServed::read(data_dir).is_some()
}

/// Keeps the file equal to the live connectors, until the future is dropped.
pub async fn keep_last_served(registry: Arc<Registry>) {
    if !registry.service.is_shared() {
        return;
    }
    let mut written: Option<Arc<Live>> = None;
    let mut is_failing = false;
    loop {
        tokio::time::sleep(POLL).await;
        // Before the first read, the gateway may not serve all modules that the file names.
        if !registry.has_started.load(Ordering::Relaxed) || !registry.service.has_been_read() {
            continue;
        }
        let live = Arc::clone(&registry.live());
        if written.as_ref().is_some_and(|written| Arc::ptr_eq(written, &live)) {
            continue;
        }
        let last = LastServed::of(&registry, &live);
        let data_dir = registry.config.data_dir.clone();
        let result =
            tokio::task::spawn_blocking(move || last.write(&data_dir)).await.unwrap_or_else(|error| Err(error.into()));
        match result {
            Ok(()) => {
                written = Some(live);
                is_failing = false;
            }
            Err(error) if !is_failing => {
                is_failing = true;
                tracing::warn!(%error, "the list of live modules cannot be written; a start without the database serves an older one");
            }
            Err(_) => {}
        }
    }
}

fn path(data_dir: &Path) -> PathBuf {
    data_dir.join(FILE)
}
