//! Opening the vault, sharing it, and rotating its keys.

mod opening;
mod rotating;
mod tables;

use std::fs;
use std::path::PathBuf;

use database::testing::{Place, on_every_database};
use secrecy::ExposeSecret;
use tempfile::TempDir;

use self::tables::{Row, Tables, read, secret_context};
use super::rotation::Rotation;
use super::*;

/// More secrets than two batches of a rotation have.
const SECRETS: usize = 230;

/// A database, and the folder of a gateway that uses it.
struct Site {
    place: Place,
}

impl Site {
    async fn sqlite() -> Self {
        Self { place: Place::sqlite() }
    }

    async fn postgres() -> Self {
        Self { place: Place::postgres().await }
    }
}

/// A gateway's machine with its master key file.
struct Machine {
    folder: TempDir,
    tables: Tables,
}

impl Machine {
    /// A machine whose gateway uses the site's database.
    async fn on(site: &Site) -> Self {
        Self { folder: TempDir::new().unwrap(), tables: Tables::connect(&site.place.settings).await }
    }

    /// A machine whose gateway uses a separate database.
    async fn alone() -> Self {
        let folder = TempDir::new().unwrap();
        let tables = Tables::open(folder.path()).await;
        Self { folder, tables }
    }

    fn data_keys(&self) -> DataKeys {
        DataKeys::of(&self.tables)
    }

    fn key_file(&self) -> PathBuf {
        self.folder.path().join("master.key")
    }

    fn lines(&self) -> usize {
        fs::read_to_string(self.key_file()).unwrap().lines().count()
    }

    fn copy_file_from(&self, other: &Self) {
        fs::copy(other.key_file(), self.key_file()).unwrap();
    }

    async fn open(&self) -> Result<Vault, VaultError> {
        Vault::open(&self.key_file(), &self.tables).await
    }

    async fn vault(&self) -> Vault {
        self.open().await.unwrap()
    }

    /// Opens the vault, which must fail, and returns the message without the folder.
    async fn refusal(&self) -> String {
        let message = self.open().await.unwrap_err().to_string();
        assert!(!message.contains('\n'), "{message}");
        message.replace(&format!("{}/", self.folder.path().display()), "")
    }

    /// A rotation whose steps the test takes.
    async fn rotation(&self) -> Rotation {
        Rotation::new(self.vault().await, self.tables.rotation_notes(), Duration::ZERO).unwrap()
    }

    /// Does what [`rotation::rotate`] does, without the time that gateways need to read the new
    /// keys.
    async fn rotate(&self, end: RotationEnd) -> Option<RotationReport> {
        self.rotation().await.run(end, &mut |_| {}).await.unwrap()
    }

    /// A whole rotation.
    async fn rotate_all(&self) -> RotationReport {
        self.rotate(RotationEnd::ForgetPrevious).await.unwrap()
    }

    /// Stores [`SECRETS`] secrets of one column, and one of another.
    async fn fill(&self, vault: &Vault) {
        for number in 0..SECRETS {
            self.put(vault, number).await;
        }
        let body = vault.seal(&["body", ""], b"body").await.unwrap();
        self.tables.put_body(body).await;
    }

    /// Stores the secret of a row, which is its id.
    async fn put(&self, vault: &Vault, number: usize) -> Row {
        let id = format!("row {number}");
        let sealed = vault.seal(&secret_context(&id), id.as_bytes()).await.unwrap();
        let row = Row { id, sealed };
        self.tables.put(row.clone()).await;
        row
    }

    /// Every secret can be unsealed and belongs to its row.
    async fn assert_all_unseal(&self, vault: &Vault) {
        let rows = self.tables.rows().await;
        assert_eq!(rows.len(), SECRETS);
        for row in rows {
            assert_eq!(read(vault, &row).await.unwrap().expose_secret(), row.id.as_bytes());
        }
        let body = vault.unseal(&["body", ""], &self.tables.body().await).await.unwrap();
        assert_eq!(body.expose_secret(), b"body");
    }
}
