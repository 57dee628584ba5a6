//! Encryption of connections to the server.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_platform_verifier::Verifier as SystemVerifier;

use super::address::{Address, Verify};
use super::error::PostgresError;

/// Builds the TLS configuration of `database_url`. It applies if `sslmode` requires encryption, or
/// allows it and the server offers it.
pub(super) fn config(address: &Address) -> Result<ClientConfig, PostgresError> {
    let provider = Arc::new(ring::default_provider());
    let failed = |reason: String| PostgresError::Encryption { reason };
    let chain: Option<Arc<dyn ServerCertVerifier>> = match (address.verify, &address.authorities) {
        (Verify::Nothing, _) => None,
        (_, None) => {
            let verifier = SystemVerifier::new(Arc::clone(&provider)).map_err(|error| failed(error.to_string()))?;
            Some(Arc::new(verifier))
        }
        (_, Some(file)) => {
            let unreadable = |reason: String| failed(format!("sslrootcert {}: {reason}", file.display()));
            let mut roots = RootCertStore::empty();
            let text = files::open_regular(file).map_err(|error| unreadable(error.to_string()))?;
            for certificate in CertificateDer::pem_reader_iter(text) {
                let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
                roots.add(certificate).map_err(|error| unreadable(error.to_string()))?;
            }
            let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
            Some(builder.build().map_err(|error| unreadable(error.to_string()))?)
        }
    };
    let verifier = Verifier { provider: Arc::clone(&provider), chain, verify: address.verify };
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(builder
        .map_err(|error| failed(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

/// Checks the server's certificate as far as `sslmode` requires it.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// Checks authority and name. `None` if the certificate is not checked.
    chain: Option<Arc<dyn ServerCertVerifier>>,
    verify: Verify,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The verifier checks the name last. An error about the name therefore means that the
            // authority is trusted.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.verify == Verify::Authority => Ok(ServerCertVerified::assertion()),
            result => result,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
