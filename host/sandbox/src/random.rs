//! The `random` interface: values of the operating system's generator.

use contract_rules::limit::RANDOM_BYTES;
use ring::rand::{SecureRandom, SystemRandom};

use super::bindings::gateway::connector::random::Host;
use super::guest::Guest;

impl Host for Guest {
    fn bytes(&mut self, length: u32) -> wasmtime::Result<Result<Vec<u8>, String>> {
        // The bound keeps the time of a call far below a tick, and its memory small.
        let Some(length) = usize::try_from(length).ok().filter(|length| *length <= RANDOM_BYTES) else {
            return Ok(Err(format!(
                "at most {RANDOM_BYTES} random bytes in one call, and this call asks for {length}"
            )));
        };
        let mut bytes = vec![0; length];
        let filled = SystemRandom::new().fill(&mut bytes);
        filled.map_err(|_| wasmtime::format_err!("the operating system gives no random values"))?;
        Ok(Ok(bytes))
    }
}
