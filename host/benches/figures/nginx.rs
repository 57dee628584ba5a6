//! nginx as a peer, where it is installed.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::Outcome;
use crate::client::Connection;
use crate::process::Process;

/// Tries to reach it, 20 ms apart.
const TRIES: usize = 100;

/// A proxy that makes the call that the gateway makes, with its files in `folder`; none where there is no nginx.
pub(crate) async fn start(upstream: SocketAddr, folder: &Path) -> Outcome<Option<(Process, SocketAddr)>> {
    match Command::new("nginx").arg("-v").stderr(Stdio::null()).status() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    // It cannot tell which port it was given, so a free one is looked for and left again.
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
    let file = folder.join("nginx.conf");
    fs::write(&file, configuration(address, upstream))?;
    let mut command = Command::new("nginx");
    command.arg("-p").arg(folder).arg("-c").arg(&file).args(["-e", "error.log"]);
    let process = Process::start(command.stdout(Stdio::null()).stderr(Stdio::null()))?;
    for _ in 0..TRIES {
        tokio::time::sleep(Duration::from_millis(20)).await;
        if Connection::open(address).await.is_ok() {
            return Ok(Some((process, address)));
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
