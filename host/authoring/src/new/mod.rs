//! `connectors new`: the project of a new connector, from a template or from an OpenAPI document.
//!
//! - here: the command, and the files that it writes
//! - [`template`]: the files of each language, and their placeholders
//! - [`workspace`]: projects that belong to a Cargo workspace
//!
//! The crate `openapi_table` makes the table of an OpenAPI document.

mod template;
mod workspace;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use openapi_table::OpenapiError;
use thiserror::Error;

pub(crate) use self::template::AuthKind;

use self::template::Template;
use crate::language::Language;
use crate::module_file;
use crate::node;
use crate::output::remark;
use crate::project::ANSWER_SCHEMAS;
use crate::shell;

/// The options of `connectors new`.
#[derive(Clone, Debug, Args)]
pub struct NewArguments {
    /// The new connector's identifier
    pub id: String,
    /// The folder of the project, which is made [default: the identifier, in the working directory]
    #[arg(long)]
    pub folder: Option<PathBuf>,
    /// The language; with `none`, the file `connector.toml`, which needs no toolchain
    #[arg(long, value_enum, default_value_t = Language::Rust)]
    pub lang: Language,
    /// How users authenticate at the service [default: none, or what the OpenAPI document says]
    #[arg(long, value_enum)]
    pub auth: Option<AuthKind>,
    /// The folder of the SDK [default: the one that came with the gateway, or else the published one]
    #[arg(long, value_name = "FOLDER")]
    pub sdk: Option<PathBuf>,
    /// Make the table from this OpenAPI document (3.0, 3.1 or 2.0, as JSON or YAML)
    #[arg(long, value_name = "FILE")]
    pub from_openapi: Option<PathBuf>,
    /// The document's operations to take, by their operationId or as "GET /path" [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "from_openapi")]
    pub operations: Vec<String>,
}

/// Words that cannot name a crate, because Rust or its libraries have them.
const RESERVED: [&str; 42] = [
    "abstract", "alloc", "as", "async", "await", "become", "box", "break", "const", "continue", "core", "crate", "do",
    "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "pub", "return", "self", "static", "std", "struct", "super", "test", "trait",
    "type",
];

/// Why the project was not created. Each message is one line that says what to do.
#[derive(Debug, Error)]
pub enum NewError {
    /// The name is not an identifier.
    #[error(
        "`{0}` is not an identifier; use 1 to 64 of a-z, 0-9 and _, beginning with a letter, without `__` and without `_` at the end"
    )]
    Identifier(String),
    /// The name cannot be the name of a crate.
    #[error("`{0}` is a word of Rust, so it cannot name a crate; use another name, for example `{0}_service`")]
    Reserved(String),
    /// The folder has files.
    #[error("`{}` already has files; name another folder with --folder", .0.display())]
    NotEmpty(PathBuf),
    /// The folder given with `--sdk` is not the SDK.
    #[error("`{}` is not the SDK of this language: its {manifest} has another name or is missing", folder.display())]
    NotSdk {
        /// The folder.
        folder: PathBuf,
        /// The file with the name of the SDK.
        manifest: &'static str,
    },
    /// A project without a language has no SDK.
    #[error("a project without a language takes no SDK; leave out --sdk")]
    NoSdk,
    /// Tables from OpenAPI documents are in Rust.
    #[error("--from-openapi makes tables in Rust only; leave out --lang")]
    OnlyRust,
    /// The document cannot be converted.
    #[error("`{}`: {source}", path.display())]
    Openapi {
        /// The document.
        path: PathBuf,
        /// The cause.
        source: OpenapiError,
    },
    /// A file or folder cannot be read or made.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// A project that was written.
#[derive(Debug)]
struct Created {
    /// Its folder.
    folder: PathBuf,
    /// The folder of the SDK in the source of the gateway, if the project takes the published SDK.
    published_sdk: Option<&'static str>,
    /// The parts of the OpenAPI document that the project does not have, a line each with the
    /// reason.
    left_out: Vec<String>,
    /// The assumptions of the project where the OpenAPI document says nothing, a line each.
    assumed: Vec<String>,
}

