//! The peers of a run are processes of this binary, each in a role: [`upstream`](crate::upstream)
//! or [`proxy`](crate::proxy).

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;

use support::process::Process;
use tokio::net::TcpListener;

use crate::settings::Outcome;

/// First argument of a process in a role. The name of the role follows.
pub(crate) const ROLE: &str = "role";

/// A process in a role prints this before its address as soon as it accepts connections.
const GREETING: &str = "listening on ";

/// A running process in a role. It ends when this is dropped.
pub(crate) struct Peer {
    /// The process.
    pub(crate) process: Process,
    /// The address that it listens on.
    pub(crate) address: SocketAddr,
}

/// Starts this binary in a role and waits until it accepts connections. `arguments` are the name of
/// the role and its arguments.
pub(crate) fn start(arguments: &[&str]) -> Outcome<Peer> {
    let mut process = Process::start(Command::new(std::env::current_exe()?).arg(ROLE).args(arguments));
    let address = process.wait_for_line(GREETING).parse()?;
    Ok(Peer { process, address })
}

/// Listens on a free port of loopback and prints the address.
pub(crate) async fn listen() -> Outcome<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    println!("{GREETING}{}", listener.local_addr()?);
    Ok(listener)
}
