//! The form of API keys: `cgw_`, then 43 characters with 256 random bits, then 6 characters of a
//! checksum. The token of an agent session has the same form, and begins with `cgs_`.
//!
//! People and secret scanners recognise a key by its prefix. The checksum is the CRC-32 of the
//! text before it. A scanner can verify a key with it, and the gateway recognises a damaged key
//! without a query to the store. A key has only letters and digits, so that a double click selects
//! all of it.

use std::iter;

use ring::rand::{SecureRandom, SystemRandom};
use thiserror::Error;

use super::scope::Scopes;
use store::digest::sha256;
use store::{KeyHash, KeyId, NewApiKey, ShownOnce};

const PREFIX: &str = "cgw_";

const SESSION_PREFIX: &str = "cgs_";

/// The beginning of the id of an agent session.
const SESSION_ID: &str = "ags_";

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// 62^43 is just more than 2^256.
const RANDOM_CHARACTERS: usize = 43;

/// 62^6 is more than 2^32.
const CHECKSUM_CHARACTERS: usize = 6;

/// Characters of a key that lists show. They are enough to recognise it, and leave 232 bits secret.
const SHOWN_CHARACTERS: usize = PREFIX.len() + 4;

/// Characters of a key's id: enough that two ids are never equal.
const ID_CHARACTERS: usize = 12;

/// The operating system failed to provide random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the operating system provides no random numbers")]
pub struct NoRandomness;

/// The kind of a token, by its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// An API key with a correct checksum.
    Ours,
    /// The token of an agent session with a correct checksum.
    Session,
    /// An API key or a token of an agent session that was not copied whole.
    Damaged,
    /// Not an API key; possibly a JWT.
    Other,
}

/// Makes a key. Returns the record to store, and the key itself, which the caller shows once and
/// which is stored nowhere.
///
/// # Errors
/// If there are no random numbers.
pub fn make_key(
    name: &str,
    tenant: &str,
    subject: Option<&str>,
    scopes: Scopes,
) -> Result<(NewApiKey, ShownOnce), NoRandomness> {
    let text = token(PREFIX)?;
    let mut key = stored(hash(&text), name, tenant, scopes)?;
    key.subject = subject.map(str::to_owned);
    key.prefix = text.chars().take(SHOWN_CHARACTERS).collect();
    Ok((key, text.into()))
}

/// Makes the token of an agent session. Returns the id of the session, the hash to store, and the
/// token itself, which the caller shows once and which is stored nowhere.
///
/// # Errors
/// If there are no random numbers.
pub fn make_session_token() -> Result<(KeyId, KeyHash, ShownOnce), NoRandomness> {
    let text = token(SESSION_PREFIX)?;
    Ok((KeyId(format!("{SESSION_ID}{}", random(ID_CHARACTERS)?)), hash(&text), text.into()))
}

/// Returns `true` if an id is one of an agent session, and not of a key.
pub(super) fn is_session(id: &KeyId) -> bool {
    id.0.starts_with(SESSION_ID)
}

/// A random token with its checksum.
fn token(prefix: &str) -> Result<String, NoRandomness> {
    let mut text = format!("{prefix}{}", random(RANDOM_CHARACTERS)?);
    let checksum = checksum(&text);
    text.push_str(&checksum);
    Ok(text)
}

/// The record of a key that a person chose. Lists show no part of such a key.
pub(super) fn stored(hash: KeyHash, name: &str, tenant: &str, scopes: Scopes) -> Result<NewApiKey, NoRandomness> {
    Ok(NewApiKey {
        id: KeyId(format!("key_{}", random(ID_CHARACTERS)?)),
        name: name.to_owned(),
        tenant: tenant.to_owned(),
        scopes: scopes.to_string(),
        hash,
        ..NewApiKey::default()
    })
}

/// The stored form of a token. A fast hash is enough, because no one can try 2^256 keys.
pub(super) fn hash(token: &str) -> KeyHash {
    sha256(token.as_bytes())
}

/// Finds the kind of a token without a query to the store.
pub(super) fn form_of(token: &str) -> Form {
    let form = match token.get(..PREFIX.len()) {
        Some(PREFIX) => Form::Ours,
        Some(SESSION_PREFIX) => Form::Session,
        _ => return Form::Other,
    };
    let is_whole = token.len() == PREFIX.len() + RANDOM_CHARACTERS + CHECKSUM_CHARACTERS
        && token.split_at_checked(token.len() - CHECKSUM_CHARACTERS).is_some_and(|(text, end)| checksum(text) == end);
    if is_whole { form } else { Form::Damaged }
}

fn random(characters: usize) -> Result<String, NoRandomness> {
    let source = SystemRandom::new();
    let mut text = String::with_capacity(characters);
    let mut bytes = [0; 64];
    while text.len() < characters {
        source.fill(&mut bytes).map_err(|_| NoRandomness)?;
        // 248 is four times 62. With bytes from 248 on, some characters would be more frequent than
        // others.
        let fair = bytes.iter().filter(|byte| **byte < 248).map(|byte| char::from(ALPHABET[usize::from(byte % 62)]));
        text.extend(fair.take(characters - text.len()));
    }
    Ok(text)
}

fn checksum(text: &str) -> String {
    let mut rest = crc32fast::hash(text.as_bytes());
    let digits = iter::repeat_with(|| {
        let digit = ALPHABET[(rest % 62) as usize];
        rest /= 62;
        char::from(digit)
    });
    digits.take(CHECKSUM_CHARACTERS).collect()
}
