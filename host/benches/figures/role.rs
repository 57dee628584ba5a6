//! The other processes of a run are this binary too, each in a role.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};

use tokio::net::TcpListener;

use crate::process::Process;
use crate::{Outcome, proxy, upstream};

/// First argument of a process that has a role.
const ROLE: &str = "role";

/// Printed by a role once it takes connections, before its address.
const GREETING: &str = "listening on ";

/// Plays the role that the command line names; none when it names none.
pub(crate) fn play(arguments: &[String]) -> Option<Outcome<()>> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        [ROLE, "upstream"] => Some(upstream::run()),
        [ROLE, "proxy", address] => Some(address.parse().map_err(Into::into).and_then(proxy::run)),
        _ => None,
    }
}

/// Starts the upstream.
pub(crate) fn start_upstream() -> Outcome<(Process, SocketAddr)> {
    start(&["upstream"])
}

/// Starts the proxy in front of it.
pub(crate) fn start_proxy(upstream: SocketAddr) -> Outcome<(Process, SocketAddr)> {
    start(&["proxy", &upstream.to_string()])
}

fn start(arguments: &[&str]) -> Outcome<(Process, SocketAddr)> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(ROLE).args(arguments).stderr(Stdio::inherit());
    let (process, address) = Process::start_until(&mut command, GREETING)?;
    Ok((process, address.parse()?))
}

/// Listens on a free port of loopback, and says where.
pub(crate) async fn listen() -> Outcome<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    println!("{GREETING}{}", listener.local_addr()?);
    Ok(listener)
}
