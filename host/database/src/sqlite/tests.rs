//! Opening the file, writes that share a transaction, errors, and crashes.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use super::error::of_sqlite;
use crate::connection::Durability;
use crate::testing::{NOTES, add_note, count_notes};
use crate::value::values;
use crate::{Database, FILE, StoreError};

async fn open(folder: &TempDir) -> Result<Database, StoreError> {
    Database::open(folder.path(), &NOTES).await
}

async fn refusal(folder: &TempDir) -> String {
    let message = open(folder).await.unwrap_err().to_string();
    assert!(!message.contains('\n'), "{message}");
    message.replace(&format!("{}/", folder.path().display()), "")
}

#[tokio::test]
async fn a_database_that_was_removed_is_noticed_until_it_is_back() {
    let folder = TempDir::new().unwrap();
    let database = Database::open(folder.path(), &NOTES).await.unwrap();
    let (file, away) = (folder.path().join(FILE), folder.path().join("away"));
    fs::rename(&file, &away).unwrap();
    let error = database.check().await.unwrap_err();
    assert!(error.to_string().ends_with("is gone; put it back, or restart the gateway to begin with an empty one"));
    assert!(!file.exists(), "no empty database took its place");
    fs::rename(&away, &file).unwrap();
    database.check().await.unwrap();
}

#[tokio::test]
async fn other_users_can_read_none_of_the_files() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("deep/data");
    let database = Database::open(&data, &NOTES).await.unwrap();
    add_note(&database, 1).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    let files: Vec<_> = fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() > 1, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[tokio::test]
async fn many_processes_may_open_a_new_file_at_once() {
    let folder = TempDir::new().unwrap();
    let opened: Vec<_> = (0..8)
        .map(|_| {
            let data = folder.path().to_owned();
            tokio::spawn(async move { Database::open(&data, &NOTES).await })
        })
        .collect();
    for (number, database) in (0..).zip(opened) {
        add_note(&database.await.unwrap().unwrap(), number).await.unwrap();
    }
    assert_eq!(count_notes(&open(&folder).await.unwrap()).await, 8);
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused() {
    let folder = TempDir::new().unwrap();
    drop(open(&folder).await.unwrap());
    Connection::open(folder.path().join(FILE)).unwrap().pragma_update(None, "user_version", 1000).unwrap();
    let message = refusal(&folder).await;
    let expected =
        "the database gateway.db was written by a newer version of the gateway (tables 1000, this version supports ";
    assert!(message.starts_with(expected), "{message}");
    assert!(message.ends_with("start that version, or restore the database from a backup"), "{message}");
}

#[tokio::test]
async fn the_database_of_another_program_is_refused() {
    let folder = TempDir::new().unwrap();
    Connection::open(folder.path().join(FILE)).unwrap().execute_batch("CREATE TABLE songs (name TEXT)").unwrap();
    assert_eq!(refusal(&folder).await, "gateway.db is the database of another program; set another `data_dir`");
}

#[tokio::test]
async fn a_damaged_file_is_refused() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join(FILE), "no database at all. ".repeat(1000)).unwrap();
    assert_eq!(
        refusal(&folder).await,
        "the database gateway.db is damaged (file is not a database); restore it from a backup"
    );
}

#[tokio::test]
async fn a_path_that_cannot_be_written_is_refused() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join(FILE)).unwrap();
    let message = refusal(&folder).await;
    assert!(message.starts_with("cannot write the database gateway.db: Is a directory"), "{message}");
    let below_a_file = folder.path().join("file");
    fs::write(&below_a_file, "").unwrap();
    let message = Database::open(&below_a_file.join("data"), &NOTES).await.unwrap_err().to_string();
    assert!(message.starts_with("cannot create the data directory "), "{message}");
}

#[tokio::test]
async fn a_lock_that_is_not_released_is_reported() {
    let folder = TempDir::new().unwrap();
    drop(open(&folder).await.unwrap());
    let path = folder.path().join(FILE);
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let other = Connection::open(&path).unwrap();
    other.busy_timeout(Duration::ZERO).unwrap();
    let error = other.execute_batch("BEGIN IMMEDIATE").unwrap_err();
    let message = of_sqlite(Path::new("gateway.db"), error).to_string();
    assert_eq!(message, "the database gateway.db is locked by another process; end that process, or try again");
}

