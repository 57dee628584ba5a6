//! The command `connectors push`: checks a module as `connectors check` does, and puts it into a registry.

use super::arguments::PushArguments;
use super::check;
use super::connectors::{ConnectorsError, word};
use super::oci::{self, Artifact, Pushed, RegistryError, Version};
use super::output::{print, remark};
use super::source::{self, ModuleSource};
use crate::config::Config;

/// Runs the command. `program` begins the commands that messages name.
///
/// # Errors
/// If the module is refused or the registry does not take it.
pub(super) async fn run(arguments: &PushArguments, config: &Config, program: &str) -> Result<(), ConnectorsError> {
    let PushArguments { file, reference, force, registry } = arguments;
    let source = ModuleSource::File(file.clone());
    let arrived = source::read(&source, registry, config.compile.max_module_mb).await?;
    let report = check::run(&source, &arrived, config, program).await?;
    if report.summary.signature_unreadable {
        let file = file.display().to_string();
        let reason = format!(
            "its signature `{file}.minisig` is not one of minisign; sign it again with `minisign -S -m {}`, or remove the signature",
            word(&file)
        );
        return Err(ConnectorsError::Refused { module: file, reason });
    }
    let reference = match reference.version() {
        Some(Version::Digest(_)) => return Err(RegistryError::Digest(reference.to_string()).into()),
        Some(Version::Tag(_)) => reference.clone(),
        // A tag cannot have the sign before the build metadata of a version.
        None => reference.at(Version::Tag(report.summary.version.replace('+', "_"))),
    };
    let artifact =
        Artifact::of(arrived.module.into(), &report, arrived.signature.as_deref()).map_err(RegistryError::Json)?;
    let Pushed { reference: by_digest, is_new } = oci::push(&reference, &artifact, *force, registry).await?;
    print(&by_digest)?;
    let signed = if arrived.signature.is_some() { "with its signature" } else { "without a signature" };
    match is_new {
        true => remark(format_args!(
            "Pushed {reference} {signed}. It is added with `{program} connectors add {by_digest}`."
        )),
        false => remark(format_args!("{reference} is this module already.")),
    }
    Ok(())
}
