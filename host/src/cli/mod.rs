//! The command line.
//!
//! Results go to standard output, so that scripts can read them. Remarks and errors go to standard error. The exit code is 0
//! after success, 1 after a failure, and 2 if the command line is wrong.
//!
//! - [`arguments`]: all commands and their options
//! - [`mod@run`]: starts the work of a command
//! - [`keys`], [`connectors`]: the commands of that name; [`new`]: `connectors new`; [`build`]: `connectors build`, and
//!   [`provenance`]: what it writes about the making of a module; [`check`]: `connectors check`; [`installed`]: the connectors of a
//!   gateway, which [`gateway`] reaches
//! - [`source`]: the place that a module is read from; [`oci`]: modules in registries; [`push`]: `connectors push`
//! - [`call`]: `connectors call`; [`project_tests`]: `connectors test`; [`trial`]: a module apart from all files of a gateway
//! - [`mod@dev`]: `connectors dev`
//! - [`database`]: the database of a gateway; [`output`]: writes results and remarks; [`table`]: lists for people

mod arguments;
mod build;
mod call;
mod check;
mod connectors;
mod database;
mod dev;
mod gateway;
mod installed;
mod keys;
mod new;
mod oci;
mod output;
mod project_tests;
mod provenance;
mod push;
mod run;
mod source;
mod table;
mod trial;

pub use self::arguments::Arguments;
pub use self::run::run;
