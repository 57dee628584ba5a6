//! The parts of the gateway for notifications of services.

use std::time::Instant;

use tokio::runtime::Handle;

use auth::KeyRing;
use egress::Egress;
use hooks::Limits;
use memory::MemoryBudget;

/// The share of the connections, as a divisor, that notifications take at most at the same time.
const CONNECTIONS: usize = 10;

/// The part of the memory, as a divisor, that notifications take at most. It has room for one of
/// the largest notifications with its copy where calls have 400 MB.
const MEMORY: u64 = 8;

/// The parts of the gateway for notifications of services. Anyone can send them, so they have fixed
/// parts of what callers need too.
pub struct Hooks {
    /// How many may come.
    pub limits: Limits,
    /// The memory for their bodies.
    pub memory: MemoryBudget,
    /// Keys of issuers that sign them.
    pub keys: KeyRing,
}

impl Hooks {
    /// The most notifications at the same time, of a gateway with so many connections.
    pub fn places(connections: usize) -> usize {
        (connections / CONNECTIONS).max(1)
    }

    /// Parts of a gateway with so many connections.
    pub fn new(connections: usize, egress: &Egress, background: Handle) -> Self {
        Self {
            limits: Limits::new(Self::places(connections), Instant::now()),
            memory: egress.memory().fixed_part(MEMORY),
            keys: KeyRing::new(egress.clone(), background),
        }
    }
}
