//! Where a gateway keeps what it must not lose: its SQLite file, or a database on the PostgreSQL server that
//! `tests/postgres.sh` starts.

use std::process::{Command, Stdio};

use crate::oauth::unique;

/// A store to run a test on.
pub enum Store {
    /// The gateway's own file.
    Sqlite,
    /// A database of the test's own.
    Postgres(Database),
}

impl Store {
    /// An empty database on the server.
    ///
    /// # Panics
    /// When there is no server.
    pub fn postgres() -> Self {
        Self::Postgres(Database::create())
    }

    /// What a gateway's configuration has to say about it.
    pub(crate) fn config(&self) -> String {
        match self {
            Self::Sqlite => String::new(),
            Self::Postgres(database) => format!("database_url = \"{}\"\n", database.url),
        }
    }

    /// Everything in it that is not in the gateway's data directory, as text.
    ///
    /// # Panics
    /// When it cannot be read.
    pub fn dump(&self) -> String {
        match self {
            Self::Sqlite => String::new(),
            Self::Postgres(database) => run(Command::new("pg_dump").arg(&database.url)),
        }
    }
}

/// A database that is dropped with this.
pub struct Database {
    url: String,
    name: String,
}

impl Database {
    fn create() -> Self {
        let name = format!("test_{}", unique());
        let server = server();
        sql(&server, &format!("create database {name}"));
        let (server, _) = server.rsplit_once('/').expect("the server's address names a database");
        Self { url: format!("{server}/{name}"), name }
    }

    /// Its address, password included.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Runs a statement in it.
    ///
    /// # Panics
    /// When the server refuses.
    pub fn sql(&self, statement: &str) {
        sql(&self.url, statement);
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            sql(&server(), &format!("drop database {} with (force)", self.name));
        }
    }
}

fn server() -> String {
    std::env::var("TEST_POSTGRES_URL").unwrap_or_else(|_| {
        panic!("this test needs a PostgreSQL server: run it by `make test`, or by `tests/postgres.sh cargo test …`")
    })
}

/// A statement, in no transaction.
fn sql(url: &str, statement: &str) {
    let options = ["--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--command", statement];
    run(Command::new("psql").args(options).arg(url));
}

/// Runs a client program, which comes with the server.
fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
