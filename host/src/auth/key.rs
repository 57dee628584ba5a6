//! The form of API keys: `cgw_`, 43 characters with 256 bits of randomness, and 6 of a checksum.
//!
//! The prefix tells scanners and people what it is. By the checksum, CRC-32 of what stands before it, a scanner knows without
//! asking us that it has found a key, and we know without looking that a letter was lost. Letters and digits only, so that a
//! double click takes all of it.

use std::iter;

use ring::rand::{SecureRandom, SystemRandom};
use secrecy::SecretString;
use thiserror::Error;

use super::Scopes;
use store::digest::sha256;
use store::{KeyHash, KeyId, NewApiKey};

const PREFIX: &str = "cgw_";

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// 62^43 is just more than 2^256.
const RANDOM_CHARACTERS: usize = 43;

/// 62^6 is more than 2^32.
const CHECKSUM_CHARACTERS: usize = 6;

/// Characters of a key that are shown in lists: enough to recognise it, and leaving 232 bits.
const SHOWN_CHARACTERS: usize = PREFIX.len() + 4;

/// Characters of a key's id: enough that two never meet.
const ID_CHARACTERS: usize = 12;

/// The operating system has no random numbers to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the operating system gives no random numbers")]
pub struct NoRandomness;

/// What a token looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One of our keys, by its checksum.
    Ours,
    /// One of our keys, but not as we made it.
    Damaged,
    /// Something else.
    Other,
}

/// Makes a key: what is stored of it, and the key itself, which is to be shown once and is nowhere else.
///
/// # Errors
/// When there is no randomness.
pub fn make_key(
    name: &str,
    tenant: &str,
    subject: Option<&str>,
    scopes: Scopes,
) -> Result<(NewApiKey, SecretString), NoRandomness> {
    let mut text = format!("{PREFIX}{}", random(RANDOM_CHARACTERS)?);
    let checksum = checksum(&text);
    text.push_str(&checksum);
    let mut key = stored(&text, name, tenant, scopes)?;
    key.subject = subject.map(str::to_owned);
    key.prefix = text.chars().take(SHOWN_CHARACTERS).collect();
    Ok((key, text.into()))
}

/// What is stored of a key that a person chose. None of it is shown.
pub(super) fn stored(text: &str, name: &str, tenant: &str, scopes: Scopes) -> Result<NewApiKey, NoRandomness> {
    Ok(NewApiKey {
        id: KeyId(format!("key_{}", random(ID_CHARACTERS)?)),
        name: name.to_owned(),
        tenant: tenant.to_owned(),
        subject: None,
        scopes: scopes.to_string(),
        hash: hash(text),
        prefix: String::new(),
    })
}

/// A fast hash will do: nobody tries out 2^256 keys.
pub(super) fn hash(token: &str) -> KeyHash {
    sha256(token.as_bytes())
}

pub(super) fn check(token: &str) -> Form {
    if !token.starts_with(PREFIX) {
        return Form::Other;
    }
    let is_whole = token.len() == PREFIX.len() + RANDOM_CHARACTERS + CHECKSUM_CHARACTERS
        && token.split_at_checked(token.len() - CHECKSUM_CHARACTERS).is_some_and(|(text, end)| checksum(text) == end);
    if is_whole { Form::Ours } else { Form::Damaged }
}

fn random(characters: usize) -> Result<String, NoRandomness> {
    let source = SystemRandom::new();
    let mut text = String::with_capacity(characters);
    let mut bytes = [0; 64];
    while text.len() < characters {
        source.fill(&mut bytes).map_err(|_| NoRandomness)?;
        // 248 is four times 62: above it, some characters would come up more often than others.
        let fair = bytes.iter().filter(|byte| **byte < 248).map(|byte| char::from(ALPHABET[usize::from(byte % 62)]));
        text.extend(fair.take(characters - text.len()));
    }
    Ok(text)
}

fn checksum(text: &str) -> String {
    let mut rest = crc32(text.as_bytes());
    let digits = iter::repeat_with(|| {
        let digit = ALPHABET[(rest % 62) as usize];
        rest /= 62;
        char::from(digit)
    });
    digits.take(CHECKSUM_CHARACTERS).collect()
}

/// CRC-32 as in gzip and Ethernet, bit by bit: a key is short, and seldom checked.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    })
}
