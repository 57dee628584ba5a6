//! nginx as a peer, if it is installed.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use support::process::Process;
use support::upstream::free_port;

use crate::role::Peer;
use crate::settings::Outcome;

/// Number of attempts to connect, 20 ms apart.
const TRIES: usize = 100;

/// Starts a proxy that makes the same call as the gateway, with its files in `folder`. Returns
/// `None` if nginx is not installed.
///
/// # Errors
/// When nginx does not start.
pub(crate) fn start(upstream: SocketAddr, folder: &Path) -> Outcome<Option<Peer>> {
    match Command::new("nginx").arg("-v").stderr(Stdio::null()).status() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    // nginx cannot take port 0, because it does not tell which port it was given.
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let file = folder.join("nginx.conf");
    fs::write(&file, configuration(address, upstream))?;
    let mut command = Command::new("nginx");
    let process = Process::start(command.arg("-p").arg(folder).arg("-c").arg(&file).args(["-e", "error.log"]));
    for _ in 0..TRIES {
        thread::sleep(Duration::from_millis(20));
        if TcpStream::connect(address).is_ok() {
            return Ok(Some(Peer { process, address }));
        }
    }
    let log = fs::read_to_string(folder.join("error.log")).unwrap_or_default();
    Err(format!("nginx did not start: {log}").into())
}

fn configuration(address: SocketAddr, upstream: SocketAddr) -> String {
    format!(
        "daemon off;
         pid nginx.pid;
         worker_processes auto;
         events {{ worker_connections 1024; }}
         http {{
           access_log off;
           tcp_nodelay on;
           keepalive_requests 100000000;
           client_body_temp_path body;
           proxy_temp_path proxy;
           fastcgi_temp_path fastcgi;
           uwsgi_temp_path uwsgi;
           scgi_temp_path scgi;
           upstream service {{ server {upstream}; keepalive 512; keepalive_requests 100000000; }}
           server {{
             listen {address};
             location / {{
               proxy_pass http://service;
               proxy_method GET;
               proxy_pass_request_body off;
               proxy_set_header Content-Length \"\";
               proxy_set_header Content-Type \"\";
               proxy_set_header Authorization \"\";
               proxy_set_header Connection \"\";
               proxy_http_version 1.1;
             }}
           }}
         }}
        "
    )
}
