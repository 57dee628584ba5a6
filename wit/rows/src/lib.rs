//! An operation that is one request, as data: a row says where each field of the input goes, and
//! the request follows from it.
//!
//! The gateway makes the request of each call with [`Row::request`], and the SDK's tests make it
//! with the same function. The crate depends neither on the gateway nor on WebAssembly.
//!
//! The feature `serde` reads and writes declarations in the form of the contract: names of cases in
//! lower case with hyphens, and a case with a value as `{"tag": …, "val": …}`.
//!
//! # Layout
//! - `row`: the row, and its parts.
//! - `declaration`: a row as a connector declares it, and how people read it.
//! - [`table`]: a row as the author of a table writes it.
//! - `template`: texts with names in braces.
//! - `check`: the rules of a declaration, which are all rules of what is sent.
//! - `request`: the request of a row for an input.
//! - `refusal`: why there is no request.
//! - `path`: the path and the query of a request.
//! - `body`: bodies, and forms with files.
//! - `encoding`: percent-encoding.
//! - `form`: forms.
//! - `reader`: reads JSON text without copying it.
//! - `recording`: a recorded call, which the tests of the SDKs replay. It needs the feature `recordings`.

mod body;
mod check;
mod declaration;
pub mod encoding;
pub mod form;
mod path;
pub mod reader;
#[cfg(feature = "recordings")]
pub mod recording;
mod refusal;
mod request;
mod row;
pub mod table;
mod template;

pub use body::{Body, Content, GivenFile, Part};
pub use check::{Connector, Mistake, Place, check_headers, check_triggers};
pub use declaration::{Declaration, DeclaredHeader};
pub use refusal::Refusal;
pub use request::{DOT_SEGMENT, EMPTY_SEGMENT, Request, Settings, misfit};
pub use row::{
    BodyEncoding, DefaultQuery, Encoding, Field, Header, Lists, Location, Method, Payload, Piece, Row, Text, Trigger,
};
