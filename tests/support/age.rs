//! Keys of age, made and used by its own programs, which operators have too.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::{process, programs};

/// A key that decrypts files.
pub struct Identity {
    /// The folder with the private key.
    folder: TempDir,
    recipient: String,
}

impl Identity {
    /// Makes a key.
    ///
    /// # Panics
    /// When there is no program `age-keygen`.
    pub fn generate() -> Self {
        let folder = TempDir::new().unwrap();
        let made = process::run(program("age-keygen").arg("--output").arg(file(&folder)));
        let recipient = made.stderr.trim().strip_prefix("Public key: ").expect("a public key").to_owned();
        Self { folder, recipient }
    }

    /// The public key.
    pub fn recipient(&self) -> String {
        self.recipient.clone()
    }

    /// The content of an encrypted file, which is text.
    ///
    /// # Panics
    /// When the file was not encrypted for this key.
    #[track_caller]
    pub fn decrypt(&self, path: &Path) -> Vec<u8> {
        let decrypted =
            process::run(program("age").arg("--decrypt").arg("--identity").arg(file(&self.folder)).arg(path));
        assert_eq!(decrypted.code, Some(0), "{}", decrypted.stderr);
        decrypted.stdout.into_bytes()
    }
}

fn file(folder: &TempDir) -> PathBuf {
    folder.path().join("key.txt")
}

fn program(name: &str) -> Command {
    programs::debian("core", name)
}
