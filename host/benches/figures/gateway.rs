//! The gateway itself: the real binary, with folders of its own.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub(crate) use store::digest::sha256_hex as digest;
use tempfile::TempDir;

use crate::Outcome;
use crate::client::Connection;
use crate::load::Target;
use crate::process::Process;

/// What the gateway prints once it takes requests, before its address.
const GREETING: &str = "Connector Gateway is at http://";

/// The key that it is started with.
pub(crate) const KEY: &str = "a-key-for-measuring-only-0123456789";

/// An upstream for those who do not call it: the port that discards what it gets.
pub(crate) const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9);

/// The folders of a gateway.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    /// Makes the folders: every connector of the product is live, and the one that is measured, which calls `upstream`.
    pub(crate) fn new(upstream: SocketAddr) -> Outcome<Self> {
        let home = Self { folder: TempDir::new()? };
        fs::create_dir(home.modules())?;
        fs::create_dir(home.data())?;
        let shipped = root().join("modules");
        let folder =
            fs::read_dir(&shipped).map_err(|error| format!("{}: {error}; `make build` fills it", shipped.display()))?;
        for entry in folder {
            let entry = entry?;
            fs::copy(entry.path(), home.modules().join(entry.file_name()))?;
        }
        fs::write(home.modules().join("bench.wasm"), guest()?)?;
        // More at once than by default, for the calls that wait; they wait for a minute at most.
        let configuration = format!(
            "listen = \"127.0.0.1:0\"\ndata_dir = {:?}\nmodules_dir = {:?}\nlog_format = \"json\"\n\
             [connectors.bench]\nallow_private_network = true\nupstreams.api = \"http://{upstream}\"\n\
             limits = {{ concurrency = 20000, timeout_s = 60 }}\n",
            home.data(),
            home.modules()
        );
        fs::write(home.folder.path().join("gateway.toml"), configuration)?;
        Ok(home)
    }

    fn modules(&self) -> PathBuf {
        self.folder.path().join("modules")
    }

    /// The data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// How many connectors it has.
    pub(crate) fn connectors(&self) -> Outcome<usize> {
        let names = fs::read_dir(self.modules())?.map(|entry| Ok(entry?.path())).collect::<Outcome<Vec<_>>>()?;
        Ok(names.iter().filter(|path| path.extension().is_some_and(|extension| extension == "wasm")).count())
    }

    /// Starts the gateway, and waits until it is ready.
    pub(crate) async fn start(&self) -> Outcome<Gateway> {
        let log = self.folder.path().join("log");
        let mut command = Command::new(env!("CARGO_BIN_EXE_connector-gateway"));
        command.args(["serve", "--config"]).arg(self.folder.path().join("gateway.toml"));
        // Whatever the machine has set for a gateway of its own is not meant for this one.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GATEWAY_")) {
            command.env_remove(name);
        }
        command.env("GATEWAY_BOOTSTRAP_KEY", KEY).stderr(fs::File::create(&log)?);
        let started = Instant::now();
        let (process, address) = Process::start_until(&mut command, GREETING)
            .map_err(|error| format!("{error}\n{}", fs::read_to_string(&log).unwrap_or_default()))?;
        let address = address.trim_end_matches('/').parse()?;
        let ready = Connection::open(address).await?.get("/readyz").await?;
        let ready_after = started.elapsed();
        let ready: serde_json::Value = serde_json::from_slice(&ready)?;
        if ready["connectors"] != self.connectors()? {
            let log = fs::read_to_string(&log)?;
            return Err(format!("not every connector is live: {ready}\n{log}").into());
        }
        Ok(Gateway { process, address, ready_after })
    }
}

/// A gateway that serves. It ends when it is dropped.
pub(crate) struct Gateway {
    /// Its process.
    pub(crate) process: Process,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// From its start to its first answer that it is ready.
    pub(crate) ready_after: Duration,
}

impl Gateway {
    /// Calls of the thin operation.
    pub(crate) fn thin(&self, item: &str) -> Target {
        let body = format!(r#"{{"item_id":"{item}","view":"full"}}"#);
        Target::new("gateway", self.address, "/connectors/bench/get_item", body)
    }
}

/// The connector that is measured.
pub(crate) fn guest() -> Outcome<Vec<u8>> {
    let path = root().join("target/guests/bench.wasm");
    fs::read(&path).map_err(|error| format!("{}: {error}; `make guests` builds it", path.display()).into())
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}
