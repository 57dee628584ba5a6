//! The secret of one sign-in.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use store::digest::sha256;

/// The secret that a browser keeps while it is at the provider. Each value that goes to the
/// provider is derived from it by a hash, so that neither the address of the provider's page nor
/// the ID token shows the secret, or the verifier of PKCE.
#[derive(Clone)]
pub struct SignInSecret(String);

impl SignInSecret {
    /// A secret with at least 128 random bits, as the cookie has it.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The parameter `state`, which binds the way back to the browser.
    pub fn state(&self) -> String {
        self.derived("state")
    }

    /// The claim `nonce`, which binds the ID token to the browser.
    pub fn nonce(&self) -> String {
        self.derived("nonce")
    }

    /// The verifier of PKCE, which binds the code to the browser.
    pub(super) fn verifier(&self) -> String {
        self.derived("verifier")
    }

    /// The challenge of PKCE (S256).
    pub(super) fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(sha256(self.verifier().as_bytes()))
    }

    fn derived(&self, purpose: &str) -> String {
        URL_SAFE_NO_PAD.encode(sha256(format!("console {purpose} {}", self.0).as_bytes()))
    }
}
