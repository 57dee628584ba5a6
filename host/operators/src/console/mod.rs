//! The console of operators: GET /console, its files, and the sessions of operators.
//!
//! The console is a page whose scripts call the routes of this API, and has no others. Its cookie
//! stands for the API key that the operator signed in with: `authorize` reads the session from
//! `store::console_sessions`, and takes the caller of the key from the table of `auth`. So a
//! session has the scopes and limits of its key, and no route knows if the console has called it.
//! Routes of agents and of `/proxy` do not take the cookie.
//!
//! A person can also sign in at an OpenID provider ([`oidc`], `auth::oidc`). The gateway
//! keeps nothing while the person is there: the browser has a secret in a cookie, from which
//! `state`, `nonce` and the verifier of PKCE are derived, so any gateway can end the sign-in. The
//! session then has the subject in place of a key, and the scope `admin`.
//!
//! - [`session`]: signing in and signing out
//! - [`oidc`]: signing in at an OpenID provider
//! - [`files`]: the page and its files, which are in the binary
//! - [`filters`]: the script with the filters of lists

mod files;
mod filters;
mod first;
mod oidc;
mod session;

pub use self::files::{get_file, get_page};
pub use self::oidc::{begin as begin_oidc, finish as finish_oidc, get_ways};
pub use self::session::{get_session, sign_in, sign_out};
