//! The command `connectors new`: a crate to begin with, among the gateway's connectors.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Where connectors live in the gateway's source tree.
const FOLDER: &str = "connectors";

/// The files of a crate, each with its content before the identifier is put in.
const FILES: [(&str, &str); 2] =
    [("Cargo.toml", include_str!("new/Cargo.toml.in")), ("src/lib.rs", include_str!("new/lib.rs.in"))];

/// Why there is no new connector, in one line that says what to do.
#[derive(Debug, Error)]
pub enum NewError {
    /// The name cannot stand in a path.
    #[error("`{0}` is no identifier: take 1 to 64 of a-z, 0-9 and _, beginning with a letter")]
    Identifier(String),
    /// The working directory is not the source tree.
    #[error("there is no `connectors/sdk` here; run this in the gateway's source tree")]
    NotHere,
    /// Something of that name is there already, or cannot be made.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Writes the crate `connectors/{identifier}` below `root`, and gives its folder back.
///
/// # Errors
/// See [`NewError`]; what is there already is left as it is.
pub fn write(root: &Path, identifier: &str) -> Result<PathBuf, NewError> {
    if contract::name::identifier(identifier).is_err() {
        return Err(NewError::Identifier(identifier.to_owned()));
    }
    let connectors = root.join(FOLDER);
    if !connectors.join("sdk").is_dir() {
        return Err(NewError::NotHere);
    }
    let folder = connectors.join(identifier);
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| NewError::Io { path, source }
    };
    fs::create_dir(&folder).map_err(failed(&folder))?;
    let sources = folder.join("src");
    fs::create_dir(&sources).map_err(failed(&sources))?;
    for (name, content) in FILES {
        let path = folder.join(name);
        fs::write(&path, content.replace("{identifier}", identifier)).map_err(failed(&path))?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connector_is_never_written_over_another() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("connectors/sdk")).unwrap();
        let folder = write(root.path(), "dictionary").unwrap();
        let table = fs::read_to_string(folder.join("src/lib.rs")).unwrap();
        assert!(table.contains("connector dictionary \"Dictionary\""), "{table}");
        assert!(matches!(write(root.path(), "dictionary"), Err(NewError::Io { .. })));
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_refused() {
        let root = tempfile::tempdir().unwrap();
        for name in ["../x", "", "Upper", "a/b"] {
            assert!(matches!(write(root.path(), name), Err(NewError::Identifier(_))), "{name}");
        }
        assert!(matches!(write(root.path(), "fine"), Err(NewError::NotHere)));
    }
}
