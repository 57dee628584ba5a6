//! The commands `connectors …` for authors of connectors. Their dependencies are not part of a
//! gateway that serves.
//!
//! # Layout
//! - [`command`]: the commands, and their start
//! - [`new`]: `connectors new`
//! - [`build`]: `connectors build`
//! - [`check`]: `connectors check`
//! - [`call`]: `connectors call`
//! - [`test_command`]: `connectors test`
//! - [`mod@dev`]: `connectors dev`
//! - [`push`]: `connectors push`
//! - [`module_file`]: `connectors pack`, and the files of modules
//!
//! Parts of several commands:
//! - [`options`]: groups of options
//! - [`project`]: the project of a connector, and the tools that build it
//! - [`language`]: the languages of projects
//! - [`provenance`]: the texts in a module about its origin
//! - [`recordings`]: the requests and responses of one call in a file
//! - [`pushed`]: recordings of notifications, and the events that they carry
//! - [`compile_cache`]: the compiled modules of the user, which all commands share
//! - [`scratch_registry`]: a registry to try a module in
//! - [`identity`]: the pointers of a connector's identity that find nothing
//! - [`module_source`]: the place that a module is read from
//! - [`oci`]: modules in registries
//! - [`gateway`]: the gateway that a command changes
//! - [`database`]: the database of that gateway
//! - [`output`]: standard output and standard error
//! - [`mod@person`]: the person who runs a command
//! - [`shell`]: words for shells
//!
//! The crate `cli` has the operators' commands. They use the public items of this crate.

mod build;
mod call;
mod check;
mod command;
mod compile_cache;
pub mod database;
mod dev;
pub mod gateway;
mod identity;
mod language;
mod module_file;
pub mod module_source;
mod new;
mod node;
mod oci;
pub mod options;
pub mod output;
mod person;
mod project;
mod provenance;
mod push;
mod pushed;
mod recordings;
mod scratch_registry;
pub mod shell;
mod test_command;

pub use check::Summary;
pub use command::{AuthorCommand, AuthorError};
pub use module_file::{FileError, RefusedModule};
pub use person::person;
