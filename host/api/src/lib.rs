//! The HTTP interface that callers see: the table of all routes, the router that calls their
//! handlers, the server, and the description.
//!
//! - [`server`]: accepts connections
//! - [`router`]: finds the route of each request and calls its handler
//! - [`routes`]: the table of routes
//! - [`openapi`]: the API's description
//! - [`caller_address`]: the address of a caller, which may be behind a proxy
//! - [`admin_host`]: the host names by which the routes of the operator may be called
//! - [`compression`]: compressed answers
//! - [`cors`]: calls from pages in a browser
//!
//! The handlers are in the crates of the doors: `rest`, `agents` and `operators`. Those of the
//! gateway itself are here:
//!
//! - [`system`]: health, metrics and the API's description
//! - [`docs`]: the description as a page for browsers
//! - [`home`]: the page at the root, which leads browsers to the others

mod admin_host;
mod caller_address;
mod compression;
mod cors;
mod docs;
mod home;
mod openapi;
mod router;
mod routes;
pub mod server;
mod system;

use serde_json::Value;

use config::Config;
use registry::Registry;

/// The API's description with the connectors that are live now: an OpenAPI 3.1 document.
pub fn description(config: &Config, registry: &Registry) -> Value {
    openapi::document(config, &registry.live(), routes::ROUTES, openapi::Answers::Plain)
}

/// As [`description`], with all that is known of the answers of operations.
pub fn typed_description(config: &Config, registry: &Registry) -> Value {
    openapi::document(config, &registry.live(), routes::ROUTES, openapi::Answers::Typed(registry))
}
