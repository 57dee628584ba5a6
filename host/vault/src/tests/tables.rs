//! Tables with secrets.

use std::path::Path;

use database::connection::Durability;
use database::value::{FromRow, Row as Columns, values};
use database::{Database, Settings, StoreError};
use secrecy::SecretSlice;

use crate::{Notes, Sealed, SealedColumn, SealedTables, Vault, VaultError};

/// The store has the same tables of data keys. Two more tables have secrets. In the first one, a
/// secret belongs to the id and the owner of its row. In the second one, it belongs to the owner
/// alone, and the row may have none.
static TABLES: database::Tables = database::Tables {
    sqlite: &[
        "CREATE TABLE data_keys (id TEXT NOT NULL PRIMARY KEY, created_at INTEGER NOT NULL, retired_at INTEGER) STRICT;
        CREATE UNIQUE INDEX data_keys_current ON data_keys ((1)) WHERE retired_at IS NULL;
        CREATE TABLE data_key_wraps (data_key TEXT NOT NULL REFERENCES data_keys (id) ON DELETE CASCADE,
            master_id TEXT NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (data_key, master_id)) STRICT;
        CREATE TABLE secrets (id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL,
            data_key TEXT REFERENCES data_keys (id), secret BLOB) STRICT;
        CREATE TABLE bodies (id TEXT NOT NULL PRIMARY KEY, owner TEXT,
            body_key TEXT REFERENCES data_keys (id), body BLOB) STRICT;
        CREATE TABLE notes (detail TEXT NOT NULL) STRICT",
    ],
    postgres: &["CREATE FUNCTION now_ms() RETURNS BIGINT LANGUAGE sql STABLE AS
            $$ SELECT floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint $$;
        CREATE TABLE data_keys (id TEXT NOT NULL PRIMARY KEY, created_at BIGINT NOT NULL, retired_at BIGINT);
        CREATE UNIQUE INDEX data_keys_current ON data_keys ((1)) WHERE retired_at IS NULL;
        CREATE TABLE data_key_wraps (data_key TEXT NOT NULL REFERENCES data_keys (id) ON DELETE CASCADE,
            master_id TEXT NOT NULL, bytes BYTEA NOT NULL, PRIMARY KEY (data_key, master_id));
        CREATE TABLE secrets (id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL,
            data_key TEXT REFERENCES data_keys (id), secret BYTEA);
        CREATE TABLE bodies (id TEXT NOT NULL PRIMARY KEY, owner TEXT,
            body_key TEXT REFERENCES data_keys (id), body BYTEA);
        CREATE TABLE notes (detail TEXT NOT NULL)"],
    oldest: 1,
    probe: ["UPDATE data_keys SET created_at = created_at + 1", "UPDATE data_keys SET created_at = created_at - 1"],
};

const COLUMNS: &[SealedColumn] = &[
    SealedColumn {
        table: "secrets",
        row: "id",
        data_key: "data_key",
        secret: "secret",
        context: "secret",
        bound_to: &["owner", "id"],
    },
    SealedColumn {
        table: "bodies",
        row: "id",
        data_key: "body_key",
        secret: "body",
        context: "body",
        bound_to: &["owner"],
    },
];

/// The database of a gateway.
#[derive(Clone)]
pub(super) struct Tables(Database);

impl SealedTables for Tables {
    fn database(&self) -> &Database {
        &self.0
    }

    fn sealed_columns(&self) -> &'static [SealedColumn] {
        COLUMNS
    }

    fn rotation_notes(&self) -> Notes {
        std::sync::Arc::new(|connection, detail| {
            connection.execute("INSERT INTO notes VALUES ($1)", values![detail]).map(drop)
        })
    }
}

/// A row with a secret.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) sealed: Sealed,
}

impl FromRow for Row {
    fn from_row(row: &mut Columns) -> Result<Self, StoreError> {
        Ok(Self { id: row.read()?, sealed: Sealed { key_id: row.read()?, bytes: row.read()? } })
    }
}

/// The context of the secret of a row.
pub(super) fn secret_context(id: &str) -> [&str; 3] {
    ["secret", "ann", id]
}

/// Unseals the secret of a row.
pub(super) async fn read(vault: &Vault, row: &Row) -> Result<SecretSlice<u8>, VaultError> {
    vault.unseal(&secret_context(&row.id), &row.sealed).await
}

impl Tables {
    pub(super) async fn connect(settings: &Settings) -> Self {
        Self(Database::connect(settings, &TABLES).await.unwrap())
    }

    pub(super) async fn open(folder: &Path) -> Self {
        Self(Database::open(folder, &TABLES).await.unwrap())
    }

    pub(super) async fn put(&self, row: Row) {
        let put = "INSERT INTO secrets VALUES ($1, 'ann', $2, $3)
            ON CONFLICT (id) DO UPDATE SET data_key = excluded.data_key, secret = excluded.secret";
        let writing = self.0.write(Durability::PowerLoss, move |connection| {
            connection.execute(put, values![&row.id, &row.sealed.key_id, &row.sealed.bytes])
        });
        writing.await.unwrap();
    }

    pub(super) async fn put_body(&self, body: Sealed) {
        let put = "INSERT INTO bodies VALUES ('only', NULL, $1, $2)";
        let writing =
            self.0.write(Durability::PowerLoss, move |to| to.execute(put, values![&body.key_id, &body.bytes]));
        writing.await.unwrap();
    }

    pub(super) async fn rows(&self) -> Vec<Row> {
        let rows = "SELECT id, data_key, secret FROM secrets ORDER BY id";
        self.0.read(|connection| connection.all(rows, &[])).await.unwrap()
    }

    pub(super) async fn body(&self) -> Sealed {
        let body = "SELECT id, body_key, body FROM bodies";
        self.0.read(|connection| connection.one::<Row>(body, &[])).await.unwrap().sealed
    }

    /// The details of the entries that rotations have added.
    pub(super) async fn notes(&self) -> Vec<String> {
        self.0.read(|connection| connection.all("SELECT detail FROM notes", &[])).await.unwrap()
    }

    /// Deletes all rows of these tables.
    pub(super) async fn clear(&self, tables: &'static [&str]) {
        let clearing = self.0.write(Durability::ProcessKill, |connection| {
            tables.iter().try_for_each(|table| connection.execute(&format!("DELETE FROM {table}"), &[]).map(drop))
        });
        clearing.await.unwrap();
    }
}
