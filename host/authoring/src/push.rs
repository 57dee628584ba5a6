//! `connectors push`: checks a module as `connectors check` does, and puts it into a registry.

use std::io;
use std::path::PathBuf;

use clap::Args;
use connector_gateway::Config;
use thiserror::Error;

use crate::check::{self, CheckError};
use crate::module_file::RefusedModule;
use crate::module_source::{self, ModuleSource, SourceError};
use crate::oci::{self, Artifact, ModuleReference, Pushed, RegistryError, Version};
use crate::options::RegistryArguments;
use crate::output::{print, remark};
use crate::shell;

/// The options of `connectors push`.
#[derive(Clone, Debug, Args)]
pub struct PushArguments {
    /// The module, a WebAssembly component
    pub file: PathBuf,
    /// The name that the module gets, such as oci://registry.example.com/acme/words:1.0.0. Without
    /// a version, it is the module's
    pub reference: ModuleReference,
    /// Replace another module that has this version
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub registry: RegistryArguments,
}

/// Why a module was not pushed.
#[derive(Debug, Error)]
pub enum PushError {
    /// The module was not read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The module was not checked, or is refused.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The signature of the module cannot be read.
    #[error(transparent)]
    Refused(#[from] RefusedModule),
    /// The registry does not take the module.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The result cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// Runs the command. `program` begins the commands that messages name.
///
/// # Errors
/// See [`PushError`].
pub(crate) async fn run(arguments: &PushArguments, config: &Config, program: &str) -> Result<(), PushError> {
    let PushArguments { file, reference, force, registry } = arguments;
    let source = ModuleSource::File(file.clone());
    let fetched = module_source::read(&source, registry, config.compile.max_module_mb).await?;
    let report = check::check(&source, &fetched, config, program).await?;
    if report.summary.signature_unreadable {
        let file = file.display().to_string();
        let reason = format!(
            "its signature `{file}.minisig` is not a minisign signature; sign it again with `minisign -S -m {}`, or remove the signature",
            shell::quoted(&file)
        );
        return Err(RefusedModule { module: file, reason }.into());
    }
    let reference = match reference.version() {
        Some(Version::Digest(_)) => return Err(RegistryError::Digest(reference.to_string()).into()),
        Some(Version::Tag(_)) => reference.clone(),
        // A tag cannot have the sign `+`, which begins the build metadata of a version.
        None => reference.at_version(Version::Tag(report.summary.version.replace('+', "_"))),
    };
    let artifact = Artifact::new(fetched.module.into(), &report, fetched.signature.as_deref());
    let artifact = artifact.map_err(RegistryError::Json)?;
    let Pushed { reference: by_digest, is_new } = oci::push(&reference, &artifact, *force, registry).await?;
    print(&by_digest)?;
    let signed = if fetched.signature.is_some() { "with its signature" } else { "without a signature" };
    match is_new {
        true => remark(format_args!(
            "Pushed {reference} {signed}. It is added with `{program} connectors add {by_digest}`."
        )),
        false => remark(format_args!("{reference} is already this module.")),
    }
    Ok(())
}
