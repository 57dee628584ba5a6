//! The store of a gateway: its SQLite file, or a database on the PostgreSQL server that
//! `tests/postgres.sh` starts.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::oauth::unique;
use crate::{Proxy, tables, wait_for};

/// A store that a test runs on.
pub enum Store {
    /// The SQLite file in the gateway's data directory.
    Sqlite,
    /// A PostgreSQL database that only this test uses.
    Postgres(Database),
}

impl Store {
    /// A new PostgreSQL database that has the tables of the gateway, and nothing in them.
    ///
    /// # Panics
    /// When no server runs.
    pub fn postgres() -> Self {
        // The other strategy writes a hundred tables into the server's log, one after the other.
        Self::Postgres(Database::create(&format!("template {} strategy file_copy", tables::postgres())))
    }

    /// A new PostgreSQL database without tables. The first gateway on it makes them.
    ///
    /// # Panics
    /// When no server runs.
    pub fn empty_postgres() -> Self {
        Self::Postgres(Database::create(""))
    }

    /// Another new store of the same kind.
    ///
    /// # Panics
    /// When no server runs.
    pub fn another(&self) -> Self {
        match self {
            Self::Sqlite => Self::Sqlite,
            Self::Postgres(_) => Self::postgres(),
        }
    }

    /// An empty PostgreSQL database at this URL, which stays when this is dropped.
    pub(crate) fn at(url: &str) -> Self {
        Self::Postgres(Database { url: url.to_owned(), name: None })
    }

    /// The PostgreSQL database.
    ///
    /// # Panics
    /// When this is the SQLite file.
    pub fn database(&self) -> &Database {
        match self {
            Self::Postgres(database) => database,
            Self::Sqlite => panic!("this store is a file"),
        }
    }

    /// The line of `gateway.toml` that selects this store.
    pub(crate) fn config(&self) -> String {
        match self {
            Self::Sqlite => String::new(),
            Self::Postgres(database) => format!("database_url = \"{}\"\n", database.url),
        }
    }

    /// The content of the database as text; empty for SQLite, whose file is in the data directory.
    ///
    /// # Panics
    /// When the database cannot be read.
    pub fn dump(&self) -> String {
        match self {
            Self::Sqlite => String::new(),
            Self::Postgres(database) => run(Command::new("pg_dump").arg(&database.url)),
        }
    }
}

/// A PostgreSQL database.
pub struct Database {
    url: String,
    /// Its name at the server of the script, if it is deleted when this is dropped.
    name: Option<String>,
}

impl Database {
    /// Creates a database with these options.
    fn create(options: &str) -> Self {
        let name = format!("test_{}", unique());
        let server = server();
        sql_alone(&server, &format!("create database {name} {options}"));
        let (server, _) = server.rsplit_once('/').expect("the server's address names a database");
        Self { url: format!("{server}/{name}"), name: Some(name) }
    }

    /// Its URL, with user and password.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its name at the server.
    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().expect("the database was created")
    }

    /// A proxy to the server, and the line of `gateway.toml` that selects this database through it.
    ///
    /// # Panics
    /// When the URL of the server has another form than the one of `tests/postgres.sh`.
    pub fn behind_proxy(&self) -> (Proxy, String) {
        let (_, rest) = self.url.rsplit_once('@').expect("the URL has a user");
        let (server, _) = rest.split_once('/').expect("the URL names a database");
        let proxy = Proxy::to(server);
        let url = self.url.replace(server, &proxy.address());
        (proxy, format!("database_url = \"{url}\""))
    }

    /// The rows of a query as text: a line each, with `|` between the columns.
    ///
    /// # Panics
    /// When the query fails.
    pub fn query(&self, query: &str) -> String {
        self::query(&self.url, query)
    }

    /// Runs the statements of a dump in the database, which is empty.
    ///
    /// # Panics
    /// When a statement fails.
    pub fn load(&self, dump: &str) {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(dump.as_bytes()).expect("the file can be written");
        let mut command = Command::new("psql");
        command.args(["--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--file"]).arg(file.path()).arg(&self.url);
        run(&mut command);
    }

    /// Runs a statement in the database.
    ///
    /// # Panics
    /// When the statement fails.
    pub fn sql(&self, statement: &str) {
        sql(&self.url, statement);
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some(name) = &self.name
            && !std::thread::panicking()
        {
            sql_alone(&server(), &format!("drop database {name} with (force)"));
        }
    }
}

