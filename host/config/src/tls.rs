//! The keys of `tls` and `admin_tls`: the files with which a listener speaks TLS.

use std::path::PathBuf;

use super::declare::Entry;
use super::list::List;
use super::section::Section;
use super::value;

/// The files with which a listener speaks TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The name of the section, for messages.
    pub section: &'static str,
    /// The certificate and the ones of its authorities, as PEM.
    pub certificate: PathBuf,
    /// The private key of the certificate, as PEM.
    pub key: PathBuf,
    /// The authorities of which clients need a certificate, as PEM. `None`: clients need none.
    pub client_ca: Option<PathBuf>,
}

/// The section `tls` or `admin_tls`, which is `None` if its keys are empty, as in the example.
pub(super) struct TlsFiles {
    /// `true` if clients may need a certificate.
    pub(super) has_client_ca: bool,
}

impl Entry<Option<Tls>> for TlsFiles {
    fn read(&self, section: &mut Section<'_>, key: &'static str, target: &mut Option<Tls>) {
        let name = key;
        let (mut certificate, mut key, mut client_ca) = (None, None, None);
        section.section(name, |section| {
            value::optional_path().read(section, "certificate", &mut certificate);
            value::optional_path().read(section, "key", &mut key);
            if self.has_client_ca {
                value::optional_path().read(section, "client_ca", &mut client_ca);
            }
            let is_used = certificate.is_some() || key.is_some() || client_ca.is_some();
            for (file, is_set) in [("certificate", certificate.is_some()), ("key", key.is_some())] {
                if is_used && !is_set {
                    section.problem(file, "is missing; TLS needs the files `certificate` and `key`".to_owned());
                }
            }
        });
        if let (Some(certificate), Some(key)) = (certificate, key) {
            *target = Some(Tls { section: name, certificate, key, client_ca });
        }
    }

    fn show(&self, list: &mut List, key: &'static str, tls: &Option<Tls>) {
        let path = |path: &PathBuf| path.display().to_string();
        list.section(key, |list| {
            list.add("certificate", tls.as_ref().map(|tls| path(&tls.certificate)));
            list.add("key", tls.as_ref().map(|tls| path(&tls.key)));
            if self.has_client_ca {
                list.add("client_ca", tls.as_ref().and_then(|tls| tls.client_ca.as_ref()).map(path));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::super::source::Source;
    use super::super::{Config, ConfigError, read};
    use super::*;

    fn load(text: &str) -> Result<Config, ConfigError> {
        read::read_config(Source::new(Path::new("gateway.toml"), text, &BTreeMap::new())?)
    }

    #[test]
    fn with_tls_the_default_address_is_https() {
        let config = load("[tls]\ncertificate = \"chain.pem\"\nkey = \"key.pem\"").unwrap();
        let expected = Tls { section: "tls", certificate: "chain.pem".into(), key: "key.pem".into(), client_ca: None };
        assert_eq!(config.tls, Some(expected));
        assert_eq!(config.public_url.as_str(), "https://127.0.0.1:8080/");
        let config =
            load("public_url = \"http://a.example\"\n[tls]\ncertificate = \"chain.pem\"\nkey = \"key.pem\"").unwrap();
        assert_eq!(config.public_url.as_str(), "http://a.example/");
    }

    #[test]
    fn half_a_pair_and_tls_without_its_address_are_refused() {
        let admin = "certificate = \"chain.pem\"\nkey = \"key.pem\"\nclient_ca = \"ca.pem\"";
        for (text, problem) in [
            ("[tls]\nkey = \"key.pem\"", "`tls.certificate` is missing"),
            ("[tls]\ncertificate = \"chain.pem\"", "`tls.key` is missing"),
            ("[admin_tls]\nclient_ca = \"ca.pem\"", "`admin_tls.key` is missing"),
            ("[tls]\nclient_ca = \"ca.pem\"", "`tls.client_ca` is not known"),
            (&format!("[admin_tls]\n{admin}"), "`admin_tls` needs `admin_listen`"),
            ("trusted_proxies = [\"10.0.0.0/33\"]", "`trusted_proxies` must be a list of addresses"),
        ] {
            let message = load(text).unwrap_err().to_string();
            assert!(message.contains(problem), "{text}: {message}");
        }
        let config = load(&format!("admin_listen = \"127.0.0.1:1\"\n[admin_tls]\n{admin}")).unwrap();
        assert_eq!(config.admin_tls.unwrap().client_ca, Some("ca.pem".into()));
    }

    #[test]
    fn a_trusted_proxy_is_an_address_or_a_network() {
        let config = load("trusted_proxies = [\"10.0.0.7\", \"::ffff:10.0.0.8\", \"fd00::/8\"]").unwrap();
        let shown: Vec<String> = config.trusted_proxies.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["10.0.0.7/32", "10.0.0.8/32", "fd00::/8"]);
    }
}
