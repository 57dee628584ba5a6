//! The server of `tests/postgres.sh` with a synchronous standby: each of the two can take over from
//! the other.

use crate::database::{self, Database, Server, append};
use crate::{upstream, wait_for};

/// Two servers, of which one is the primary. The primary answers to a commit when the standby has
/// it. As with [`Server`], only a program that has the server for itself may use it.
///
/// When this is dropped, the server of the script is the primary again, and has no standby.
pub struct Cluster {
    servers: [Server; 2],
    ports: [u16; 2],
    /// The URL of the servers up to the host, which they have in common.
    host: String,
    /// The index of the primary.
    primary: usize,
}

/// The index of the script's server.
const OF_SCRIPT: usize = 0;

impl Cluster {
    /// Adds a standby to the server of the script.
    ///
    /// # Panics
    /// When there is no such server, or a program of PostgreSQL fails.
    pub fn start() -> Self {
        let (of_script, url) = (Server::of_script(), database::server());
        let (host, rest) = url.rsplit_once(':').expect("the URL has a port");
        let (port, _) = rest.split_once('/').expect("the URL names a database");
        let ports = [port.parse().expect("a port is a number"), upstream::free_port()];
        let standby = of_script.beside("standby");
        let cluster = Self { servers: [of_script, standby], ports, host: host.to_owned(), primary: OF_SCRIPT };
        // The script has switched it off, because it costs time.
        cluster.sql("ALTER SYSTEM SET synchronous_commit = on");
        cluster.sql("ALTER SYSTEM SET wal_retrieve_retry_interval = '200ms'");
        cluster.add_standby();
        cluster
    }

    /// The line of `gateway.toml` that selects a database of the primary, whichever server it is.
    pub fn config(&self, database: &Database) -> String {
        let (_, name) = database.url().rsplit_once('/').expect("the URL names a database");
        format!("database_url = \"{}\"", self.url(name))
    }

    /// Stops the primary: it ends every connection, and accepts none. The standby does not take
    /// over.
    ///
    /// # Panics
    /// When it does not stop.
    pub fn stop(&self) {
        self.servers[self.primary].stop();
    }

    /// Starts the primary again.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start_again(&self) {
        self.servers[self.primary].start();
    }

    /// Kills the primary. The standby takes over, and then has a copy of itself as its standby.
    ///
    /// # Panics
    /// When a program of PostgreSQL fails.
    pub fn fail_over(&mut self) {
        self.servers[self.primary].kill();
        self.primary = 1 - self.primary;
        self.servers[self.primary].promote();
        self.add_standby();
    }

    /// Makes the other server a standby of the primary.
    fn add_standby(&self) {
        let (standby, port) = (&self.servers[1 - self.primary], self.ports[1 - self.primary]);
        standby.copy(&format!("{}:{}/postgres", self.host, self.ports[self.primary]));
        append(&standby.data().join("postgresql.conf"), &format!("port = {port}\n"));
        // As a primary without a standby, it would wait for one at each commit.
        append(&standby.data().join("postgresql.auto.conf"), "synchronous_standby_names = ''\n");
        standby.start();
        let streaming = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
        wait_for("the standby", || (database::query(&self.url("postgres"), streaming) == "1").then_some(()));
        self.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
        self.sql("SELECT pg_reload_conf()");
    }

    /// Runs a statement at the primary.
    fn sql(&self, statement: &str) {
        database::sql(&self.url("postgres"), statement);
    }

    /// The URL of a database, with both servers.
    fn url(&self, database: &str) -> String {
        let (_, host) = self.host.rsplit_once('@').expect("the URL has a user");
        let [first, second] = self.ports;
        format!("{}:{first},{host}:{second}/{database}?target_session_attrs=read-write", self.host)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The script ends its own server only.
            self.servers[1 - OF_SCRIPT].kill();
            return;
        }
        if self.primary != OF_SCRIPT {
            self.fail_over();
        }
        self.sql("ALTER SYSTEM RESET synchronous_standby_names");
        self.sql("ALTER SYSTEM RESET synchronous_commit");
        self.sql("SELECT pg_reload_conf()");
        self.servers[1 - OF_SCRIPT].kill();
    }
}