/// The PostgreSQL server that `tests/postgres.sh` started. Stopping it affects every user, so only
/// a program that has the server for itself may do so.
pub struct Server {
    data: PathBuf,
}

impl Server {
    /// The server of the script.
    ///
    /// # Panics
    /// When the program was not started by the script.
    pub fn of_script() -> Self {
        let data =
            std::env::var_os("TEST_POSTGRES_DATA").expect("`tests/postgres.sh` names the server's data directory");
        Self { data: data.into() }
    }

    /// Stops the server: it ends every connection, and accepts none.
    ///
    /// # Panics
    /// When it does not stop.
    pub fn stop(&self) {
        self.control(&["stop", "--mode=fast"]);
    }

    /// Starts the server again.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(&self) {
        self.control(&["start", "--log=server.log"]);
    }

    /// A server with a data directory next to this one, which does not exist yet.
    pub(crate) fn beside(&self, name: &str) -> Self {
        Self { data: self.data.with_file_name(name) }
    }

    /// Its data directory.
    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// Ends the server without any care for its clients, as if its machine had lost its power. Does
    /// nothing if it does not run.
    pub(crate) fn kill(&self) {
        let mut command = self.pg_ctl(&["stop", "--mode=immediate"]);
        command.stderr(Stdio::null()).status().expect("pg_ctl is there");
    }

    /// Lets a standby take over.
    pub(crate) fn promote(&self) {
        self.control(&["promote"]);
    }

    /// Replaces the data directory by a copy of the server at this URL. It starts as a standby of
    /// that server.
    pub(crate) fn copy(&self, url: &str) {
        if self.data.exists() {
            fs::remove_dir_all(&self.data).expect("the data can be deleted");
        }
        let mut command = self.program("pg_basebackup");
        command.args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--dbname", url, "--pgdata"]);
        run(command.arg(&self.data));
    }

    fn control(&self, arguments: &[&str]) {
        run(&mut self.pg_ctl(arguments));
    }

    fn pg_ctl(&self, arguments: &[&str]) -> Command {
        let mut command = self.program("pg_ctl");
        // The log is there.
        command.args(arguments).args(["--wait", "--silent", "--pgdata"]).arg(&self.data).current_dir(&self.data);
        command
    }

    /// A program that runs as the owner of the data, because PostgreSQL refuses any other user.
    fn program(&self, name: &str) -> Command {
        let folder = self.data.parent().expect("the data directory is in a folder");
        let owner = fs::metadata(folder).expect("the server has a folder");
        let mut command = Command::new(name);
        command.current_dir(folder).uid(owner.uid()).gid(owner.gid());
        command
    }
}

/// The URL of the script's server, with user and password.
pub(crate) fn server() -> String {
    std::env::var("TEST_POSTGRES_URL").unwrap_or_else(|_| {
        panic!("this test needs a PostgreSQL server: run it by `make test`, or by `tests/postgres.sh cargo test …`")
    })
}

/// The rows of a query as text.
pub(crate) fn query(url: &str, query: &str) -> String {
    run(psql(url, query).args(["--tuples-only", "--no-align"])).trim_end().to_owned()
}

/// Runs a statement outside of a transaction.
pub(crate) fn sql(url: &str, statement: &str) {
    run(&mut psql(url, statement));
}

/// Runs a statement that needs a database without other sessions. The server waits five seconds for
/// their end, in which a busy machine may not end them.
fn sql_alone(url: &str, statement: &str) {
    wait_for("the end of other sessions", || {
        let output = psql(url, statement).stdin(Stdio::null()).output().expect("psql is there");
        let errors = String::from_utf8_lossy(&output.stderr);
        let is_used = errors.contains("is being accessed by other users");
        assert!(output.status.success() || is_used, "{errors}");
        output.status.success().then_some(())
    });
}

fn psql(url: &str, statement: &str) -> Command {
    let mut command = Command::new("psql");
    command.args(["--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--command", statement]).arg(url);
    command
}

/// Adds lines to a server's file of settings. The last one of a setting counts.
pub(crate) fn append(path: &Path, lines: &str) {
    let file = OpenOptions::new().append(true).open(path);
    file.and_then(|mut file| file.write_all(lines.as_bytes())).expect("the file can be written");
}

/// Runs a PostgreSQL program and returns its standard output.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
