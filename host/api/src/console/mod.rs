//! The console of operators: GET /console, its files, and the sessions of operators.
//!
//! The console is a page that calls the routes of this API, and has no others. A session stands for
//! the API key that the operator signed in with, so that every check of a key holds for the console
//! too. A person who signs in at an OpenID provider has the scope `admin`.
//!
//! - [`session`]: the cookie, signing in and signing out
//! - [`oidc`]: signing in at an OpenID provider
//! - [`files`]: the page and its files, which are in the binary

mod files;
mod oidc;
mod session;

pub(super) use self::files::{get_file, get_page};
pub(super) use self::oidc::{begin as begin_oidc, finish as finish_oidc, get_ways};
pub(super) use self::session::{caller_of_cookie, cookie, get_session, sign_in, sign_out};
