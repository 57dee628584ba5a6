//! `connectors pack`: the component of a core module.

use thiserror::Error;
use wasmparser::{Encoding, Parser, Payload};
use wit_component::ComponentEncoder;

/// The beginning of the names of the sections with the contract, which the bindings write.
const CONTRACT_SECTION: &str = "component-type";

/// The beginning of the names of WASI's interfaces for core modules. The gateway has no adapter
/// that turns them into imports of a component.
const CORE_WASI: &str = "wasi_";

/// Why a file cannot be made a component. Each message is one line that says what to do.
#[derive(Debug, Error)]
pub enum PackError {
    /// It is not WebAssembly.
    #[error("it is not a WebAssembly module")]
    NotWasm,
    /// It is a component.
    #[error(
        "it is a component already, so it needs no `connectors pack`; check it with `connector-gateway connectors check`"
    )]
    Component,
    /// It was built without the bindings.
    #[error(
        "it has no section `{CONTRACT_SECTION}:…` with the contract that it was built for; build it with an SDK, or link the object file \
         that the generator of its bindings writes"
    )]
    NoContract,
    /// It uses WASI.
    #[error(
        "it imports `{module}.{name}` of WASI, and a connector has no files, standard streams, clocks or arguments; leave out what needs \
         them, such as `printf` in C, and build a library instead of a command"
    )]
    Wasi {
        /// The module of the import.
        module: String,
        /// The function.
        name: String,
    },
    /// It is damaged, or differs from the contract that its section has.
    #[error("it cannot be made a component: {0}")]
    Invalid(String),
}

/// Makes a component from a core module that was built with the bindings of the contract.
///
/// # Errors
/// See [`PackError`].
pub fn pack(core: &[u8]) -> Result<Vec<u8>, PackError> {
    check(core)?;
    let encoder = ComponentEncoder::default().validate(true).module(core);
    encoder.and_then(|mut encoder| encoder.encode()).map_err(|error| invalid(&format!("{error:#}")))
}

/// A message of a library may have several lines.
fn invalid(message: &str) -> PackError {
    PackError::Invalid(message.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Finds the mistakes whose reason the encoder does not name.
fn check(core: &[u8]) -> Result<(), PackError> {
    if !core.starts_with(b"\0asm") {
        return Err(PackError::NotWasm);
    }
    let mut has_contract = false;
    for payload in Parser::new(0).parse_all(core) {
        match payload.map_err(|error| invalid(&error.to_string()))? {
            Payload::Version { encoding: Encoding::Component, .. } => return Err(PackError::Component),
            Payload::ImportSection(imports) => {
                let mut imports = imports.into_imports().flatten();
                if let Some(import) = imports.find(|import| import.module.starts_with(CORE_WASI)) {
                    return Err(PackError::Wasi { module: import.module.to_owned(), name: import.name.to_owned() });
                }
            }
            Payload::CustomSection(section) => has_contract |= section.name().starts_with(CONTRACT_SECTION),
            _ => {}
        }
    }
    if has_contract { Ok(()) } else { Err(PackError::NoContract) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A core module with one more section.
    fn with_section(id: u8, content: &[u8]) -> Vec<u8> {
        let length = u8::try_from(content.len()).unwrap();
        [b"\0asm\x01\0\0\0", [id, length].as_slice(), content].concat()
    }

    #[test]
    fn files_that_are_no_modules_with_the_contract_are_refused_with_what_they_are() {
        let import = b"\x01\x16wasi_snapshot_preview1\x08fd_write\0\0";
        let broken = with_section(0, b"\x0ecomponent-type\xff");
        for (file, words) in [
            (b"int main() {}".to_vec(), "not a WebAssembly module"),
            (Vec::new(), "not a WebAssembly module"),
            (b"\0asm\x0d\0\x01\0".to_vec(), "a component already"),
            (b"\0asm\x01\0\0\0".to_vec(), "no section `component-type:…`"),
            (with_section(2, import), "`wasi_snapshot_preview1.fd_write` of WASI"),
            (broken, "cannot be made a component"),
            (b"\0asm\x01\0\0\0\x01".to_vec(), "cannot be made a component"),
        ] {
            let message = pack(&file).unwrap_err().to_string();
            assert!(message.contains(words) && !message.contains('\n'), "{words}: {message}");
        }
    }
}
