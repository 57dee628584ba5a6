//! Certificates of a test's own authority.

use std::fs;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ALL_VERSIONS, ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion};

use crate::home::write_private;

/// The day on which certificates of an [`Authority`] expire, unless a test says another one.
const EXPIRY: (i32, u8, u8) = (2040, 1, 1);

/// An RSA key for tests, as PKCS #8.
const RSA_KEY: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../host/auth/src/jwt/tests/rsa.pk8"));

/// A certificate for 127.0.0.1 with its key.
pub struct Issued {
    /// The certificate, as PEM.
    pub certificate: String,
    /// Its key, as PEM.
    pub key: String,
}

impl Issued {
    /// Writes two files. Only their owner can read the key.
    ///
    /// # Panics
    /// When they cannot be written.
    pub fn write(&self, certificate: &Path, key: &Path) {
        write_private(key, &self.key);
        fs::write(certificate, &self.certificate).unwrap_or_else(|error| panic!("{}: {error}", certificate.display()));
    }

    /// The certificate as a client sees it.
    ///
    /// # Panics
    /// Never: the text is a certificate.
    pub fn der(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(self.certificate.as_bytes()).expect("a certificate")
    }
}

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

    /// The certificate of the authority, as PEM.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// A new certificate for 127.0.0.1.
    ///
    /// # Panics
    /// When the system gives no random bytes.
    pub fn issue(&self) -> Issued {
        self.issue_until(EXPIRY)
    }

    /// A new certificate for 127.0.0.1 that expires at this day: year, month and day.
    ///
    /// # Panics
    /// When the system gives no random bytes.
    pub fn issue_until(&self, day: (i32, u8, u8)) -> Issued {
        self.issue_for(&KeyPair::generate().expect("a key"), day)
    }

    /// A new certificate for 127.0.0.1 with an RSA key, which takes long to sign with. The key is
    /// always the same, because making one takes even longer.
    ///
    /// # Panics
    /// Never: the key is one.
    pub fn issue_rsa(&self) -> Issued {
        self.issue_for(&KeyPair::try_from(RSA_KEY).expect("a key"), EXPIRY)
    }

    fn issue_for(&self, key: &KeyPair, (year, month, day): (i32, u8, u8)) -> Issued {
        let mut parameters = CertificateParams::new(["127.0.0.1".to_owned()]).expect("an address");
        parameters.not_after = date_time_ymd(year, month, day);
        let certificate = parameters.signed_by(key, &self.issuer).expect("a certificate");
        Issued { certificate: certificate.pem(), key: key.serialize_pem() }
    }

    /// The settings of a client that trusts this authority only, and speaks HTTP/2 if the server
    /// does.
    pub fn client(&self) -> ClientConfig {
        self.client_of(ALL_VERSIONS, None)
    }

    /// As [`Authority::client`], for these versions of TLS, with a certificate for a server that
    /// demands one.
    ///
    /// # Panics
    /// When the certificate does not fit its key.
    pub fn client_of(&self, versions: &[&'static SupportedProtocolVersion], own: Option<&Issued>) -> ClientConfig {
        let root = CertificateDer::from_pem_slice(self.root.as_bytes()).expect("a certificate");
        let mut roots = RootCertStore::empty();
        roots.add(root).expect("the certificate of an authority");
        let builder = ClientConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
            .with_protocol_versions(versions)
            .expect("the provider knows the versions")
            .with_root_certificates(roots);
        let mut config = match own {
            Some(own) => {
                let key = PrivateKeyDer::from_pem_slice(own.key.as_bytes()).expect("a key");
                builder.with_client_auth_cert(vec![own.der()], key).expect("the key fits the certificate")
            }
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = ["h2", "http/1.1"].map(|name| name.as_bytes().to_vec()).to_vec();
        config
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
