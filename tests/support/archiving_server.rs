//! A PostgreSQL server for one test, which archives its log, so that it can be recovered as of a
//! moment in the past.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::database::{Store, append, run};
use crate::oauth::unique;
use crate::process::Process;
use crate::upstream::free_port;

/// A server with its archive and its base backup.
pub struct ArchivingServer {
    /// Ends the server when it is dropped.
    process: Process,
    folder: TempDir,
    owner: (u32, u32),
    password: String,
    port: u16,
}

impl ArchivingServer {
    /// Starts an empty server.
    ///
    /// # Panics
    /// When the program was not started by `tests/postgres.sh`, whose server shows which user may
    /// run one.
    pub fn start() -> Self {
        let data =
            std::env::var_os("TEST_POSTGRES_DATA").expect("`tests/postgres.sh` names the server's data directory");
        let owner = fs::metadata(data).expect("the server has a data directory");
        let owner = (owner.uid(), owner.gid());
        let folder = TempDir::new().expect("a folder");
        let password = unique();
        let (file, archive) = (folder.path().join("password"), folder.path().join("archive"));
        fs::write(&file, &password).expect("the folder can be written");
        fs::create_dir(&archive).expect("the folder can be written");
        for path in [folder.path(), &file, &archive] {
            chown(path, Some(owner.0), Some(owner.1)).expect("the folder can be given to the server's user");
        }
        let data = folder.path().join("data");
        let mut initdb = Command::new("initdb");
        initdb.args(["--username=gateway", "--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync"]);
        initdb.arg("--pgdata").arg(&data).arg("--pwfile").arg(&file);
        run(initdb.uid(owner.0).gid(owner.1).current_dir(folder.path()));
        let settings = format!(
            "listen_addresses = '127.0.0.1'\nunix_socket_directories = ''\nlog_line_prefix = ''\nfsync = off\n\
             archive_mode = on\narchive_command = 'cp %p {}/%f'\n",
            archive.display()
        );
        append(&data.join("postgresql.conf"), &settings);
        let port = free_port();
        let process = serve(&data, owner, port);
        Self { process, folder, owner, password, port }
    }

    /// The database of the server.
    pub fn store(&self) -> Store {
        Store::at(&format!("postgres://gateway:{}@127.0.0.1:{}/postgres", self.password, self.port))
    }

    /// Makes the base backup, while the server serves.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn back_up(&self) {
        let mut command = Command::new("pg_basebackup");
        command
            .args(["--wal-method=none", "--checkpoint=fast", "--no-sync", "--dbname"])
            .arg(self.store().database().url());
        command.arg("--pgdata").arg(self.folder.path().join("base"));
        run(command.uid(self.owner.0).gid(self.owner.1).current_dir(self.folder.path()));
    }

    /// Names this moment, as of which the server can be recovered.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn mark(&self, moment: &str) {
        let store = self.store();
        store.database().query(&format!("SELECT pg_create_restore_point('{moment}')"));
    }

    /// Ends the server, and starts another one as of a moment: from the base backup and the archive.
    ///
    /// # Panics
    /// When it cannot be recovered.
    pub fn recover(&mut self, moment: &str) {
        // A server that ends in order archives the rest of its log.
        self.process.ask_to_end();
        self.process.wait();
        let (base, archive) = (self.folder.path().join("base"), self.folder.path().join("archive"));
        let settings = format!(
            "archive_mode = off\nrestore_command = 'cp {}/%f %p'\nrecovery_target_name = '{moment}'\n\
             recovery_target_action = 'promote'\n",
            archive.display()
        );
        append(&base.join("postgresql.conf"), &settings);
        fs::write(base.join("recovery.signal"), "").expect("the folder can be written");
        self.port = free_port();
        self.process = serve(&base, self.owner, self.port);
    }
}

/// Starts a server on a data directory, and waits until it is not in recovery.
fn serve(data: &Path, (user, group): (u32, u32), port: u16) -> Process {
    let mut command = Command::new("postgres");
    command.arg("-D").arg(data).args(["-p", &port.to_string()]).uid(user).gid(group).current_dir(data);
    let mut process = Process::start(&mut command);
    process.wait_for_line("LOG:  database system is ready to accept connections");
    process
}
