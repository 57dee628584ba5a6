//! The `signed-links` interface: links that carry a signature in place of a credential. They are
//! signed here, so that the guest does not see the secret.

use super::bindings::gateway::connector::http::Error;
use super::bindings::gateway::connector::signed_links::{Host, LinkRequest};
use super::guest::Guest;

impl Host for Guest {
    fn make(&mut self, request: LinkRequest) -> wasmtime::Result<Result<String, Error>> {
        Ok(self.call.outbound.signed_link(request))
    }
}
