//! The library for authors of connectors.
//!
//! A connector is a table. It names the service, the hosts that the connector calls, and has a row
//! for each operation. A row contains the route, the JSON Schema, the documentation and the code of
//! its operation. This is a complete connector:
//!
//! ```
//! # mod dictionary {
//! connector_sdk::connector! {
//!     /// Words and their meanings.
//!     connector dictionary "Dictionary";
//!     auth Auth::None;
//!     upstream api "https://api.dictionaryapi.dev/api/v2";
//!
//!     /// Meanings of an English word.
//!     define: GET api "/entries/en/{word}" example { word: "hello" };
//! }
//! # }
//! # let request = connector_sdk::testing::forwarded(&dictionary::CONNECTOR, "define", r#"{"word":"sea lion"}"#);
//! # assert_eq!(request.path, "/entries/en/sea%20lion");
//! ```
//!
//! [`connector!`] describes rows. If one request is not enough, a row names a function that you
//! write. This crate's README describes how to set up, build, test and debug a connector.
//!
//! # Layout
//! - [`connector!`]: the table.
//! - [`auth`]: the constants for the statements `auth` and `auth_additions`.
//! - [`triggers`]: the constants for the statements `inboxes` and `triggers`, and the values of the
//!   functions that they name.
//! - [`Outcome`] and [`Fault`]: the results of an operation.
//! - [`input`]: the input of a function.
//! - [`userinfo`]: the connected account, in the shape that most connectors return.
//! - [`testing`]: a gateway for unit tests, which run natively.
//!
//! Each of these modules is an interface of the contract. A connector imports only the functions
//! that it uses.
//! - [`http`]: requests to the upstreams.
//! - [`pages`]: the items of a list that has pages.
//! - [`mod@retry`]: tries again, later each time.
//! - [`multipart`]: bodies of forms with files.
//! - [`json`]: JSON documents that stay in the gateway.
//! - [`storage`]: a small key-value store.
//! - [`config`]: the operator's settings.
//! - [`log`]: lines for the operator's log.
//! - [`clock`]: the gateway's clock, and how to wait.
//! - [`random`]: random values.
//! - [`progress`]: the progress of an operation in the background.
//!
//! These modules are internal. The rules of the contract are in the crate `contract_rules`, and
//! rows and their requests in the crate `rows`.
//! - `table`: the types of the constant data that the macro makes.
//! - `texts`: the texts of the manifest.
//! - `run` and `describe`: the exports of the component.
//! - `declared`: the constants of a table in the types of the contract.
//! - `additions`: what a component declares in addition to its manifest.
//! - `declare`: what the component declares before it returns its manifest.
//! - `allocator`: the memory of the component.
//! - `getrandom`: random numbers for crates that take them from the crate of this name.

mod additions;
pub mod auth;
#[doc(hidden)]
pub mod bindings;
pub mod clock;
pub mod config;
#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub mod declare;
mod declared;
mod describe;
pub mod http;
pub mod input;
pub mod json;
pub mod log;
pub mod multipart;
mod outcome;
pub mod pages;
pub mod progress;
pub mod random;
pub mod retry;
#[doc(hidden)]
pub mod run;
pub mod storage;
#[doc(hidden)]
pub mod table;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
#[doc(hidden)]
pub mod texts;
pub mod triggers;
pub mod userinfo;

#[cfg(target_family = "wasm")]
mod allocator;
#[cfg(all(target_family = "wasm", getrandom_backend = "custom"))]
mod getrandom;

/// The functions of the contract. In a component the gateway provides them, natively [`testing`]
/// does.
#[cfg(target_family = "wasm")]
use bindings::gateway::connector as host;
#[cfg(not(target_family = "wasm"))]
use testing::host;

/// Tests the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[doc = include_str!("../TABLE.md")]
pub use connector_sdk_macros::connector;
pub use http::{Link, Request, Response};
pub use json::Document;
pub use outcome::{Content, Explanation, Fault, File, Outcome, UpstreamFault, Violation};
