//! The tables of the gateway, which one command of the gateway makes for all tests. On a new
//! database, the migrations take more than half of the processor time of a gateway's start.

use std::fs;
use std::sync::OnceLock;

use crate::{Home, Setup, Store};

/// The content of a SQLite file that has the tables, and nothing in them.
pub(crate) fn sqlite() -> &'static [u8] {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    FILE.get_or_init(|| {
        let home = with_tables(&Store::Sqlite);
        // The command may leave the tables in the write-ahead log.
        let database = rusqlite::Connection::open(home.database()).unwrap();
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        let blocked: bool = database.query_row(checkpoint, [], |row| row.get(0)).unwrap();
        assert!(!blocked, "a process still uses the file");
        drop(database);
        fs::read(home.database()).unwrap()
    })
}

/// The name of a PostgreSQL database that has the tables, and nothing in them. It stays until the
/// server ends.
pub(crate) fn postgres() -> &'static str {
    static STORE: OnceLock<Store> = OnceLock::new();
    let store = STORE.get_or_init(|| {
        let store = Store::empty_postgres();
        with_tables(&store);
        store
    });
    store.database().name()
}

/// Makes the tables. A command that lists what is in the database makes them first.
fn with_tables(store: &Store) -> Home {
    let home = Setup::new().on(store).prepare();
    home.run_ok(&["keys", "list"]);
    home
}
