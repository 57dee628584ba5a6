//! Files that commands read and write, and modules among them.

use std::env;
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use connector_file::Mistake;
use connector_gateway::signature_file;
use thiserror::Error;

use crate::output::remark;
use crate::shell;
use contract::{AnswerSchemas, Manifest};
use sandbox::answer_schemas::{self, SectionError};

/// A file or folder that cannot be read or written.
#[derive(Debug, Error)]
#[error("`{}`: {source}", file.display())]
pub struct FileError {
    /// The file or folder.
    pub file: PathBuf,
    /// The cause.
    pub source: io::Error,
}

/// A module that the gateway would refuse, or a core module that cannot be packed.
#[derive(Debug, Error)]
#[error("`{module}` is refused: {reason}")]
pub struct RefusedModule {
    /// The module.
    pub module: String,
    /// The cause, for the author of the connector.
    pub reason: String,
}

/// Why there is no component.
#[derive(Debug, Error)]
pub enum PackError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The core module cannot be packed.
    #[error(transparent)]
    Refused(#[from] RefusedModule),
}

/// Reads a file.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>, FileError> {
    fs::read(file).map_err(|source| FileError { file: file.to_owned(), source })
}

/// The component of a core module, or of a file `connector.toml`. The schemas in the file
/// `answer_schemas` are added to it.
pub(crate) fn component_of(file: &Path, answer_schemas: Option<&Path>) -> Result<Vec<u8>, PackError> {
    let content = read(file)?;
    let packed = if file.file_name().is_some_and(|name| name == connector_file::FILE) {
        component_of_rows(file, &String::from_utf8_lossy(&content))
            .map(|(component, manifest)| (component, Some(manifest)))
    } else {
        sandbox::pack(&content).map(|component| (component, None)).map_err(|error| error.to_string())
    };
    let refused = |reason| RefusedModule { module: file.display().to_string(), reason };
    let (mut component, manifest) = packed.map_err(refused)?;
    if let Some(answer_schemas) = answer_schemas {
        add_answer_schemas(answer_schemas, manifest.as_ref(), &mut component)?;
    }
    Ok(component)
}

/// The component of a file of rows, and its manifest. Its mistakes are written to standard error,
/// each in a line that begins with file and line, as compilers do.
fn component_of_rows(file: &Path, text: &str) -> Result<(Vec<u8>, Manifest), String> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let connector = connector_file::read(files::without_mark(text), folder).map_err(|refused| {
        let here = env::current_dir().unwrap_or_default();
        let shown = file.strip_prefix(&here).unwrap_or(file).display();
        for Mistake { line, message } in &refused.0 {
            remark(format_args!("{shown}:{line}: {message}"));
        }
        "its mistakes are above".to_owned()
    })?;
    let component = connector_file::component(&connector.manifest, &connector.additions);
    Ok((component.map_err(|error| error.to_string())?, connector.manifest))
}

/// Runs `connectors pack`: writes the component of a core module or of a file `connector.toml`.
/// The file `answer_schemas` is added to it.
pub(crate) fn pack(file: &Path, output: &Path, answer_schemas: Option<&Path>) -> Result<(), PackError> {
    Ok(write(output, &component_of(file, answer_schemas)?)?)
}

/// Adds the schemas of answers in a file to a component. The manifest of a module with code is not
/// known here. `connectors check` and the gateway check the schemas against it.
pub(crate) fn add_answer_schemas(
    file: &Path,
    manifest: Option<&Manifest>,
    component: &mut Vec<u8>,
) -> Result<(), PackError> {
    let text = read(file)?;
    let added = add_schemas(files::without_mark(&String::from_utf8_lossy(&text)), manifest, component);
    Ok(added.map_err(|error| RefusedModule { module: file.display().to_string(), reason: error.to_string() })?)
}

/// Returns `true` if a module can have these schemas of answers.
pub(crate) fn has_room_for(answer_schemas: &str) -> bool {
    add_schemas(answer_schemas, None, &mut Vec::new()).is_ok()
}

fn add_schemas(text: &str, manifest: Option<&Manifest>, component: &mut Vec<u8>) -> Result<(), SectionError> {
    let schemas = AnswerSchemas::parse(text)?;
    if let Some(manifest) = manifest {
        schemas.check(manifest)?;
    }
    answer_schemas::write(&schemas, component)
}

/// Writes a module, unless the file has it already. The signature of another module is removed.
pub(crate) fn write(output: &Path, component: &[u8]) -> Result<(), FileError> {
    write_in_place_of(fs::read(output).ok().as_deref(), output, component)
}

/// As [`write()`], for a file that had `previous` before tools wrote to it.
pub(crate) fn write_in_place_of(previous: Option<&[u8]>, output: &Path, component: &[u8]) -> Result<(), FileError> {
    // First, because a build that is cut off here is run again.
    if previous != Some(component) {
        remove_signature(output)?;
    }
    // An unchanged file is left alone, so that a gateway that watches the folder does not load it
    // again.
    if fs::read(output).is_ok_and(|present| present == component) {
        return Ok(());
    }
    let write = |file: &mut fs::File| {
        // Readable for all: a module is no secret, and the gateway may run as another user than the
        // builder.
        file.set_permissions(Permissions::from_mode(0o644))?;
        file.write_all(component)
    };
    files::write_atomically(output, write).map_err(|source| FileError { file: output.to_owned(), source })
}

/// Removes the signature of a module that another one replaces. No key fits it to the new one.
fn remove_signature(module: &Path) -> Result<(), FileError> {
    let file = signature_file(module);
    match fs::remove_file(&file) {
        Ok(()) => {
            remark(format_args!(
                "Removed `{}`, the signature of the previous module. Sign the new one with `minisign -S -m {}`.",
                file.display(),
                shell::quoted(&module.to_string_lossy())
            ));
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(FileError { file, source }),
    }
}
