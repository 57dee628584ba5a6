//! The `config` interface: the operator's settings for the connector.

use super::bindings::gateway::connector::config::Host;
use super::guest::Guest;

impl Host for Guest {
    fn get(&mut self, key: String) -> wasmtime::Result<Option<String>> {
        Ok(self.call.settings.get(&key).cloned())
    }
}
