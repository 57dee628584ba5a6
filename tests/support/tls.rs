//! Certificates of a test's own authority.

use std::fs;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;

/// A certificate authority.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    root: String,
}

impl Authority {
    /// A new authority, which no machine trusts yet.
    ///
    /// # Panics
    /// When the system gives no random bytes.
    pub fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut parameters = CertificateParams::default();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = parameters.self_signed(&key).expect("a certificate").pem();
        Self { issuer: Issuer::new(parameters, key), root }
    }

    /// Writes the file of root certificates of a machine that trusts this authority only. A process
    /// finds it by the variable `SSL_CERT_FILE`.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn write_roots(&self, path: &Path) {
        fs::write(path, &self.root).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// The settings of a server at 127.0.0.1 that speaks these protocols.
    ///
    /// # Panics
    /// When the system gives no random bytes.
    pub fn server(&self, protocols: &[&str]) -> ServerConfig {
        let key = KeyPair::generate().expect("a key");
        let parameters = CertificateParams::new(["127.0.0.1".to_owned()]).expect("an address");
        let certificate = parameters.signed_by(&key, &self.issuer).expect("a certificate");
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let mut config = ServerConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .expect("the provider knows the versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.into()], key)
            .expect("the key fits the certificate");
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        config
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}
