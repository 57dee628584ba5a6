//! What the author of a connector uses.

pub mod auth;
#[doc(hidden)]
pub mod bindings;
pub mod clock;
pub mod config;
mod describe;
mod encoding;
pub mod http;
pub mod input;
pub mod json;
pub mod log;
mod outcome;
mod reader;
#[doc(hidden)]
pub mod run;
#[cfg(target_family = "wasm")]
use bindings::gateway::connector as host;
#[cfg(not(target_family = "wasm"))]
use testing::host;

pub mod storage;
#[doc(hidden)]
pub mod table;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
mod thin;

#[cfg(target_family = "wasm")]
mod allocator;

pub use connector_sdk_macros::connector;
pub use http::{Request, Response};
pub use json::Document;
pub use outcome::{Content, Fault, File, Outcome, UpstreamFault, Violation};
