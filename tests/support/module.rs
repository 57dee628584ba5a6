//! Connectors as bytes, as built and altered.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Begins the text in the guest `liar` that selects its manifest.
const STORY: &[u8] = b"story=";
const STORY_BYTES: usize = 48;

/// Begins the text in the guest `account` that describes its service.
const SERVICE: &[u8] = b"service=";
const SERVICE_BYTES: usize = 2048;

/// Identifiers of sections of a component.
const CUSTOM_SECTION: u8 = 0;
const COMPONENT_SECTION: u8 = 4;
const INSTANCE_SECTION: u8 = 5;

/// Length of the magic number, version and layer at the start of a component.
const PREAMBLE_BYTES: usize = 8;

/// The root folder of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folder of the product's connectors, which `make build` fills.
fn shipped_folder() -> PathBuf {
    root().join("target/debug/connectors")
}

/// A connector of the product.
///
/// # Panics
/// When it was not built.
pub fn shipped(name: &str) -> Vec<u8> {
    read(&shipped_folder().join(format!("{name}.wasm")), "make build")
}

/// The names of the product's connectors, sorted.
///
/// # Panics
/// When they were not built.
pub fn shipped_names() -> Vec<String> {
    let folder = shipped_folder();
    let entries =
        fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}; `make build` makes it", folder.display()));
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let names = paths.filter(|path| path.extension().is_some_and(|extension| extension == "wasm"));
    let mut names: Vec<String> = names.filter_map(|path| path.file_stem()?.to_str().map(str::to_owned)).collect();
    names.sort();
    names
}

/// A guest from `tests/guests`. `GUESTS_FOLDER` names the folder with the guests of another
/// release.
///
/// # Panics
/// When it was not built.
pub fn guest(name: &str) -> Vec<u8> {
    let folder = std::env::var_os("GUESTS_FOLDER").map_or_else(|| root().join("target/guests"), PathBuf::from);
    read(&folder.join(format!("{name}.wasm")), "make guests")
}

fn read(path: &Path, command: &str) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}; `{command}` builds it", path.display()))
}

/// The guest `liar` with a story: `version=…` for an honest manifest of that version, or the name
/// of a lie.
///
/// # Panics
/// When the story is too long for its place in the guest.
pub fn liar(story: &str) -> Vec<u8> {
    patched("liar", STORY, STORY_BYTES, story)
}

/// The guest `account` for the service that this JSON document describes. `tests/guests/account`
/// documents the members.
///
/// # Panics
/// When the document is too long for its place in the guest.
pub fn account(service: &Value) -> Vec<u8> {
    patched("account", SERVICE, SERVICE_BYTES, &service.to_string())
}

/// A guest whose text after `mark` is replaced, and padded with blanks to `length`.
fn patched(name: &str, mark: &[u8], length: usize, text: &str) -> Vec<u8> {
    let mut module = guest(name);
    let start = memchr::memmem::find(&module, mark).expect("the guest holds its text");
    let place = &mut module[start + mark.len()..start + length];
    assert!(text.len() <= place.len(), "`{text}` has more than {} bytes", place.len());
    place.fill(b' ');
    place[..text.len()].copy_from_slice(text.as_bytes());
    module
}

/// SHA-256 of a module in hexadecimal digits, by which the gateway identifies a version.
pub fn digest(module: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, module);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A component from its text format.
///
/// # Panics
/// When the text is not valid.
pub fn from_text(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// The text of `tests/guests/<name>.wat`.
///
/// # Panics
/// When there is no such file.
pub fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("guests").join(format!("{name}.wat"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A component with one function in which every loop uses every local. The compiler's work grows
/// with the product of loops and locals, the size of the module only with their sum. `head` is the
/// text of the component before the function.
pub fn compile_bomb(head: &str, locals: usize, loops: usize) -> Vec<u8> {
    let mut text = format!("(component {head} (core module (func {}", "(local i32)".repeat(locals));
    text.push_str(&"(loop ".repeat(loops));
    for local in 0..locals {
        text.push_str(&format!("(local.set {local} (i32.add (local.get {local}) (i32.const 1)))"));
    }
    text.push_str(&"(br_if 0 (local.get 0)))".repeat(loops));
    text.push_str(")))");
    from_text(&text)
}

/// The module with a custom section added. It behaves as before, but its digest differs.
pub fn with_note(module: &[u8], note: &str) -> Vec<u8> {
    with_custom(module, "note", note.as_bytes())
}

/// The module with a custom section of this name added.
pub fn with_custom(module: &[u8], name: &str, data: &[u8]) -> Vec<u8> {
    let mut content = leb128(name.len());
    content.extend(name.as_bytes());
    content.extend(data);
    with_section(module, CUSTOM_SECTION, &content)
}

/// The module with another component inside, which is instantiated together with it.
pub fn with_component(module: &[u8], component: &[u8]) -> Vec<u8> {
    let index = sections(module).filter(|(id, _)| *id == COMPONENT_SECTION).count();
    let module = with_section(module, COMPONENT_SECTION, component);
    let mut instance = vec![1, 0];
    instance.extend(leb128(index));
    instance.push(0);
    with_section(&module, INSTANCE_SECTION, &instance)
}

fn with_section(module: &[u8], id: u8, content: &[u8]) -> Vec<u8> {
    let mut module = module.to_vec();
    module.push(id);
    module.extend(leb128(content.len()));
    module.extend(content);
    module
}

/// The identifier and content of each section of a component.
fn sections(module: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut rest = &module[PREAMBLE_BYTES..];
    std::iter::from_fn(move || {
        let (&id, after) = rest.split_first()?;
        let bytes = after.iter().position(|byte| byte & 0x80 == 0)? + 1;
        let length = after[..bytes].iter().rev().fold(0, |length, byte| length << 7 | usize::from(byte & 0x7f));
        let (content, next) = after[bytes..].split_at_checked(length)?;
        rest = next;
        Some((id, content))
    })
}

fn leb128(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = u8::try_from(number & 0x7f).unwrap_or_default();
        number >>= 7;
        if number == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}
