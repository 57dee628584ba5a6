//! Reads `database_url`: the address of the server and the options of the connection.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use tokio_postgres::config::{Host, SslMode};
use url::form_urlencoded;

use super::error::PostgresError;

/// Time without a confirmation of sent data after which the connection counts as broken. It is
/// shorter than [`GRACE`](crate::health::GRACE), so that new tokens are stored again over
/// another connection within that time.
const MAX_UNCONFIRMED: Duration = Duration::from_secs(5);

/// Idle time after which the operating system checks that the server is reachable.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);

/// Each `sslmode` that does not check the name of the server.
const WEAKER_MODES: [&str; 4] = ["disable", "prefer", "require", "verify-ca"];

/// The parts of a `database_url`.
pub(super) struct Address {
    /// Hosts, user, password and options, for the driver.
    pub(super) config: tokio_postgres::Config,
    /// The checks of the server's certificate, which the driver does not know about.
    pub(super) verify: Verify,
    /// The file with the certificates of trusted authorities. `None` for the authorities that
    /// the operating system trusts.
    pub(super) authorities: Option<PathBuf>,
    /// Hosts, ports and database, for messages. Never contains the user or the password.
    pub(super) shown: String,
}

/// The checks of the server's certificate, as in PostgreSQL's own programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verify {
    /// No check, for `prefer` and `require`. An attacker in the network can read the traffic.
    Nothing,
    /// A trusted authority must have signed the certificate, for any name. For `verify-ca`.
    Authority,
    /// The certificate must also be for the name of the server. For `verify-full`.
    Name,
}

impl Address {
    /// Reads a URL.
    ///
    /// # Errors
    /// Fails if the URL is malformed, or has an `sslmode` that is unknown or too weak. The message
    /// quotes no part of the URL: if the password is not escaped, any part may belong to it.
    pub(super) fn parse(url: &SecretString) -> Result<Self, PostgresError> {
        let url = url.expose_secret();
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let mut rest = form_urlencoded::Serializer::new(String::new());
        let (mut mode, mut authorities, mut trusts_system) = (None, None, false);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "sslmode" => mode = Some(value.into_owned()),
                "sslrootcert" => {
                    trusts_system = value == "system";
                    authorities = (!trusts_system).then(|| PathBuf::from(&*value));
                }
                _ => {
                    rest.append_pair(&name, &value);
                }
            }
        }
        // The authorities of the operating system sign for everyone, so that only the name tells the
        // server from another one.
        if trusts_system {
            if mode.as_deref().is_some_and(|mode| WEAKER_MODES.contains(&mode)) {
                return Err(PostgresError::Address {
                    reason: "with sslrootcert=system, its sslmode must be verify-full",
                });
            }
            mode = mode.or_else(|| Some("verify-full".to_owned()));
        }
        // The serializer writes a space as `+`, which the driver would read as a plus sign.
        let rest = rest.finish().replace('+', "%20");
        let url = if rest.is_empty() { base.to_owned() } else { format!("{base}?{rest}") };
        let mut config: tokio_postgres::Config = url.parse().map_err(|_| PostgresError::Address {
            reason: "write it like postgres://user:password@host:5432/database, with special characters of the password percent-encoded, such as %40 for @",
        })?;
        let (ssl_mode, verify) = match mode.as_deref() {
            None | Some("prefer") => (SslMode::Prefer, Verify::Nothing),
            Some("disable") => (SslMode::Disable, Verify::Nothing),
            // PostgreSQL's own programs do the same.
            Some("require") if authorities.is_some() => (SslMode::Require, Verify::Authority),
            Some("require") => (SslMode::Require, Verify::Nothing),
            Some("verify-ca") => (SslMode::Require, Verify::Authority),
            Some("verify-full") => (SslMode::Require, Verify::Name),
            Some(_) => {
                let reason = "its sslmode must be disable, prefer, require, verify-ca or verify-full";
                return Err(PostgresError::Address { reason });
            }
        };
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(PostgresError::Address { reason: "it names no host" });
        }
        config.ssl_mode(ssl_mode).keepalives_idle(KEEPALIVE_IDLE);
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(MAX_UNCONFIRMED);
        }
        if config.get_application_name().is_none() {
            config.application_name("connector-gateway");
        }
        let shown = shown(&config);
        Ok(Self { config, verify, authorities, shown })
    }
}

