//! A TCP proxy that a test can cut, as a network or a server that fails.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::runtime;

/// A running proxy. It ends when this is dropped.
pub struct Proxy {
    address: SocketAddr,
    /// `true` while connections are possible.
    open: Arc<watch::Sender<bool>>,
    task: AbortHandle,
}

impl Proxy {
    /// Starts a proxy to `host:port`.
    ///
    /// # Panics
    /// When no port is free.
    pub fn to(target: &str) -> Self {
        let listener = runtime().block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let open = Arc::new(watch::Sender::new(true));
        let task = runtime().spawn(serve(listener, target.to_owned(), Arc::clone(&open))).abort_handle();
        Self { address, open, task }
    }

    /// Its `host:port`.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// Closes every connection, and each new one immediately.
    pub fn cut(&self) {
        self.open.send_replace(false);
    }

    /// Lets new connections through.
    pub fn restore(&self) {
        self.open.send_replace(true);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, target: String, open: Arc<watch::Sender<bool>>) {
    while let Ok((client, _)) = listener.accept().await {
        let (mut open, target) = (open.subscribe(), target.clone());
        if *open.borrow_and_update() {
            tokio::spawn(async move {
                tokio::select! {
                    // An error of a connection closes both sides, which is all that the proxy has
                    // to do.
                    _ = relay(client, target) => {}
                    _ = open.changed() => {}
                }
            });
        }
    }
}

async fn relay(mut client: TcpStream, target: String) -> io::Result<()> {
    copy_bidirectional(&mut client, &mut TcpStream::connect(target).await?).await?;
    Ok(())
}
