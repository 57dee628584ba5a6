//! A certificate with its key, read from files and checked.

use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{Error, InconsistentKeys, RootCertStore, ServerConfig, SignatureAlgorithm};
use secrecy::SecretSlice;
use x509_cert::Certificate;
use x509_cert::der::Decode;

use super::error::TlsError;
use config::{Tls, private_key_in};
use database::digest::{sha256, sha256_of_secret};

/// The most bytes of a file. A chain has a few kilobytes, a list of authorities some hundred.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The permissions of users who neither own a file nor are in its group.
const OTHERS: u32 = 0o007;

/// The versions of HTTP, as the handshake names them, in the order of preference.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// A certificate that fits its key.
pub struct Pair {
    config: Arc<ServerConfig>,
    expires_at: SystemTime,
    digest: [u8; 32],
    signs_slowly: bool,
}

impl Pair {
    /// Reads and checks the files of a listener. A certificate that has expired is accepted.
    ///
    /// # Errors
    /// See [`TlsError`].
    pub fn read(files: &Tls) -> Result<Self, TlsError> {
        Content::read(files)?.into_pair(files)
    }

    /// The settings of a connection.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// The time at which the certificate expires.
    pub fn expires_at(&self) -> SystemTime {
        self.expires_at
    }

    /// Returns `true` if clients refuse the certificate at this time.
    pub fn has_expired(&self, now: SystemTime) -> bool {
        self.expires_at <= now
    }

    /// The work of a handshake, in bytes as `compute` measures it. A signature with an RSA key takes
    /// a millisecond and more. Other signatures take less than a tenth of it.
    pub fn handshake_bytes(&self) -> usize {
        if self.signs_slowly { compute::LARGE_BYTES } else { 0 }
    }

    pub(super) fn digest(&self) -> [u8; 32] {
        self.digest
    }
}

/// The content of the files of a listener.
pub(super) struct Content {
    certificate: Vec<u8>,
    key: SecretSlice<u8>,
    client_ca: Option<Vec<u8>>,
}

impl Content {
    /// Reads the files.
    ///
    /// # Errors
    /// If a file cannot be read, or if all users can read the key.
    pub(super) fn read(files: &Tls) -> Result<Self, TlsError> {
        let read =
            |key: &str, path: &Path| read_file(path).map_err(|error| TlsError::unreadable(files, key, path, &error));
        let (certificate, _) = read("certificate", &files.certificate)?;
        let (key, mode) = read("key", &files.key)?;
        let key = key.into();
        if mode & OTHERS != 0 {
            return Err(TlsError::exposed(files, mode));
        }
        let client_ca = files.client_ca.as_deref().map(|path| read("client_ca", path)).transpose()?;
        Ok(Self { certificate, key, client_ca: client_ca.map(|(content, _)| content) })
    }

    /// The digest of all files.
    pub(super) fn digest(&self) -> [u8; 32] {
        let client_ca = self.client_ca.as_deref().unwrap_or_default();
        sha256(&[sha256(&self.certificate), sha256_of_secret(&self.key), sha256(client_ca)].concat())
    }

    /// Checks the content.
    ///
    /// # Errors
    /// See [`TlsError`].
    pub(super) fn into_pair(self, files: &Tls) -> Result<Pair, TlsError> {
        let digest = self.digest();
        let provider = Arc::new(ring::default_provider());
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&self.certificate)
            .collect::<Result<_, _>>()
            .map_err(|error| TlsError::malformed(files, error))?;
        let first = chain.first().ok_or_else(|| TlsError::no_certificate(files))?;
        let expires_at = expiry(first).map_err(|error| TlsError::malformed(files, error))?;
        let key = private_key_in(&self.key).ok_or_else(|| TlsError::no_key(files))?;
        let key = provider.key_provider.load_private_key(key).map_err(|error| TlsError::wrong_key(files, error))?;
        let signs_slowly = key.algorithm() == SignatureAlgorithm::RSA;
        let certified = CertifiedKey::new(chain, key);
        match certified.keys_match() {
            Ok(()) => {}
            Err(Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => return Err(TlsError::mismatched(files)),
            Err(error) => return Err(TlsError::malformed(files, error)),
        }
        let verifier = match (&self.client_ca, &files.client_ca) {
            (Some(content), Some(path)) => {
                let made = client_verifier(content, &provider);
                Some(made.map_err(|reason| TlsError::client_ca(files, path, reason))?)
            }
            _ => None,
        };
        let builder = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::malformed(files, error))?;
        let builder = match verifier {
            Some(verifier) => builder.with_client_cert_verifier(verifier),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
        Ok(Pair { config: Arc::new(config), expires_at, digest, signs_slowly })
    }
}

/// Reads a file that the operator has named, and returns its permission bits too. It may be a link:
/// programs that renew certificates change where it leads.
fn read_file(path: &Path) -> io::Result<(Vec<u8>, u32)> {
    let file = files::open_regular(path)?;
    let mode = file.metadata()?.permissions().mode() & 0o777;
    let mut content = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {MAX_FILE_BYTES} bytes")));
    }
    Ok((json_text::without_mark(&content).to_vec(), mode))
}

/// The time at which a certificate expires.
fn expiry(certificate: &CertificateDer<'_>) -> Result<SystemTime, x509_cert::der::Error> {
    let certificate = Certificate::from_der(certificate)?;
    Ok(certificate.tbs_certificate.validity.not_after.to_system_time())
}

/// Demands a certificate of one of these authorities.
fn client_verifier(authorities: &[u8], provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authorities) {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() {
        return Err("it has no certificate in PEM".to_owned());
    }
    let built = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build();
    built.map_err(|error| error.to_string())
}