/// Writes all hosts as `host:port`, followed by the database.
fn shown(config: &tokio_postgres::Config) -> String {
    let names: Vec<_> = match config.get_hosts() {
        [] => config.get_hostaddrs().iter().map(ToString::to_string).collect(),
        hosts => hosts
            .iter()
            .map(|host| match host {
                Host::Tcp(name) => name.clone(),
                Host::Unix(folder) => folder.display().to_string(),
            })
            .collect(),
    };
    let ports = config.get_ports();
    let port = |index: usize| ports.get(index).or_else(|| ports.first()).copied().unwrap_or(5432);
    let servers: Vec<_> = names.iter().enumerate().map(|(index, name)| format!("{name}:{}", port(index))).collect();
    let database = config.get_dbname().or_else(|| config.get_user()).unwrap_or_default();
    format!("{}/{database}", servers.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Address, String> {
        Address::parse(&url.into()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_shown_address_contains_neither_user_nor_password() {
        for (url, shown) in [
            ("postgres://ann:s3cret@db.example.com/gateway", "db.example.com:5432/gateway"),
            ("postgresql://ann:s3cret@db1:1,db2:2/gateway?connect_timeout=3", "db1:1,db2:2/gateway"),
            ("postgres://ann@%2Frun%2Fpostgresql/gateway", "/run/postgresql:5432/gateway"),
            ("postgres:///gateway?host=/run/postgresql&user=ann", "/run/postgresql:5432/gateway"),
        ] {
            assert_eq!(parse(url).unwrap().shown, shown, "{url}");
        }
    }

    #[test]
    fn a_malformed_url_is_refused_without_quoting_it() {
        for url in [
            "postgres://ann:s3cret@db:port/gateway",
            "postgres://ann:s3cret?zebra@db/gateway",
            "postgres://ann:s3cret@db/gateway?sslmode=s3cret",
            "postgres:///s3cret",
        ] {
            let message = parse(url).err().unwrap();
            assert!(message.starts_with("`database_url` is not understood: "), "{message}");
            assert!(!message.contains("s3") && !message.contains("zebra"), "{message}");
        }
    }

    #[test]
    fn sslmode_means_the_same_as_in_postgresqls_own_programs() {
        for (query, mode, verify) in [
            ("", SslMode::Prefer, Verify::Nothing),
            ("?sslmode=disable", SslMode::Disable, Verify::Nothing),
            ("?sslmode=require", SslMode::Require, Verify::Nothing),
            ("?sslmode=require&sslrootcert=/ca.pem", SslMode::Require, Verify::Authority),
            ("?sslmode=verify-ca&sslrootcert=/ca.pem", SslMode::Require, Verify::Authority),
            ("?sslrootcert=system&sslmode=verify-full", SslMode::Require, Verify::Name),
            ("?sslrootcert=system", SslMode::Require, Verify::Name),
        ] {
            let address = parse(&format!("postgres://ann@db/gateway{query}")).unwrap();
            assert_eq!((address.config.get_ssl_mode(), address.verify), (mode, verify), "{query}");
            assert_eq!(address.authorities.is_some(), query.contains("ca.pem"));
        }
        for mode in ["disable", "prefer", "require", "verify-ca"] {
            let message = parse(&format!("postgres://ann@db/gateway?sslmode={mode}&sslrootcert=system")).err().unwrap();
            assert!(message.contains("verify-full"), "{message}");
        }
    }

    #[test]
    fn other_options_are_passed_to_the_driver() {
        let address = parse("postgres://ann@db/gateway?options=-c%20a%3D1&sslmode=require&application_name=x").unwrap();
        assert_eq!(address.config.get_options(), Some("-c a=1"));
        assert_eq!(address.config.get_application_name(), Some("x"));
    }
}
