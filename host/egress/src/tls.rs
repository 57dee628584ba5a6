//! TLS with the operating system's root certificates.
//!
//! Reading them takes some milliseconds, and fails on a machine without root certificates. They are
//! therefore read at the first handshake: the gateway starts fast, and upstreams without TLS work
//! on every machine.

use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;

use super::error::EgressError;

/// The settings of TLS for both clients. The connector adds the protocols for ALPN.
///
/// # Errors
/// `InvalidRequest` if the provider has no cipher for TLS 1.2 or 1.3.
pub(super) fn config(provider: Arc<CryptoProvider>) -> Result<ClientConfig, EgressError> {
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| EgressError::invalid(format!("TLS cannot be set up: {error}")))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(SystemRoots { provider, verifier: OnceLock::new() }))
        .with_no_client_auth();
    Ok(config)
}

/// The verifier of the platform, made on first use.
#[derive(Debug)]
struct SystemRoots {
    provider: Arc<CryptoProvider>,
    verifier: OnceLock<Verifier>,
}

impl SystemRoots {
    fn verifier(&self) -> Result<&Verifier, Error> {
        if let Some(verifier) = self.verifier.get() {
            return Ok(verifier);
        }
        // A failure is not stored, because an operator may install root certificates while the
        // gateway runs.
        let verifier = Verifier::new(Arc::clone(&self.provider)).map_err(|error| {
            let error = match error {
                Error::General(text) => text,
                other => other.to_string(),
            };
            Error::General(format!(
                "this machine has no usable root certificates ({error}): install its `ca-certificates`, or set SSL_CERT_FILE"
            ))
        })?;
        Ok(self.verifier.get_or_init(|| verifier))
    }
}

impl ServerCertVerifier for SystemRoots {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.verifier()?.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier()?.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier()?.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
