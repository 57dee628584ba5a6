//! The library for authors of connectors.
//!
//! A connector is a table. It names the service, the hosts that the connector calls, and has a row for each operation. A row is at
//! once the route, the JSON Schema, the documentation and the code. This is a whole connector:
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
//! [`connector!`] describes rows. If one request is not enough, a row names a function of yours. This crate's README says how to set
//! up, build, test and debug a connector.
//!
//! # Layout
//! - [`connector!`]: the table. [`auth`]: the constants for its `auth` statement.
//! - [`http`], [`json`], [`storage`], [`config`], [`log`], [`clock`], [`progress`]: the interfaces of the contract, one in each
//!   module. A connector imports only the functions that it uses.
//! - [`Outcome`] and [`Fault`]: the results of an operation. [`input`]: the input of a function.
//! - [`userinfo`]: the connected account, in the shape that most connectors answer.
//! - [`testing`]: a gateway for unit tests, which run natively.
//!
//! Inside: `table` has the types of the constant data that the macro makes. `thin` makes a request of a row and an input, and `reader`
//! reads the input for it. `texts` has the texts of the manifest. `run` and `describe` are the exports of the component. `allocator` manages its memory. The rules of the
//! contract are in the crate `contract_rules`.

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
pub mod progress;
mod reader;
#[doc(hidden)]
pub mod run;
pub mod storage;
#[doc(hidden)]
pub mod table;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
#[doc(hidden)]
pub mod texts;
mod thin;
pub mod userinfo;

#[cfg(target_family = "wasm")]
mod allocator;

/// The functions of the contract: those of the gateway, or natively those of [`testing`].
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
