//! `connectors build`: builds a project, and writes its module with the texts about its origin.

use std::fs;
use std::io;
use std::path::Path;

use thiserror::Error;

use crate::module_file::{self, FileError, PackError};
use crate::output::print;
use crate::project::{Project, ProjectError};
use crate::provenance;

/// Why a project was not built.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The folder has no project, or a tool failed.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// The module cannot be packed, read or written.
    #[error(transparent)]
    Module(#[from] PackError),
    /// The result cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

impl From<FileError> for BuildError {
    fn from(error: FileError) -> Self {
        Self::Module(error.into())
    }
}

/// Runs the command. Without `output`, the module is written to the project's folder.
///
/// # Errors
/// See [`BuildError`].
pub(crate) fn run(folder: &Path, output: Option<&Path>) -> Result<(), BuildError> {
    let project = Project::find(folder)?;
    let output = output.map_or_else(|| project.module(), Path::to_owned);
    write_module(&project, &output)?;
    Ok(print(output.display())?)
}

/// Builds a project, and writes its module.
///
/// # Errors
/// See [`BuildError`].
pub(crate) fn write_module(project: &Project, output: &Path) -> Result<(), BuildError> {
    let previous = fs::read(output).ok();
    let mut component = component(project, output)?;
    let added = provenance::of_project(project).write(&mut component);
    added.map_err(|source| FileError { file: output.to_owned(), source })?;
    Ok(module_file::write_in_place_of(previous.as_deref(), output, &component)?)
}

/// Builds a project and returns the component. The tools of some languages write it to `output`.
///
/// # Errors
/// See [`BuildError`].
pub(crate) fn component(project: &Project, output: &Path) -> Result<Vec<u8>, BuildError> {
    let answer_schemas = project.answer_schemas();
    if let Some(file) = project.build(output)? {
        return Ok(module_file::component_of(&file, answer_schemas.as_deref())?);
    }
    let mut component = module_file::read(output)?;
    if let Some(file) = answer_schemas {
        module_file::add_answer_schemas(&file, None, &mut component)?;
    }
    Ok(component)
}