#[tokio::test]
async fn a_cancelled_call_leaves_the_database_usable() {
    let folder = TempDir::new().unwrap();
    let database = open(&folder).await.unwrap();
    for number in 0..20 {
        let database = database.clone();
        let writing = tokio::spawn(async move { add_note(&database, number).await });
        tokio::task::yield_now().await;
        writing.abort();
    }
    add_note(&database, 99).await.unwrap();
    database.check().await.unwrap();
}

/// Adds a row, together with writes that come at the same time. Returns the number of rows that are
/// committed when the write runs, as another connection sees them: it is the same for all writes of
/// one transaction, and for no others. One that fails has added its row before.
async fn add_together(database: Database, path: PathBuf, number: u32, fails: bool) -> Result<i64, StoreError> {
    let insert = "INSERT INTO notes VALUES ($1, $2)";
    let writing = database.write_together(Durability::PowerLoss, move |to| {
        let other = Connection::open(&path).unwrap();
        let committed: i64 = other.query_row("SELECT count(*) FROM notes", [], |row| row.get(0)).unwrap();
        to.execute(insert, values![format!("note {number}"), number])?;
        if fails { Err(StoreError::Duplicate) } else { Ok(committed) }
    });
    writing.await
}

// The clock of these tests stands still while the database works, so that it does not matter how
// long that takes.

#[tokio::test(start_paused = true)]
async fn writes_that_come_soon_after_each_other_share_transactions_and_one_that_fails_fails_alone() {
    const FAILS: u32 = 5;
    let folder = TempDir::new().unwrap();
    let database = open(&folder).await.unwrap();
    let mut writing = Vec::new();
    for number in 0..10 {
        let adding = add_together(database.clone(), folder.path().join(FILE), number, number == FAILS);
        writing.push(tokio::spawn(adding));
        // Without company, this one would be committed before the next one comes.
        sleep(Duration::from_millis(1)).await;
    }
    let mut transactions = BTreeSet::new();
    for (number, write) in (0..).zip(writing) {
        match write.await.unwrap() {
            Ok(committed) => {
                assert_ne!(number, FAILS);
                transactions.insert(committed);
            }
            Err(error) => assert!(number == FAILS && matches!(error, StoreError::Duplicate), "{number}: {error}"),
        }
    }
    assert!(transactions.len() <= 5, "{transactions:?}");
    assert_eq!(count_notes(&database).await, 9, "the others are stored");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_comes_alone_waits_for_no_others() {
    let folder = TempDir::new().unwrap();
    let database = open(&folder).await.unwrap();
    let add = async |number: u32| {
        let begun = Instant::now();
        add_together(database.clone(), folder.path().join(FILE), number, false).await.unwrap();
        begun.elapsed()
    };
    assert_eq!(add(1).await, Duration::ZERO);
    assert!(add(2).await > Duration::ZERO, "another one came a moment ago, so more may follow");
    sleep(Duration::from_secs(1)).await;
    assert_eq!(add(3).await, Duration::ZERO);
    assert_eq!(count_notes(&database).await, 3);
}

/// The test below runs this one as a separate process.
#[tokio::test]
#[ignore = "writes until it is killed"]
async fn writes_until_it_is_killed() {
    let Ok(folder) = std::env::var("STORE_TEST_FOLDER") else { return };
    let database = Database::open(Path::new(&folder), &NOTES).await.unwrap();
    for number in 0.. {
        add_note(&database, number).await.unwrap();
        println!("wrote {number}");
    }
}

#[tokio::test]
async fn committed_writes_survive_a_kill() {
    let folder = TempDir::new().unwrap();
    for round in 0..3_usize {
        let data = folder.path().join(round.to_string());
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "sqlite::tests::writes_until_it_is_killed", "--ignored", "--nocapture"])
            .env("STORE_TEST_FOLDER", &data)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        // The harness may print the name of the test on the same line.
        let enough = 20 + 7 * round;
        let mut written = lines.by_ref().filter(|line| line.contains("wrote ")).take(enough).count();
        assert_eq!(written, enough);
        child.kill().unwrap();
        child.wait().unwrap();
        written += lines.filter(|line| line.contains("wrote ")).count();
        let stored = count_notes(&Database::open(&data, &NOTES).await.unwrap()).await;
        assert!((written..=written + 1).contains(&stored), "{written} were reported, {stored} are there");
    }
}
