//! The declarations of a guest that describes itself, in addition to its manifest.

use std::fmt::{self, Debug, Write};

use contract::Additions;

use super::guest::Guest;

/// Maximum size of all declarations of a guest, as the text of their fields. The rules of the
/// contract, which are checked when all are there, allow half of it.
const MAX_BYTES: usize = 64 << 20;

/// The declarations of a guest so far.
pub(super) struct Declarations {
    pub(super) additions: Additions,
    /// The size that further ones may have.
    left: usize,
}

impl Default for Declarations {
    fn default() -> Self {
        Self { additions: Additions::default(), left: MAX_BYTES }
    }
}

impl Guest {
    /// The declarations so far, for one more by a function of the contract.
    ///
    /// # Errors
    /// A trap if the guest does not describe itself, or if its declarations are too large.
    pub(super) fn declarations(
        &mut self,
        function: &str,
        declaration: &impl Debug,
    ) -> wasmtime::Result<&mut Additions> {
        let Some(declarations) = self.declarations.as_deref_mut() else {
            wasmtime::bail!(
                "it called `{function}` in an operation; only `describe` declares, before it returns the manifest"
            );
        };
        let mut size = Size(declarations.left);
        wasmtime::ensure!(
            write!(size, "{declaration:?}").is_ok(),
            "it called `{function}`, and all that it has declared is larger than {MAX_BYTES} bytes"
        );
        declarations.left = size.0;
        Ok(&mut declarations.additions)
    }
}

/// Subtracts the size of what is written from a size, and fails if that is used up.
struct Size(usize);

impl Write for Size {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.checked_sub(text.len()).ok_or(fmt::Error)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_declarations_is_that_of_their_texts_and_fields() {
        let declared = |left| write!(Size(left), "{:?}", [Some("a".repeat(1000)), None]);
        assert!(declared(1100).is_ok());
        assert!(declared(1000).is_err());
    }
}
