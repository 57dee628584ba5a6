//! The `clock` interface.

use std::time::{SystemTime, UNIX_EPOCH};

use super::bindings::gateway::connector::clock::Host;
use super::guest::Guest;

impl Host for Guest {
    fn now(&mut self) -> wasmtime::Result<u64> {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH)?;
        Ok(u64::try_from(since_epoch.as_millis())?)
    }
}
