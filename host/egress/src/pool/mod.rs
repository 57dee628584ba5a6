//! Sends requests over connections that it makes and keeps.
//!
//! It uses hyper's connections directly. A general client would clone its settings for each
//! request, and hold them until the response arrives.
//!
//! - `connection`: one connection, over HTTP/1.1 or HTTP/2
//! - `idle_pool`: the idle connections, which later requests use
//! - `places`: how many requests to an origin are in progress at the same time
//! - `watched`: the stream of a connection, which knows if the peer has closed it

mod connection;
mod idle_pool;
mod places;
mod watched;

use std::error::Error;
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use hyper::body::Incoming;
use hyper::{Request, Response};
use tokio::time::Instant;

use self::connection::Connection;
use self::idle_pool::IdlePool;
use super::connector::Connector;
use super::location::Location;
use super::retry;
use super::streamed_body::OutgoingBody;

/// A request whose address is a path.
pub(super) type Outgoing = Request<OutgoingBody>;

/// Connections to all upstreams, made by one connector.
pub(super) struct Pool {
    connector: Connector,
    idle: Arc<IdlePool>,
}

/// Why a request has no response.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("no connection could be made")]
    NotConnected(#[source] Box<dyn Error + Send + Sync>),
    #[error("the connection ended before the request was sent")]
    NotSent(#[source] hyper::Error),
    #[error("the connection ended before the response")]
    Broken(#[source] hyper::Error),
}

impl Pool {
    pub(super) fn new(connector: Connector) -> Self {
        Self { connector, idle: Arc::default() }
    }

    /// A pool with the same connector and separate connections.
    pub(super) fn with_own_connections(&self) -> Self {
        Self::new(self.connector.clone())
    }

    /// Sends a request, whose address is the [path](Location::path) of the location. Uses an idle
    /// connection if there is one, unless the request needs a new connection.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(super) async fn send(
        &self,
        location: &Location,
        mut request: Outgoing,
        on_new_connection: bool,
    ) -> Result<Response<Incoming>, Failure> {
        if on_new_connection {
            // Boxed, because most requests do not need this future.
            return Box::pin(self.send_alone(location, request)).await;
        }
        let places = self.idle.places(location.origin());
        let _place = Arc::clone(&places).take().await;
        let began = Instant::now();
        loop {
            let (mut connection, is_used) = match self.idle.take_idle(location.origin()) {
                Some(connection) => (connection, true),
                // Boxed, because most requests do not need this future.
                None => Box::pin(self.connect(location)).await?,
            };
            if is_used && !retry::is_safe(request.method()) {
                connection.guard_next();
            }
            let mut error = match connection.exchange(request).await {
                Ok(response) => {
                    places.note_response(began.elapsed());
                    self.idle.give_back(location.origin(), connection);
                    return Ok(response);
                }
                Err(error) => error,
            };
            request = match error.take_message() {
                // The upstream has closed the connection since its last response.
                Some(unsent) if is_used => unsent,
                Some(_) => return Err(Failure::NotSent(error.into_error())),
                None if connection.has_refused() => return Err(Failure::NotSent(error.into_error())),
                None => return Err(Failure::Broken(error.into_error())),
            };
        }
    }

    /// Makes a connection and closes it.
    ///
    /// # Errors
    /// `NotConnected`.
    pub(super) async fn check(&self, location: &Location) -> Result<(), Failure> {
        let address = location.uri().map_err(|error| Failure::NotConnected(error.into()))?;
        self.connector.clone().connect(address).await.map(drop).map_err(Failure::NotConnected)
    }

    /// Sends a request on a new connection, which ends with the response.
    async fn send_alone(&self, location: &Location, request: Outgoing) -> Result<Response<Incoming>, Failure> {
        let address = location.uri().map_err(|error| Failure::NotConnected(error.into()))?;
        let mut connection = Connection::make(self.connector.clone(), address).await.map_err(Failure::NotConnected)?;
        connection.exchange(request).await.map_err(|mut error| match error.take_message() {
            Some(_) => Failure::NotSent(error.into_error()),
            None => Failure::Broken(error.into_error()),
        })
    }

    /// Makes a connection, or takes one that becomes free earlier. The flag says whether the
    /// connection has been used before.
    async fn connect(&self, location: &Location) -> Result<(Connection, bool), Failure> {
        let origin = location.origin();
        let address = location.uri().map_err(|error| Failure::NotConnected(error.into()))?;
        let making = Box::pin(Connection::make(self.connector.clone(), address));
        match select(pin!(self.idle.wait(origin)), making).await {
            Either::Left((connection, making)) => {
                let (idle, origin) = (Arc::clone(&self.idle), origin.to_owned());
                tokio::spawn(async move {
                    if let Ok(connection) = making.await {
                        idle.add_idle(&origin, connection);
                    }
                });
                Ok((connection, true))
            }
            Either::Right((made, _)) => {
                let connection = made.map_err(Failure::NotConnected)?;
                if let Some(shared) = connection.shared() {
                    self.idle.add_idle(origin, shared);
                }
                Ok((connection, false))
            }
        }
    }
}

#[cfg(test)]
mod tests;
