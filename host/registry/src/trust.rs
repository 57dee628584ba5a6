//! Signatures of modules. If the configuration has publishers, only their modules may be live, each
//! under the identifiers that its publisher may publish.
//!
//! A signature is a text of minisign. It is checked over the bytes that are loaded. Its comments
//! have no effect.

use std::io;
use std::path::{Path, PathBuf};

use minisign_verify::{PublicKey, Signature};

use config::{Publisher, Trust, key_id};

/// The name of a module's file with this suffix is the name of the file with the signature.
const SUFFIX: &str = ".minisig";

/// Maximum length of the text of a signature.
const MAX_SIGNATURE_BYTES: usize = 4 << 10;

/// The signature of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The text.
    pub(super) signature: String,
    /// The id of the key, as minisign writes it. Without a publisher, it is not checked that the
    /// key signed the module.
    pub key_id: String,
    /// The publisher whose signature it is. `None` if the configuration has no publishers.
    pub publisher: Option<String>,
}

/// A module whose signature was checked, before its identifier is known.
pub(super) struct Vouched<'a> {
    publishers: Vec<(&'a str, &'a Publisher)>,
    signed: Option<Signed>,
}

/// Checks that a publisher has signed a module. Without publishers in the configuration, every
/// module passes.
///
/// # Errors
/// A sentence without a full stop that says which key has signed it, and what to do.
pub(super) fn check<'a>(trust: &'a Trust, module: &[u8], signature: Option<&str>) -> Result<Vouched<'a>, String> {
    let known = signature.and_then(|text| Some((text, Signature::decode(text).ok()?, key_id_of(text)?)));
    let signed = known.as_ref().map(|(text, _, key_id)| Signed {
        signature: (*text).to_owned(),
        key_id: key_id.clone(),
        publisher: None,
    });
    if trust.publishers.is_empty() {
        return Ok(Vouched { publishers: Vec::new(), signed });
    }
    let Some((_, signature, key_id)) = known else {
        return Err(match signature {
            None => "it is not signed, and `[trust]` in the configuration requires the signature of a publisher; its author \
                     signs it with `minisign -S -m FILE`, and FILE.minisig stays next to the file, or is sent in the \
                     header `X-Module-Signature`"
                .to_owned(),
            Some(_) => "its signature is not a minisign signature; get the module and its signature again".to_owned(),
        });
    };
    let of_key: Vec<_> = trust.publishers.iter().filter(|(_, publisher)| publisher.key_id == key_id).collect();
    if of_key.is_empty() {
        return Err(format!(
            "it is signed with the key {key_id}, which no publisher in `[trust]` has; if you trust the owner of this key, add \
             a section `[trust.publishers.NAME]` with `key = \"…\"`, the second line of the owner's minisign.pub"
        ));
    }
    // Legacy signatures do not sign a hash of the module. Minisign makes them only with an option.
    let publishers: Vec<_> = of_key
        .into_iter()
        .filter(|(_, publisher)| publisher.key.verify(module, &signature, false).is_ok())
        .map(|(name, publisher)| (name.as_str(), publisher))
        .collect();
    if publishers.is_empty() {
        return Err(format!(
            "its signature with the key {key_id} is not a signature of this module, or is of the legacy kind; get the module and its \
             signature again"
        ));
    }
    Ok(Vouched { publishers, signed })
}

impl Vouched<'_> {
    /// Checks that its publisher may publish a connector with this identifier.
    ///
    /// # Errors
    /// A sentence without a full stop that says what to do.
    pub(super) fn publishes(self, identifier: &str) -> Result<Option<Signed>, String> {
        if self.publishers.is_empty() {
            return Ok(self.signed);
        }
        if let Some((name, _)) = self.publishers.iter().find(|(_, publisher)| publisher.may_publish(identifier)) {
            return Ok(self.signed.map(|signed| Signed { publisher: Some((*name).to_owned()), ..signed }));
        }
        let names: Vec<&str> = self.publishers.iter().map(|(name, _)| *name).collect();
        let key_id = self.signed.map(|signed| signed.key_id).unwrap_or_default();
        let names = names.join("`, `");
        Err(format!(
            "it is signed with the key {key_id} of `{names}`, which may not publish `{identifier}`; if it may, add \"{identifier}\" \
             to `connectors` in the section `[trust.publishers.{names}]`"
        ))
    }
}

