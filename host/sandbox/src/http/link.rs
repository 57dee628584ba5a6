//! An address from a response, which the guest can request and does not see.

use crate::host_memory::HeldMemory;

/// An address from a response, as the guest holds it.
pub struct Link {
    address: egress::Link,
    /// Counts the address.
    _held: HeldMemory,
}

impl Link {
    pub(super) fn new(address: egress::Link, held: HeldMemory) -> Self {
        Self { address, _held: held }
    }

    pub(super) fn into_address(self) -> egress::Link {
        self.address
    }
}
