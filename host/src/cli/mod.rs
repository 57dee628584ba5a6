//! The command line.
//!
//! What was asked for goes to standard output, so that scripts can take it; everything said about it goes to standard error.
//! Exit codes: 0 when it is done, 1 when it is not, 2 when the command line is wrong.
//!
//! - [`arguments`]: all commands and their options
//! - [`run`]: from them to the work
//! - [`keys`], [`keys_rotate`], [`connectors`]: the commands of that name; [`new`]: `connectors new`
//! - [`table`]: lists for people

mod arguments;
mod connectors;
mod keys;
mod keys_rotate;
mod new;
mod run;
mod table;

pub use self::arguments::Arguments;
pub use self::run::run;
