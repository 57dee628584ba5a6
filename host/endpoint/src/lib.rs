//! The parts that all doors of the gateway share: how an endpoint is declared, who may call it, and
//! how a handler reads a call and answers it. Nothing here knows a door.
//!
//! - [`route`]: the types of the table of routes, and a call as a handler gets it
//! - [`path`]: the form in which paths are compared
//! - [`authorize`]: who may call an endpoint
//! - [`console_cookie`]: the cookie of the console, which stands for an operator
//! - [`headers`]: headers of a call
//! - [`body`]: the body of a call
//! - [`idempotency`]: calls with an idempotency key
//! - [`answer`]: answers with status 200
//! - [`recorded`]: the record of a call
//! - [`records`]: the JSON of the gateway's own routes
//! - [`record_schema`]: its schemas
//! - [`lists`]: lists that have pages, and their filters
//! - [`page`]: the pages of lists
//! - [`allowed_names`]: names of connectors and operations in the limits of keys, tool sets and
//!   sessions
//! - [`pagination`]: the pages of an operation

pub mod allowed_names;
pub mod answer;
pub mod authorize;
pub mod body;
pub mod console_cookie;
pub mod headers;
pub mod idempotency;
pub mod lists;
pub mod page;
pub mod pagination;
pub mod path;
pub mod record_schema;
pub mod recorded;
pub mod records;
pub mod route;
