//! Mistakes in the files of a certificate.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use thiserror::Error;

use config::Tls;

/// Why a listener cannot present a certificate. The message says what is wrong, and after a
/// semicolon what to do.
#[derive(Debug, Error)]
#[error("`{setting}` names {}, {problem}; {action}", path.display())]
pub struct TlsError {
    /// The key of the configuration: `tls.certificate`.
    setting: String,
    path: PathBuf,
    problem: String,
    action: &'static str,
}

impl TlsError {
    fn new(files: &Tls, key: &str, path: &Path, problem: String, action: &'static str) -> Self {
        Self { setting: format!("{}.{key}", files.section), path: path.to_owned(), problem, action }
    }

    fn of_certificate(files: &Tls, problem: String, action: &'static str) -> Self {
        Self::new(files, "certificate", &files.certificate, problem, action)
    }

    fn of_key(files: &Tls, problem: String, action: &'static str) -> Self {
        Self::new(files, "key", &files.key, problem, action)
    }

    pub(super) fn unreadable(files: &Tls, key: &str, path: &Path, error: &io::Error) -> Self {
        let action = "name a file that the user of the gateway can read";
        Self::new(files, key, path, format!("which cannot be read: {error}"), action)
    }

    pub(super) fn exposed(files: &Tls, mode: u32) -> Self {
        let action =
            "set its mode to 600, or to 640 if a group must read it, and make a new key if others may have read it";
        Self::of_key(files, format!("which all users of this machine can read (mode {mode:03o})"), action)
    }

    pub(super) fn no_certificate(files: &Tls) -> Self {
        let action = "name the certificate and the certificates of its authorities, as PEM, with the certificate first";
        Self::of_certificate(files, "which has no certificate in PEM".to_owned(), action)
    }

    pub(super) fn malformed(files: &Tls, reason: impl ToString) -> Self {
        let action = "name the file that your certificate authority has issued, as PEM";
        Self::of_certificate(files, format!("whose certificate cannot be used: {}", reason.to_string()), action)
    }

    pub(super) fn no_key(files: &Tls) -> Self {
        let action = "name the private key of the certificate, as PEM and without a passphrase";
        Self::of_key(files, "which has no private key in PEM".to_owned(), action)
    }

    pub(super) fn wrong_key(files: &Tls, reason: impl ToString) -> Self {
        let action = "name an RSA, ECDSA or Ed25519 key as PEM and without a passphrase";
        Self::of_key(files, format!("whose key cannot be used: {}", reason.to_string()), action)
    }

    pub(super) fn mismatched(files: &Tls) -> Self {
        let action = "name the two files that were made together";
        let problem = format!("which is not the key of the certificate in {}", files.certificate.display());
        Self::of_key(files, problem, action)
    }

    pub(super) fn client_ca(files: &Tls, path: &Path, reason: impl ToString) -> Self {
        let action = "name the certificates of the authorities of your operators, as PEM";
        Self::new(files, "client_ca", path, format!("which cannot be used: {}", reason.to_string()), action)
    }

    pub(super) fn expired(files: &Tls, at: SystemTime) -> Self {
        let expired = humantime::format_rfc3339_seconds(at);
        Self::of_certificate(files, format!("whose certificate has expired at {expired}"), "renew it")
    }
}
