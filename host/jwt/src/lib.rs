//! JSON Web Tokens (RFC 7519, RFC 8725), verified with the keys that their issuer publishes.
//!
//! The issuer's key decides the algorithm of a signature, never the token alone. Nothing is fetched
//! here, and the caller says what time it is.
//!
//! - [`key_set`]: the keys that can be used, and their algorithms
//! - [`token`]: the verification of a token
//! - [`signature`]: the cryptography
//! - [`error`]: why a token is not accepted

mod error;
mod key_set;
mod signature;
mod token;

pub use jsonwebtoken::Algorithm;

pub use self::error::JwtError;
pub use self::key_set::KeySet;
pub use self::token::{Claims, Expected, Token, expiry};
