//! `connectors push`: checks a module as `connectors check` does, and puts it into a registry.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use connector_gateway::{Config, key_id_of_signature, signature_file, signature_fits};
use thiserror::Error;

use crate::check::{self, CheckError};
use crate::module_file::RefusedModule;
use crate::module_source::{self, ModuleSource, SourceError};
use crate::oci::{self, Artifact, ModuleReference, Pushed, RegistryError, Version};
use crate::options::RegistryArguments;
use crate::output::{print, remark};
use crate::shell;

/// Maximum length of a file with a public key.
const MAX_KEY_BYTES: u64 = 4 << 10;

/// The options of `connectors push`.
#[derive(Clone, Debug, Args)]
pub struct PushArguments {
    /// The module, a WebAssembly component
    pub file: PathBuf,
    /// The name that the module gets, such as oci://registry.example.com/acme/words:1.0.0. Without
    /// a version, it is the module's
    pub reference: ModuleReference,
    /// The file with the public key of the signature [default: a file *.pub in the module's folder]
    #[arg(long, value_name = "FILE")]
    pub public_key: Option<PathBuf>,
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
    /// The signature is not one of the module.
    #[error(transparent)]
    Refused(#[from] RefusedModule),
    /// The registry does not take the module.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The result cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// Checks that a signature is one of the module, with the key that the author names, a key in the
/// folder of the module, or the key of a publisher in the configuration.
///
/// # Errors
/// A sentence without a full stop that says what to do.
fn verify(
    file: &Path,
    public_key: Option<&Path>,
    module: &[u8],
    signature: &str,
    config: &Config,
) -> Result<(), String> {
    let sign = format!(
        "sign it again with `minisign -S -m {}`, or remove the signature",
        shell::quoted(&file.to_string_lossy())
    );
    let signature_file = signature_file(file);
    let place = signature_file.display();
    let Some(key_id) = key_id_of_signature(signature) else {
        return Err(format!("its signature `{place}` is not a minisign signature; {sign}"));
    };
    let keys = match public_key {
        Some(path) => vec![read_key(path).map_err(|error| format!("`{}` cannot be read: {error}", path.display()))?],
        None => keys_next_to(file),
    };
    let publishers = config.trust.publishers.values().filter(|publisher| publisher.key_id == key_id);
    let verdicts = keys.iter().filter_map(|key| signature_fits(key, module, signature));
    // The check of the module has verified the signature with the keys of publishers.
    match verdicts.chain(publishers.map(|_| true)).reduce(|one, other| one || other) {
        Some(true) => Ok(()),
        Some(false) => Err(format!("its signature `{place}` is not one of this module; {sign}")),
        None => Err(format!(
            "its signature `{place}` cannot be verified: it is of the key {key_id}, and no file `*.pub` in the module's folder has \
             this key; name the file with --public-key, or remove the signature"
        )),
    }
}

/// The texts of the files `*.pub` in the folder of a module.
fn keys_next_to(module: &Path) -> Vec<String> {
    let folder = module.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let keys = entries.filter(|path| path.extension().is_some_and(|extension| extension == "pub"));
    keys.filter_map(|path| read_key(&path).ok()).collect()
}

fn read_key(path: &Path) -> io::Result<String> {
    let text = files::read_regular(path, MAX_KEY_BYTES)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Runs the command. `program` begins the commands that messages name.
///
/// # Errors
/// See [`PushError`].
pub(crate) async fn run(arguments: &PushArguments, config: &Config, program: &str) -> Result<(), PushError> {
    let PushArguments { file, reference, public_key, force, registry } = arguments;
    let source = ModuleSource::File(file.clone());
    let fetched = module_source::read(&source, registry, config.compile.max_module_mb).await?;
    let report = check::check(&source, &fetched, config, program).await?;
    if let Some(signature) = &fetched.signature {
        let verified = verify(file, public_key.as_deref(), &fetched.module, signature, config);
        verified.map_err(|reason| RefusedModule { module: file.display().to_string(), reason })?;
    }
    let reference = match reference.version() {
        Some(Version::Digest(_)) => return Err(RegistryError::Digest(reference.to_string()).into()),
        Some(Version::Tag(_)) => reference.clone(),
        // A tag cannot have the sign `+`, which begins the build metadata of a version.
        None => reference.at_version(Version::Tag(report.summary.version.replace('+', "_"))),
    };
    let kb = fetched.module.len().div_ceil(1 << 10);
    let artifact = Artifact::new(fetched.module.into(), &report, fetched.signature.as_deref());
    let artifact = artifact.map_err(RegistryError::Json)?;
    remark(format_args!("Checked. Sending {kb} KiB to {reference} …"));
    let Pushed { reference: by_digest, is_new } = oci::push(&reference, &artifact, *force, registry).await?;
    print(&by_digest)?;
    let signed = if fetched.signature.is_some() { "with its signature" } else { "without a signature" };
    match is_new {
        true => remark(format_args!(
            "Pushed {reference} {signed}. It is added with `{program} connectors add {by_digest}{}`.",
            registry.options()
        )),
        false => remark(format_args!("{reference} is already this module.")),
    }
    Ok(())
}
