//! The texts in a component about its build: the repository and the commit of its source, and the
//! packages that it was built from.
//!
//! They are in custom sections with the names and forms that `wasm-tools metadata` and
//! `cargo auditable` use: `source`, `revision` and `.dep-v0`. The author of a module may write
//! anything into them, so they are bounded, and no decision depends on them.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::{Deserialize, Serialize};
use wasmparser::{Encoding, Parser, Payload};

const SOURCE: &str = "source";
const REVISION: &str = "revision";
const PACKAGES: &str = ".dep-v0";

/// Maximum length of the source and of the revision. A longer text is left out.
const MAX_TEXT_BYTES: usize = 2048;

/// Maximum size of the list of packages, decompressed.
const MAX_LIST_BYTES: u64 = 2 << 20;

/// The texts about the build of a component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// The URL of the repository.
    pub source: Option<String>,
    /// The commit.
    pub revision: Option<String>,
    /// The packages. `None` if the component has no list that can be read.
    pub packages: Option<Vec<Package>>,
}

/// A package that a component was built from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The registry that it came from, such as `crates.io`, `npm` and `pypi`, or `git` or `local`.
    #[serde(default)]
    pub source: String,
}

/// The list, as `cargo auditable` writes it.
#[derive(Serialize, Deserialize)]
struct List {
    packages: Vec<Package>,
}

impl Provenance {
    /// Reads the sections of a component, without the sections of the modules inside of it.
    pub fn read(component: &[u8]) -> Self {
        let mut found = Self::default();
        for payload in own_payloads(component) {
            if let Payload::CustomSection(section) = payload {
                match section.name() {
                    SOURCE => found.source = text(section.data()),
                    REVISION => found.revision = text(section.data()),
                    PACKAGES => found.packages = packages(section.data()),
                    _ => {}
                }
            }
        }
        found
    }

    /// Adds the sections to a component, which should not have them yet.
    ///
    /// # Errors
    /// If the list is too long to be read again.
    pub fn write(&self, component: &mut Vec<u8>) -> io::Result<()> {
        for (name, text) in [(SOURCE, &self.source), (REVISION, &self.revision)] {
            if let Some(text) = text {
                add_section(component, name, text.as_bytes());
            }
        }
        if let Some(packages) = &self.packages {
            let list = serde_json::to_vec(&List { packages: packages.clone() })?;
            if list.len() as u64 > MAX_LIST_BYTES {
                return Err(io::Error::other("the list of its packages is too long"));
            }
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(&list)?;
            add_section(component, PACKAGES, &encoder.finish()?);
        }
        Ok(())
    }
}

/// The interfaces of a component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interfaces {
    /// The names of its imports.
    pub imports: Vec<String>,
    /// The names of its exports.
    pub exports: Vec<String>,
}

impl Interfaces {
    /// Reads the imports and exports of a component.
    pub fn read(component: &[u8]) -> Self {
        let mut found = Self::default();
        for payload in own_payloads(component) {
            match payload {
                Payload::ComponentImportSection(imports) => {
                    found.imports.extend(imports.into_iter().flatten().map(|one| one.name.name.to_owned()));
                }
                Payload::ComponentExportSection(exports) => {
                    found.exports.extend(exports.into_iter().flatten().map(|one| one.name.name.to_owned()));
                }
                _ => {}
            }
        }
        found
    }
}

