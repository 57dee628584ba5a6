//! The commands `backup` and `restore`: one archive with the SQLite database, the modules, their
//! versions and the configuration.
//!
//! - here: the commands' options and errors
//! - [`archive`]: the format of the archive
//! - [`mod@make`]: makes an archive
//! - [`mod@restore`]: restores one

mod archive;
mod make;
mod restore;

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use store::StoreError;
use store::vault::VaultError;
use thiserror::Error;

pub(crate) use self::make::make;
pub(crate) use self::restore::restore;

/// The configuration file that is read if no other one is named.
const DEFAULT_CONFIGURATION: &str = "gateway.toml";

/// The options of `backup`.
#[derive(Clone, Debug, Args)]
pub struct BackupArguments {
    /// The archive to write. It must not exist yet
    pub file: PathBuf,
    /// Put the master key into the archive. Everyone who can read the archive can then read all
    /// secrets
    #[arg(long)]
    pub with_master_key: bool,
}

/// The options of `restore`.
#[derive(Clone, Debug, Args)]
pub struct RestoreArguments {
    /// The archive
    #[arg(required_unless_present = "prepare_database")]
    pub file: Option<PathBuf>,
    /// Restore no archive, but prepare the database of the configuration, which was restored with
    /// the tools of its server. Run it before a gateway starts
    #[arg(long, conflicts_with = "file")]
    pub prepare_database: bool,
}

/// Why a command failed. The messages say what to do.
#[derive(Debug, Error)]
pub(crate) enum BackupError {
    /// The database is on a PostgreSQL server.
    #[error(
        "the database is on a PostgreSQL server, and has the modules and their versions too: back it up with `pg_dump`, and copy the \
         configuration file; host/docs/operating.md has the commands"
    )]
    BackupPostgres,
    /// The database is on a PostgreSQL server.
    #[error(
        "the database is on a PostgreSQL server: restore it with `pg_restore` or `psql`, and then run `connector-gateway restore \
         --prepare-database`; host/docs/operating.md has the commands"
    )]
    RestorePostgres,
    /// There is nothing to back up.
    #[error("there is no database in {}; run the command in the folder of the gateway, or name its configuration with --config", .0.display())]
    NoDatabase(PathBuf),
    /// A file exists, and would be replaced.
    #[error("{} exists; choose another name, or remove the file", .0.display())]
    Exists(PathBuf),
    /// Something is where a file of the archive belongs.
    #[error("{} exists, and a restore replaces nothing; move it to another place", .0.display())]
    Occupied(PathBuf),
    /// There is a gateway where the archive would be restored.
    #[error("{} has files of a gateway; restore into empty folders, or set `data_dir` and `modules_dir` to other folders", .0.display())]
    NotEmpty(PathBuf),
    /// A file cannot be read or written.
    #[error("{}: {error}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The archive is damaged, or no archive of this command.
    #[error("{} cannot be restored: {reason}", file.display())]
    Archive {
        /// The archive.
        file: PathBuf,
        /// The cause, which begins with a small letter.
        reason: String,
    },
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The master key cannot be read.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The result cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

impl BackupError {
    fn of_file(file: &Path) -> impl FnOnce(io::Error) -> Self {
        let file = file.to_owned();
        move |error| Self::File { file, error }
    }
}

/// The configuration file in use. `None` if there is none, so that all values are the defaults or
/// come from the environment.
fn configuration_file(named: Option<&Path>) -> Option<PathBuf> {
    let variable = || std::env::var_os("GATEWAY_CONFIG").filter(|name| !name.is_empty()).map(PathBuf::from);
    let default = || Some(PathBuf::from(DEFAULT_CONFIGURATION)).filter(|path| path.is_file());
    named.map(Path::to_owned).or_else(variable).or_else(default)
}
