//! The console of operators: GET /console, its files, and the sessions of operators.
//!
//! The console is a page that calls the routes of this API, and has no others. A session stands for
//! the API key that the operator signed in with, so that every check of a key holds for the console
//! too.
//!
//! - [`session`]: the cookie, signing in and signing out
//! - [`files`]: the page and its files, which are in the binary

mod files;
mod session;

pub(super) use self::files::{get_file, get_page};
pub(super) use self::session::{caller_of_cookie, cookie, get_session, sign_in, sign_out};