/// Returns `true` if a signature is one of this module. `public_key` is the text of a file that
/// minisign writes, or its last line. `None` if it is no key, or if the signature names another
/// key.
pub fn fits(public_key: &str, module: &[u8], signature: &str) -> Option<bool> {
    let key = public_key.trim().lines().last()?;
    if key_id(key)? != key_id_of(signature)? {
        return None;
    }
    let signature = Signature::decode(signature).ok()?;
    Some(PublicKey::from_base64(key).ok()?.verify(module, &signature, false).is_ok())
}

/// The id of the key that a signature names, as minisign writes it.
pub fn key_id_of(signature: &str) -> Option<String> {
    key_id(signature.lines().nth(1)?)
}

/// The file with the signature of a module's file.
pub fn file(module: &Path) -> PathBuf {
    let mut name = module.as_os_str().to_owned();
    name.push(SUFFIX);
    name.into()
}

/// The text of the signature next to a module's file. `None` if the module is not signed.
///
/// # Errors
/// If it cannot be read.
pub fn signature_of(module: &Path) -> io::Result<Option<String>> {
    match files::read_regular(&file(module), MAX_SIGNATURE_BYTES as u64) {
        Ok(text) => Ok(Some(String::from_utf8_lossy(&text).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &[u8] = b"module";
    const KEY: &str = "RWQWtoTgWPERH+jDmReQBvZveyUVnkDgIv8mhh+95ttNUzCFm156NyDN";
    const OTHER_KEY: &str = "RWTEQ7bPNXo+wtGvGbVs6xXSQ/z0vHSKMIYxoQWeCSA28Bvq7cvk0OGO";
    const SIGNATURE: &str = "untrusted comment: signature from minisign secret key
RUQWtoTgWPERH0nvYE8ULNrl4lz3Klgtp0YlGUsqZH+LRtMcD2J8yRI9dy36ju4zKw41YmACsWOZL884FCsLw1gnEIUfyfL5LA8=
trusted comment: module
Kq2SvHfiERTOlSopnpIwNaf8sKyZTUVZZ+MiiDtgiQ2zMG6FsoSK9jatmJza+zr06tXkdO9Bvc9XHQHGNDE7Cg==
";
    const LEGACY: &str = "untrusted comment: signature from minisign secret key
RWQWtoTgWPERH8jVA1A/WI0vkrxB3BwA2eRC3r8Tp0Iif4mpnA5lPV2De1orEPfxZHSMF+bLxSApLFgmOeDz2bck+iocsVUq4QI=
trusted comment: module
ObkBpCHLXuDmoIEG5Dl1KHOeKY6M603O7qazVW8p66r6CIfYRht0fHioc2cW5XJVh9NMuS/06229uE0dygpxAg==
";

    fn trust(publishers: &[(&str, &str, &[&str])]) -> Trust {
        let publisher = |key: &str, connectors: &[&str]| Publisher {
            key: PublicKey::from_base64(key).unwrap(),
            key_id: key_id(key).unwrap(),
            connectors: connectors.iter().map(|name| (*name).to_owned()).collect(),
        };
        let publishers =
            publishers.iter().map(|(name, key, connectors)| ((*name).to_owned(), publisher(key, connectors)));
        Trust { publishers: publishers.collect() }
    }

    fn signed(trust: &Trust, module: &[u8], signature: Option<&str>) -> Result<Option<String>, String> {
        let signed = check(trust, module, signature)?.publishes("words")?;
        Ok(signed.and_then(|signed| signed.publisher))
    }

    #[test]
    fn a_module_is_its_publishers() {
        let trust = trust(&[("acme", KEY, &["words", "acme_*"]), ("other", OTHER_KEY, &[])]);
        assert_eq!(signed(&trust, MODULE, Some(SIGNATURE)), Ok(Some("acme".to_owned())));
        for (signature, words) in [
            (None, "it is not signed"),
            (Some(""), "not a minisign signature"),
            (Some("untrusted comment: x\nRUQ=\n"), "not a minisign signature"),
            (Some(LEGACY), "legacy"),
        ] {
            let refusal = signed(&trust, MODULE, signature).unwrap_err();
            assert!(refusal.contains(words), "{refusal}");
        }
        let refusal = signed(&trust, b"another", Some(SIGNATURE)).unwrap_err();
        assert!(refusal.contains("1F11F158E084B616 is not a signature of this module"), "{refusal}");
    }

    #[test]
    fn a_signature_fits_the_module_that_its_key_has_signed() {
        let file = format!("untrusted comment: minisign public key 1F11F158E084B616\n{KEY}\n");
        assert_eq!(fits(&file, MODULE, SIGNATURE), Some(true));
        assert_eq!(fits(KEY, b"another", SIGNATURE), Some(false));
        assert_eq!(fits(KEY, MODULE, LEGACY), Some(false));
        for (key, signature) in [(OTHER_KEY, SIGNATURE), ("", SIGNATURE), ("no key", SIGNATURE), (KEY, "")] {
            assert_eq!(fits(key, MODULE, signature), None);
        }
    }

    #[test]
    fn an_unknown_key_and_an_identifier_of_another_publisher_are_refused_with_the_id_of_the_key() {
        let refusal = signed(&trust(&[("other", OTHER_KEY, &[])]), MODULE, Some(SIGNATURE)).unwrap_err();
        assert!(refusal.contains("the key 1F11F158E084B616, which no publisher"), "{refusal}");
        let refusal = signed(&trust(&[("acme", KEY, &["acme_*", "word"])]), MODULE, Some(SIGNATURE)).unwrap_err();
        assert!(
            refusal.contains("may not publish `words`") && refusal.contains("[trust.publishers.acme]"),
            "{refusal}"
        );
        let both = trust(&[("acme", KEY, &["acme_*"]), ("again", KEY, &["words"])]);
        assert_eq!(signed(&both, MODULE, Some(SIGNATURE)), Ok(Some("again".to_owned())));
    }

    #[test]
    fn a_signature_with_any_changed_byte_is_refused_or_changed_in_its_first_comment() {
        let trust = trust(&[("acme", KEY, &[])]);
        let first_line = SIGNATURE.lines().next().unwrap().len();
        for position in 0..SIGNATURE.trim_end().len() {
            for value in *b" \nA=\xc3" {
                let mut changed = SIGNATURE.as_bytes().to_vec();
                if changed[position] == value {
                    continue;
                }
                changed[position] = value;
                let passes = check(&trust, MODULE, Some(&String::from_utf8_lossy(&changed))).is_ok();
                assert!(!passes || position < first_line, "byte {position} as {value}");
            }
        }
    }

    #[test]
    fn without_publishers_every_module_passes() {
        for signature in [None, Some("garbage"), Some(SIGNATURE)] {
            assert_eq!(signed(&Trust::default(), b"another", signature), Ok(None));
        }
    }

    #[test]
    fn comments_decide_nothing() {
        let trust = trust(&[("acme", KEY, &[])]);
        assert!(
            signed(&trust, MODULE, Some(&SIGNATURE.replace("trusted comment: module", "trusted comment: x"))).is_err()
        );
        let other = SIGNATURE.replace("signature from minisign secret key", "of the operator");
        assert_eq!(signed(&trust, MODULE, Some(&other)), Ok(Some("acme".to_owned())));
    }
}
