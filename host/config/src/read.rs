//! Reads all keys, and checks what depends on several of them.

use std::net::SocketAddr;

use super::declare::Settings;
use super::error::{ConfigError, Problem};
use super::section::{Report, Section};
use super::settings::Config;
use super::source::Source;

/// Reads all keys. Keys that are not set keep their defaults.
pub(super) fn read_config(source: Source) -> Result<Config, ConfigError> {
    let (config, problems, _) = read_known(source);
    if problems.is_empty() { Ok(config) } else { Err(ConfigError::Invalid { problems }) }
}

/// Like [`read_config`], and also returns the known keys, for the test of the documentation.
pub(super) fn read_known(source: Source) -> (Config, Vec<Problem>, Vec<String>) {
    let mut config = Config::default();
    let (mut report, table) = Report::new(source);
    report.read_table(table, |root| read_root(root, &mut config));
    let (problems, known) = report.problems();
    (config, problems, known)
}

fn read_root(root: &mut Section<'_>, config: &mut Config) {
    config.public_url_is_set = root.has("public_url");
    config.read(root);
    config.listening_on(config.listen);
    let listen = config.listen;
    if config.admin_listen.is_some_and(|admin_listen| overlap(admin_listen, listen)) {
        let message = format!("must be another address than `listen`, which is {listen}; choose another port");
        root.problem("admin_listen", message);
    }
    if let Some(hooks_listen) = config.hooks.listen {
        let others = [("listen", Some(listen)), ("admin_listen", config.admin_listen)];
        let taken = others.iter().filter_map(|(key, other)| Some((key, (*other)?)));
        for (key, other) in taken.filter(|(_, other)| overlap(hooks_listen, *other)) {
            let message = format!("must be another address than `{key}`, which is {other}; choose another port");
            root.problem_in("hooks", "listen", message);
        }
    }
    if config.admin_tls.is_some() && config.admin_listen.is_none() {
        root.problem("admin_tls", "needs `admin_listen`, the address at which it is used".to_owned());
    }
}

/// Returns `true` if two sockets cannot listen at these addresses at the same time.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    // The operating system chooses a free port in place of port 0.
    let (one_ip, other_ip) = (one.ip(), other.ip());
    one.port() == other.port()
        && one.port() != 0
        && (one_ip == other_ip || one_ip.is_unspecified() || other_ip.is_unspecified())
}
