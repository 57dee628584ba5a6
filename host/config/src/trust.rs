//! The settings of `[trust]`: the publishers whose modules may be added.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use minisign_verify::PublicKey;

use super::declare::Entry;
use super::list::List;
use super::section::{Expected, Given, Section};
use super::value;

/// The position of the id in a key and in a signature, after the name of the algorithm.
const KEY_ID: std::ops::Range<usize> = 2..10;

/// The publishers whose modules may be added.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trust {
    /// The publishers, by a name that the operator chose. If there are any, a module that did not
    /// come with the gateway needs a signature of one of them.
    pub publishers: BTreeMap<String, Publisher>,
}

/// A publisher of modules.
#[derive(Clone, Debug, PartialEq)]
pub struct Publisher {
    /// The key that its signatures are checked with.
    pub key: PublicKey,
    /// The key's id, as minisign writes it.
    pub key_id: String,
    /// The identifiers that it may publish. An entry that ends with `*` stands for all identifiers
    /// with this beginning. An empty list stands for all identifiers.
    pub connectors: Vec<String>,
}

impl Publisher {
    /// Returns `true` if it may publish a connector with this identifier.
    pub fn may_publish(&self, identifier: &str) -> bool {
        let fits = |pattern: &String| match pattern.strip_suffix('*') {
            Some(beginning) => identifier.starts_with(beginning),
            None => identifier == pattern,
        };
        self.connectors.is_empty() || self.connectors.iter().any(fits)
    }
}

/// The id of a key or of the key of a signature, in the base64 text of either, as minisign writes
/// it: without leading zeros.
pub fn key_id(base64: &str) -> Option<String> {
    let bytes = STANDARD.decode(base64.trim()).ok()?;
    let id = bytes.get(KEY_ID)?.try_into().ok()?;
    Some(format!("{:X}", u64::from_le_bytes(id)))
}

/// The sections `trust.publishers.NAME`.
pub(super) struct Publishers;

impl Entry<Trust> for Publishers {
    fn read(&self, section: &mut Section<'_>, key: &'static str, trust: &mut Trust) {
        section.each(key, |name, publishers| {
            let mut publisher = None;
            publishers.section(name, |section| publisher = read_publisher(section));
            trust.publishers.extend(publisher.map(|publisher| (name.to_owned(), publisher)));
        });
    }

    fn show(&self, list: &mut List, key: &'static str, trust: &Trust) {
        list.section(key, |list| {
            for (name, Publisher { key: _, key_id, connectors }) in &trust.publishers {
                list.section(name, |list| {
                    list.add("key", key_id.as_str());
                    list.add("connectors", connectors.as_slice());
                });
            }
        });
    }
}

/// Reads a section. Returns `None` if its key is empty, as in the example.
fn read_publisher(section: &mut Section<'_>) -> Option<Publisher> {
    let has_key = section.has("key");
    let (mut key, mut connectors) = (None, Vec::new());
    section.value("key", &mut key, public_key);
    section.value("connectors", &mut connectors, identifiers);
    let Some((key, key_id)) = key else {
        // A section without a key must not switch off the check of signatures.
        if !has_key || !connectors.is_empty() {
            section.problem("key", "is missing; a publisher needs the second line of its minisign.pub".to_owned());
        }
        return None;
    };
    Some(Publisher { key, key_id, connectors })
}

/// A public key and its id, or `None` for an empty string.
fn public_key(given: &Given<'_>) -> Result<Option<(PublicKey, String)>, Expected> {
    let text = given.string().unwrap_or("?").trim();
    if text.is_empty() {
        return Ok(None);
    }
    match (PublicKey::from_base64(text), key_id(text)) {
        (Ok(key), Some(id)) => Ok(Some((key, id))),
        _ => Err("a public key of minisign: the second line of minisign.pub".to_owned()),
    }
}

fn identifiers(given: &Given<'_>) -> Result<Vec<String>, Expected> {
    let patterns = value::texts(given)?;
    let is_one = |pattern: &String| {
        let name = pattern.strip_suffix('*').unwrap_or(pattern);
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    };
    match patterns.iter().all(is_one) {
        true => Ok(patterns),
        false => Err("a list of identifiers, such as [\"words\", \"acme_*\"]; empty for all".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_key_has_no_leading_zeros() {
        let key = [b"Ed".as_slice(), &[0xC9, 0xDE, 0x9C, 0xA7, 0x23, 0xDE, 0x84, 0x09], &[0; 32]].concat();
        assert_eq!(key_id(&STANDARD.encode(key)).as_deref(), Some("984DE23A79CDEC9"));
    }
}
