//! What the author of a connector uses.
//!
//! A connector is a table: what it wraps, which hosts it reaches, and a row for each operation. A row is at once the route, the
//! JSON Schema, the documentation and the code. This is a whole connector:
//!
//! ```
//! # mod dictionary {
//! connector_sdk::connector! {
//!     /// Words and what they mean.
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
//! Rows are described at [`connector!`]; where one request is not enough, a row names a function of yours. How to set up, build,
//! debug and test a connector is in this crate's README.
//!
//! # Layout
//! - [`connector!`]: the table. [`auth`]: what its `auth` statement says.
//! - [`http`], [`json`], [`storage`], [`config`], [`log`], [`clock`]: what the gateway offers, a module an interface of the contract.
//!   Only what a connector uses is imported by its module.
//! - [`Outcome`] and [`Fault`]: what an operation answers. [`input`]: what a function gets.
//! - [`userinfo`]: the connected account, in the shape that most connectors answer.
//! - [`testing`]: a gateway for unit tests, which run natively.
//!
//! Inside: `table` is the constant data that the macro makes, `thin` turns a row and an input into a request, `reader` takes
//! JSON text apart, `run` and `describe` are what the component exports, `allocator` is its memory.

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
pub mod storage;
#[doc(hidden)]
pub mod table;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
mod thin;
pub mod userinfo;

#[cfg(target_family = "wasm")]
mod allocator;

/// The other side of the contract: the gateway, or the one of [`testing`].
#[cfg(target_family = "wasm")]
use bindings::gateway::connector as host;
#[cfg(not(target_family = "wasm"))]
use testing::host;

#[doc = include_str!("../TABLE.md")]
pub use connector_sdk_macros::connector;
pub use http::{Link, Request, Response};
pub use json::Document;
pub use outcome::{Content, Explanation, Fault, File, Outcome, UpstreamFault, Violation};
