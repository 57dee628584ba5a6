//! A TCP proxy that a test can cut or hold, as a network or a server that fails or does not
//! respond.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::runtime;

/// A running proxy. It ends when this is dropped.
pub struct Proxy {
    address: SocketAddr,
    /// `true` while connections are possible.
    open: Arc<watch::Sender<bool>>,
    /// `true` while bytes are held back.
    held: Arc<watch::Sender<bool>>,
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
        let held = Arc::new(watch::Sender::new(false));
        let serving = serve(listener, target.to_owned(), Arc::clone(&open), Arc::clone(&held));
        let task = runtime().spawn(serving).abort_handle();
        Self { address, open, held, task }
    }

    /// Its `host:port`.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// Closes every connection, and each new one immediately.
    pub fn cut(&self) {
        self.open.send_replace(false);
    }

    /// Holds back all bytes, of old and of new connections. No connection breaks.
    pub fn hold(&self) {
        self.held.send_replace(true);
    }

    /// Lets new connections and bytes that were held back through.
    pub fn restore(&self) {
        self.open.send_replace(true);
        self.held.send_replace(false);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, target: String, open: Arc<watch::Sender<bool>>, held: Arc<watch::Sender<bool>>) {
    while let Ok((client, _)) = listener.accept().await {
        let (mut open, held, target) = (open.subscribe(), held.subscribe(), target.clone());
        if *open.borrow_and_update() {
            tokio::spawn(async move {
                tokio::select! {
                    // An error of a connection closes both sides, which is all that the proxy has
                    // to do.
                    _ = relay(client, target, held) => {}
                    _ = open.changed() => {}
                }
            });
        }
    }
}

async fn relay(mut client: TcpStream, target: String, held: watch::Receiver<bool>) -> io::Result<()> {
    let mut server = TcpStream::connect(target).await?;
    let ((from_client, to_client), (from_server, to_server)) = (client.split(), server.split());
    tokio::try_join!(pump(from_client, to_server, held.clone()), pump(from_server, to_client, held))?;
    Ok(())
}

/// Passes bytes on in one direction until its end.
async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut held: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut bytes = vec![0; 16 << 10];
    loop {
        let length = from.read(&mut bytes).await?;
        // This fails only without a sender, and then the proxy has ended.
        let _ = held.wait_for(|held| !held).await;
        if length == 0 {
            return to.shutdown().await;
        }
        to.write_all(&bytes[..length]).await?;
    }
}
