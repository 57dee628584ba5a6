//! JWTs that the gateway signs with the private key of an account or of the operator (RFC 7515,
//! RFC 7519), always with RS256.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::RSA_PKCS1_SHA256;
use secrecy::SecretString;
use serde::Serialize;
use serde_json::json;

use config::{BadKey, rsa_key};

/// A JWT is issued this long ago, so that a provider whose clock is behind accepts it.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(60);

/// Time from the issue of a JWT to its expiry. Providers accept at most ten minutes or an hour. A
/// JWT is sent once, immediately.
const LIFETIME: Duration = Duration::from_secs(9 * 60);

/// The size of a computation that takes as long as reading a key and signing with it.
const SIGNING_BYTES: usize = 256 << 10;

/// The claims of a JWT.
#[derive(Serialize)]
pub(super) struct Claims<'a> {
    pub(super) iss: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sub: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) aud: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scope: Option<&'a str>,
}

/// A JWT as it is signed.
#[derive(Serialize)]
struct Dated<'a> {
    #[serde(flatten)]
    claims: &'a Claims<'a>,
    iat: u64,
    exp: u64,
}

/// Signs a JWT with these claims.
///
/// # Errors
/// If the key cannot sign.
pub(super) async fn sign(
    private_key: &SecretString,
    key_id: Option<&str>,
    claims: &Claims<'_>,
    now: SystemTime,
) -> Result<SecretString, BadKey> {
    compute::run(SIGNING_BYTES, || sign_now(private_key, key_id, claims, now)).await
}

fn sign_now(
    private_key: &SecretString,
    key_id: Option<&str>,
    claims: &Claims<'_>,
    now: SystemTime,
) -> Result<SecretString, BadKey> {
    let key = rsa_key(private_key)?;
    let issued = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().saturating_sub(CLOCK_TOLERANCE);
    let dated = Dated { claims, iat: issued.as_secs(), exp: (issued + LIFETIME).as_secs() };
    let mut header = json!({"alg": "RS256", "typ": "JWT"});
    if let Some(key_id) = key_id {
        header["kid"] = key_id.into();
    }
    // Texts and numbers can always be written as JSON.
    let claims = serde_json::to_vec(&dated).unwrap_or_default();
    let mut token = format!("{}.{}", URL_SAFE_NO_PAD.encode(header.to_string()), URL_SAFE_NO_PAD.encode(claims));
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), token.as_bytes(), &mut signature).map_err(|_| BadKey)?;
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(signature, &mut token);
    Ok(token.into())
}
