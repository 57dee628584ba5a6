//! An author who signs modules with `minisign`, the program of Debian's package.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::process::{Finished, run};
use crate::programs;

/// An author with a key.
pub struct Signer {
    folder: TempDir,
}

impl Signer {
    /// Makes a new key.
    ///
    /// # Panics
    /// When `minisign` fails.
    pub fn new() -> Self {
        let signer = Self { folder: TempDir::new().unwrap() };
        signer.minisign(&["-G", "-W", "-p", "key.pub", "-s", "key"]);
        signer
    }

    /// The public key in one line, as the configuration has it.
    ///
    /// # Panics
    /// When the key's file is gone.
    pub fn public_key(&self) -> String {
        let file = fs::read_to_string(self.folder.path().join("key.pub")).unwrap();
        file.lines().nth(1).unwrap().to_owned()
    }

    /// The file with the public key.
    pub fn public_key_file(&self) -> PathBuf {
        self.folder.path().join("key.pub")
    }

    /// The key's id, as the first line of its file has it. Some versions of `minisign` write
    /// leading zeros.
    ///
    /// # Panics
    /// When the key's file is gone.
    pub fn key_id(&self) -> String {
        let file = fs::read_to_string(self.folder.path().join("key.pub")).unwrap();
        file.lines().next().unwrap().rsplit(' ').next().unwrap().trim_start_matches('0').to_owned()
    }

    /// The text of the signature of a module.
    ///
    /// # Panics
    /// When `minisign` fails.
    pub fn sign(&self, module: &[u8]) -> String {
        fs::write(self.folder.path().join("module"), module).unwrap();
        self.minisign(&["-S", "-s", "key", "-m", "module"]);
        fs::read_to_string(self.folder.path().join("module.minisig")).unwrap()
    }

    /// Writes the signature of a module's file next to it.
    ///
    /// # Panics
    /// When a file cannot be read or written.
    pub fn sign_file(&self, module: &Path) {
        fs::write(signature_file(module), self.sign(&fs::read(module).unwrap())).unwrap();
    }

    fn minisign(&self, arguments: &[&str]) {
        let Finished { code, stdout, stderr } =
            run(programs::debian("core", "minisign").args(arguments).current_dir(self.folder.path()));
        assert_eq!(code, Some(0), "{stdout}{stderr}");
    }
}

impl Default for Signer {
    fn default() -> Self {
        Self::new()
    }
}

/// The file of the signature of a module's file.
pub fn signature_file(module: &Path) -> PathBuf {
    let mut name = module.as_os_str().to_owned();
    name.push(".minisig");
    name.into()
}