/// Runs the command. `program` begins the commands that messages name.
///
/// # Errors
/// See [`NewError`].
pub(crate) fn run(arguments: &NewArguments, program: &str) -> Result<(), NewError> {
    let created = write(arguments)?;
    created.assumed.iter().for_each(|line| remark(format_args!("assumed: {line}")));
    created.left_out.iter().for_each(|line| remark(format_args!("left out: {line}")));
    let folder = created.folder.to_string_lossy();
    remark(format_args!(
        "Created `{folder}`. Build its module with `{program} connectors build {}`.",
        shell::quoted(&folder)
    ));
    if let Some(missing) = (arguments.lang == Language::Javascript).then(node::missing).flatten() {
        remark(missing);
    }
    if let Some(sdk) = created.published_sdk {
        remark(format_args!(
            "It takes the published SDK. To take the SDK of the gateway's source, remove the folder and create it again with \
             `--sdk SOURCE/{sdk}`, where SOURCE is the folder of the source."
        ));
    }
    Ok(())
}

/// Writes the project.
///
/// # Errors
/// See [`NewError`]. Existing files are never changed.
fn write(arguments: &NewArguments) -> Result<Created, NewError> {
    let identifier = arguments.id.as_str();
    if contract_rules::name::identifier(identifier).is_err() {
        return Err(NewError::Identifier(identifier.to_owned()));
    }
    if arguments.lang == Language::Rust && RESERVED.contains(&identifier) {
        return Err(NewError::Reserved(identifier.to_owned()));
    }
    let folder = arguments.folder.clone().unwrap_or_else(|| PathBuf::from(identifier));
    let template = Template::for_language(arguments.lang);
    let sdk = match (&arguments.sdk, &template.sdk) {
        (Some(folder), Some(of)) => Some(workspace::sdk(folder, of)?),
        (None, Some(of)) => workspace::shipped_sdk(of),
        (Some(_), None) => return Err(NewError::NoSdk),
        (None, None) => None,
    };
    let mut title = template::title(identifier);
    let mut files = template.files(identifier, &title, arguments.auth.unwrap_or_default(), sdk.as_deref());
    let (mut left_out, mut assumed) = (Vec::new(), Vec::new());
    if let Some(path) = &arguments.from_openapi {
        let openapi = template.openapi.ok_or(NewError::OnlyRust)?;
        let text = fs::read_to_string(path).map_err(failed(path))?;
        let failed = |source| NewError::Openapi { path: path.clone(), source };
        let auth = arguments.auth.map(AuthKind::table_auth);
        let (text, fits) = (files::without_mark(&text), module_file::has_room_for);
        let converted = openapi_table::convert(text, identifier, &arguments.operations, auth, fits).map_err(failed)?;
        files = template.files_with_table(openapi, identifier, &converted);
        files.extend(converted.answer_schemas.map(|text| (ANSWER_SCHEMAS, text)));
        title = converted.title;
        (left_out, assumed) = (converted.left_out, converted.assumed);
    }
    create(&folder).map_err(failed(&folder))?;
    let is_empty = fs::read_dir(&folder).map_err(failed(&folder))?.next().is_none();
    if !is_empty {
        return Err(NewError::NotEmpty(folder));
    }
    let is_member = workspace::complete(&mut files, &folder, identifier, &title, sdk.as_deref());
    for (name, content) in files {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            create(parent).map_err(failed(parent))?;
        }
        fs::write(&path, content).map_err(failed(&path))?;
    }
    let published = template.sdk.as_ref().filter(|_| sdk.is_none() && !is_member);
    Ok(Created { folder, published_sdk: published.map(|sdk| sdk.folder), left_out, assumed })
}

fn create(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> NewError {
    let path = path.to_owned();
    move |source| NewError::Io { path, source }
}

#[cfg(test)]
mod tests;
