//! The command line.
//!
//! Results go to standard output, so that scripts can read them. Remarks and errors go to standard
//! error. The exit code is 0 after success, 1 after a failure, and 2 if the command line is wrong.
//!
//! # Layout
//! - [`arguments`]: the command line
//! - [`mod@run`]: starts the work of a command
//! - [`keys`]: the commands `keys …`
//! - [`backup`]: the commands `backup` and `restore`
//! - [`doctor`]: the command `doctor`
//! - [`installed`]: the commands about the connectors of a gateway
//! - [`operator`]: the commands about accounts and jobs of all tenants, and the audit
//! - [`stop`]: the end of a command by a signal
//! - [`table`]: lists for people
//! - [`mod@time`]: times in options
//!
//! The crate `authoring` has the commands for authors of connectors, and what all commands share.
//! The crate `connector_gateway` has the gateway that `serve` runs.

mod arguments;
mod backup;
mod doctor;
mod installed;
mod keys;
mod operator;
mod run;
mod stop;
mod table;
mod time;

pub use arguments::Arguments;
pub use run::run;