/// The payloads of a component itself, up to the first one that cannot be parsed. Payloads of the
/// modules inside of the component are left out.
fn own_payloads(component: &[u8]) -> impl Iterator<Item = Payload<'_>> {
    let mut depth = 0_u32;
    Parser::new(0).parse_all(component).map_while(Result::ok).filter(move |payload| {
        match payload {
            Payload::Version { encoding: Encoding::Module | Encoding::Component, .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 1
    })
}

/// A printable text. `None` for other bytes, and for a text that is too long.
fn text(data: &[u8]) -> Option<String> {
    let text = str::from_utf8(data).ok().filter(|text| text.len() <= MAX_TEXT_BYTES)?;
    is_printable(text).then(|| text.to_owned())
}

/// Returns `false` for a text that could change how a terminal shows other text.
fn is_printable(text: &str) -> bool {
    let changes_direction =
        |character| matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !text.is_empty() && !text.chars().any(|character| character.is_control() || changes_direction(character))
}

fn packages(data: &[u8]) -> Option<Vec<Package>> {
    let mut list = Vec::new();
    ZlibDecoder::new(data).take(MAX_LIST_BYTES + 1).read_to_end(&mut list).ok()?;
    if list.len() as u64 > MAX_LIST_BYTES {
        return None;
    }
    let List { packages } = serde_json::from_slice(&list).ok()?;
    let is_printable = |package: &Package| {
        is_printable(&package.name)
            && is_printable(&package.version)
            && (package.source.is_empty() || is_printable(&package.source))
    };
    packages.iter().all(is_printable).then_some(packages)
}

/// Adds a custom section at the end.
pub(crate) fn add_section(component: &mut Vec<u8>, name: &str, data: &[u8]) {
    let mut content = Vec::new();
    leb128(name.len(), &mut content);
    content.extend_from_slice(name.as_bytes());
    content.extend_from_slice(data);
    component.push(0);
    leb128(content.len(), component);
    component.extend(content);
}

fn leb128(mut number: usize, bytes: &mut Vec<u8>) {
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A component without sections.
    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    fn with(name: &str, data: &[u8]) -> Provenance {
        let mut component = EMPTY.to_vec();
        add_section(&mut component, name, data);
        Provenance::read(&component)
    }

    fn compressed(text: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_is_written_is_read_again() {
        let package = |name: &str, source: &str| Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            source: source.to_owned(),
        };
        let provenance = Provenance {
            source: Some("https://git.example.com/acme/words".to_owned()),
            revision: Some("0123456789abcdef".to_owned()),
            packages: Some(vec![package("serde", "crates.io"), package("rolldown", "npm")]),
        };
        let mut component = EMPTY.to_vec();
        provenance.write(&mut component).unwrap();
        assert_eq!(Provenance::read(&component), provenance);
        assert_eq!(Provenance::read(EMPTY), Provenance::default());
    }

    #[test]
    fn a_list_of_cargo_auditable_is_read() {
        let list = br#"{"packages":[{"name":"words","version":"0.1.0","source":"local","dependencies":[1],"root":true},{"name":"serde","version":"1.0.0","source":"crates.io"}]}"#;
        let packages = with(PACKAGES, &compressed(list)).packages.unwrap();
        assert_eq!(packages.iter().map(|package| package.name.as_str()).collect::<Vec<_>>(), ["words", "serde"]);
    }

    #[test]
    fn a_list_that_is_too_long_or_no_list_is_left_out() {
        let long = compressed(&vec![b' '; MAX_LIST_BYTES as usize * 4]);
        assert!(long.len() < 20_000);
        for data in [&long[..], b"", b"no zlib", &compressed(b"{}"), &compressed(br#"{"packages":[{"name":1}]}"#)] {
            assert_eq!(with(PACKAGES, data).packages, None);
        }
    }

    #[test]
    fn texts_that_could_change_a_terminal_are_left_out() {
        for data in ["a\u{1b}[2Jb", "a\nb", "", "\u{202e}abc", &"x".repeat(MAX_TEXT_BYTES + 1)] {
            assert_eq!(with(SOURCE, data.as_bytes()).source, None, "{data:?}");
        }
        assert_eq!(with(REVISION, &[0xff]).revision, None);
        let list =
            serde_json::json!({"packages": [{"name": "a\u{1b}[2J", "version": "1", "source": "npm"}]}).to_string();
        assert_eq!(with(PACKAGES, &compressed(list.as_bytes())).packages, None);
    }

    #[test]
    fn a_component_with_any_changed_byte_is_read_to_an_end() {
        let package = Package { name: "serde".to_owned(), version: "1.0.0".to_owned(), source: "crates.io".to_owned() };
        let provenance = Provenance {
            source: Some("https://git.example.com".to_owned()),
            revision: Some("abc".to_owned()),
            packages: Some(vec![package]),
        };
        let mut component = EMPTY.to_vec();
        provenance.write(&mut component).unwrap();
        for position in 0..component.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut changed = component.clone();
                changed[position] = value;
                let read = Provenance::read(&changed);
                assert!(read.source.is_none_or(|text| is_printable(&text)), "{position}");
                Provenance::read(&component[..position]);
                Interfaces::read(&changed);
            }
        }
    }

    #[test]
    fn bytes_that_are_no_component_say_nothing() {
        for bytes in [&b""[..], b"garbage", &EMPTY[..5], b"\0asm\x0d\0\x01\0\0\xff\xff\xff\xff\x0f"] {
            assert_eq!(Provenance::read(bytes), Provenance::default());
            assert_eq!(Interfaces::read(bytes), Interfaces::default());
        }
    }
}
