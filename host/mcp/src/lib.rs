//! Operations as tools of the Model Context Protocol (MCP): everything about them that needs no
//! HTTP.
//!
//! # Layout
//! - [`revision`]: the revisions of the protocol that the gateway speaks
//! - [`message`]: messages of JSON-RPC
//! - [`catalogue`]: the tools of one caller at one address
//! - [`events`]: events of services for agents
//! - [`streams`]: the open streams of clients that wait for changes
//! - [`tool_set`]: the operations that a tenant puts at one address
//! - [`own`]: the tools of the gateway itself
//! - [`names`]: the names of tools and of their arguments
//! - [`input_schema`]: the schema of the arguments of a tool
//! - [`dialect`]: schemas that every model and every client takes
//! - [`encoded`]: arguments that a model writes as a text of JSON
//! - [`output_schema`]: the schema of the structured results of a tool
//! - [`ranking`]: the search for operations in the words of a person
//! - [`compact`]: JSON text without white space, up to a size
//!
//! Messages and arguments stay texts. A library that parses them would lose digits of long
//! numbers and the repetition of a name, which the validation of operations refuses.

pub mod catalogue;
pub mod compact;
pub mod dialect;
pub mod encoded;
pub mod events;
pub mod input_schema;
pub mod message;
pub mod names;
pub mod output_schema;
pub mod own;
pub mod ranking;
pub mod revision;
pub mod streams;
pub mod tool_set;

pub use self::catalogue::{Catalogue, Catalogues, Mode, Tool, View};
pub use self::revision::Revision;
pub use self::tool_set::{SetMode, ToolSet};
