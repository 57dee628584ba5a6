//! The signature scheme `v1` of Standard Webhooks: HMAC-SHA256 with a shared secret.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac::{HMAC_SHA256, Key, sign};
use ring::rand::{SecureRandom, SystemRandom};
use secrecy::{ExposeSecret, SecretSlice};

use super::WebhookError;
use store::ShownOnce;

/// Number of random bytes of a secret. The specification requires 24 to 64.
const SECRET_BYTES: usize = 32;

/// The secret of a tenant that webhooks are signed with.
pub struct SigningSecret(SecretSlice<u8>);

impl SigningSecret {
    /// Makes a random secret.
    ///
    /// # Errors
    /// If there are no random numbers.
    pub fn random() -> Result<Self, WebhookError> {
        let mut bytes = vec![0; SECRET_BYTES];
        SystemRandom::new().fill(&mut bytes).map_err(|_| WebhookError::NoRandomness)?;
        Ok(Self(bytes.into()))
    }

    /// The secret with these bytes, as the vault returns them.
    ///
    /// # Errors
    /// `DamagedSecret` if they have another length than the gateway's secrets.
    pub(super) fn from_bytes(bytes: SecretSlice<u8>) -> Result<Self, WebhookError> {
        if bytes.expose_secret().len() == SECRET_BYTES { Ok(Self(bytes)) } else { Err(WebhookError::DamagedSecret) }
    }

    /// The secret that a receiver of an agent has chosen: `whsec_` and base64 of 24 to 64 bytes.
    pub(super) fn of_receiver(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text.strip_prefix("whsec_")?).ok()?;
        (24..=64).contains(&bytes.len()).then(|| Self(bytes.into()))
    }

    /// The bytes to seal.
    pub(super) fn bytes(&self) -> &[u8] {
        self.0.expose_secret()
    }

    /// The text that the tenant gets: `whsec_` and base64.
    pub fn to_text(&self) -> ShownOnce {
        format!("whsec_{}", STANDARD.encode(self.bytes())).into()
    }
}

/// The value of the header `webhook-signature`: one signature for each secret.
pub fn signatures(secrets: &[SigningSecret], webhook_id: &str, timestamp: u64, payload: &[u8]) -> String {
    let signed = [format!("{webhook_id}.{timestamp}.").as_bytes(), payload].concat();
    let signature = |secret: &SigningSecret| {
        let tag = sign(&Key::new(HMAC_SHA256, secret.bytes()), &signed);
        format!("v1,{}", STANDARD.encode(tag))
    };
    secrets.iter().map(signature).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(base64: &str) -> SigningSecret {
        SigningSecret(STANDARD.decode(base64).unwrap().into())
    }

    #[test]
    fn signatures_are_those_of_the_specifications_reference_libraries() {
        let secret = secret("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let signed = signatures(&[secret], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn each_secret_makes_its_own_signature() {
        let secrets = [SigningSecret::random().unwrap(), SigningSecret::random().unwrap()];
        let both = signatures(&secrets, "msg_1", 1, b"{}");
        let single: Vec<_> = secrets.into_iter().map(|secret| signatures(&[secret], "msg_1", 1, b"{}")).collect();
        assert_eq!(both, single.join(" "));
        assert_ne!(single[0], single[1]);
    }

    #[test]
    fn a_secret_is_shown_in_the_form_of_the_specification() {
        let text = secret("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").to_text();
        assert_eq!(text.expose_secret(), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let random = SigningSecret::random().unwrap();
        assert_eq!(random.to_text().expose_secret().len(), "whsec_".len() + 44);
        for (bytes, is_secret) in [(23, false), (24, true), (64, true), (65, false)] {
            let text = format!("whsec_{}", STANDARD.encode(vec![7; bytes]));
            assert_eq!(SigningSecret::of_receiver(&text).is_some(), is_secret, "{bytes} bytes");
        }
        assert!(SigningSecret::of_receiver(&STANDARD.encode([7; 32])).is_none());
        assert!(SigningSecret::from_bytes(vec![0; 31].into()).is_err());
        assert_eq!(SigningSecret::from_bytes(random.bytes().to_vec().into()).unwrap().bytes(), random.bytes());
    }
}
