//! Dangers of a gateway that other machines reach. `serve` logs them, and the command `doctor`
//! fails because of them.

use std::fmt;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use config::Config;
use store::{ApiKey, Store, StoreError};

/// The most keys that a message names.
const MAX_NAMED: usize = 5;

/// The permissions of users who neither own a folder nor are in its group.
const OTHERS: u32 = 0o007;

/// One danger. Its text says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// Callers on other machines send their keys in clear text.
    NoTls {
        /// The address that callers connect to.
        listen: SocketAddr,
    },
    /// Keys that may call everything and never expire.
    UnlimitedKeys {
        /// Their ids.
        ids: Vec<String>,
    },
    /// All users of the machine can enter the data folder.
    OpenDataFolder {
        /// The folder.
        path: PathBuf,
        /// The permission bits.
        mode: u32,
    },
}

impl Exposure {
    /// The dangers of a gateway with this configuration and these keys. A gateway that listens on a
    /// loopback address has none.
    pub fn of(config: &Config, keys: &[ApiKey]) -> Vec<Self> {
        if config.listen.ip().is_loopback() {
            return Vec::new();
        }
        let mut found = Vec::new();
        // Without `[tls]` and with an https address, a proxy speaks TLS to callers.
        if config.tls.is_none() && config.public_url.scheme() != "https" {
            found.push(Self::NoTls { listen: config.listen });
        }
        let unlimited = keys.iter().filter(|key| is_unlimited(key));
        let ids: Vec<String> = unlimited.map(|key| key.id.to_string()).collect();
        if !ids.is_empty() {
            found.push(Self::UnlimitedKeys { ids });
        }
        found.extend(open_data_folder(config));
        found
    }
}

/// Logs each danger. Without the database, the keys are not known.
pub async fn warn(config: &Config, store: Option<&Store>) -> Result<(), StoreError> {
    let keys = match store {
        Some(store) if !config.listen.ip().is_loopback() => store.keys().all().await?,
        _ => Vec::new(),
    };
    for exposure in Exposure::of(config, &keys) {
        tracing::warn!("{exposure}");
    }
    Ok(())
}

/// The danger of a data folder that all users of the machine can enter.
pub fn open_data_folder(config: &Config) -> Option<Exposure> {
    let mode = fs::metadata(&config.data_dir).ok()?.permissions().mode() & 0o777;
    (mode & OTHERS != 0).then(|| Exposure::OpenDataFolder { path: config.data_dir.clone(), mode })
}

fn is_unlimited(key: &ApiKey) -> bool {
    key.revoked_at.is_none() && key.allow.is_none() && key.effects.is_none() && key.expires_at.is_none()
}

impl fmt::Display for Exposure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTls { listen } => write!(
                out,
                "callers on other machines reach `listen` {listen} without TLS, so their keys can be read on the way; \
                 set `[tls]`, or put a proxy with TLS in front of the gateway and set `public_url` to its https address, or listen on 127.0.0.1"
            ),
            Self::UnlimitedKeys { ids } => {
                let named = ids.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
                let more = if ids.len() > MAX_NAMED { " and more" } else { "" };
                write!(
                    out,
                    "callers on other machines reach the gateway, and {} of its keys may call everything and do not expire: \
                     {named}{more}; make keys with `--allow`, `--effect` or `--expires-at`, and revoke these with \
                     `connector-gateway keys revoke`",
                    ids.len()
                )
            }
            Self::OpenDataFolder { path, mode } => write!(
                out,
                "all users of this machine can enter `data_dir` {} (mode {mode:03o}); set its mode to 700",
                path.display()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use store::{KeyHash, KeyId};
    use tempfile::TempDir;

    use super::*;
    use config::Tls;

    fn key(id: &str) -> ApiKey {
        ApiKey {
            id: KeyId(id.to_owned()),
            name: String::new(),
            tenant: "acme".to_owned(),
            subject: None,
            scopes: "operate".to_owned(),
            hash: KeyHash::default(),
            prefix: String::new(),
            allow: None,
            effects: None,
            confirm: false,
            expires_at: None,
            created_by: String::new(),
            created_at: SystemTime::UNIX_EPOCH,
            revoked_at: None,
            last_used_at: None,
        }
    }

    fn config(listen: &str, public_url: &str) -> (TempDir, Config) {
        let folder = TempDir::new().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let config = Config {
            listen: listen.parse().unwrap(),
            public_url: public_url.parse().unwrap(),
            data_dir: folder.path().to_owned(),
            ..Config::default()
        };
        (folder, config)
    }

    #[test]
    fn a_public_address_is_dangerous_without_tls_of_the_gateway_or_of_a_proxy() {
        let (_folder, public) = config("0.0.0.0:8080", "http://gateway.example");
        assert_eq!(Exposure::of(&public, &[]), [Exposure::NoTls { listen: public.listen }]);
        for (listen, public_url) in
            [("0.0.0.0:8080", "https://gateway.example"), ("127.0.0.1:8080", "http://a.example")]
        {
            let (_folder, config) = config(listen, public_url);
            assert_eq!(Exposure::of(&config, &[]), [], "{listen}");
        }
        let tls = Tls { section: "tls", certificate: "chain.pem".into(), key: "key.pem".into(), client_ca: None };
        let with_tls = Config { tls: Some(tls), ..public };
        assert_eq!(Exposure::of(&with_tls, &[]), []);
    }

    #[test]
    fn keys_without_any_limit_are_dangerous_at_a_public_address() {
        let limited = [
            ApiKey { allow: Some("[]".to_owned()), ..key("a") },
            ApiKey { effects: Some("read".to_owned()), ..key("b") },
            ApiKey { expires_at: Some(SystemTime::UNIX_EPOCH), ..key("c") },
            ApiKey { revoked_at: Some(SystemTime::UNIX_EPOCH), ..key("d") },
        ];
        let (_folder, public) = config("192.0.2.1:8080", "https://gateway.example");
        assert_eq!(Exposure::of(&public, &limited), []);
        let keys = [&limited[..], &[key("e")]].concat();
        assert_eq!(Exposure::of(&public, &keys), [Exposure::UnlimitedKeys { ids: vec!["e".to_owned()] }]);
        let (_folder, local) = config("127.0.0.1:8080", "http://127.0.0.1:8080");
        assert_eq!(Exposure::of(&local, &keys), []);
    }

    #[test]
    fn a_data_folder_that_others_can_enter_is_dangerous() {
        let (folder, public) = config("192.0.2.1:8080", "https://gateway.example");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let found = Exposure::of(&public, &[]);
        assert_eq!(found, [Exposure::OpenDataFolder { path: folder.path().to_owned(), mode: 0o755 }]);
        assert!(found[0].to_string().contains("755"), "{}", found[0]);
    }
}
