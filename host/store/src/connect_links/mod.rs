//! Links to the page on which an end user connects accounts.
//!
//! - [`types`]: a link
//! - [`queries`]: adding, finding, listing, claiming and ending links

mod queries;
mod types;

pub use self::queries::new_link_id;
pub use self::types::{ConnectLink, ConnectLinkFilter, LinkEnd, LinkHash, NewConnectLink};

#[cfg(test)]
mod tests;
