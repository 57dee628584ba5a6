//! A call with an idempotency key.

use std::time::Duration;

use database::digest::{sha256, sha256_hex};
use database::id::random_id;

use crate::{Sealed, Stored};

/// A call that a caller names with an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotentCall {
    /// Names the key. The key itself is not stored.
    pub id: String,
    /// The tenant of the caller.
    pub tenant: String,
    /// SHA-256 of the request: calls with the same key must be the same.
    pub fingerprint: [u8; 32],
}

impl IdempotentCall {
    /// A call of a tenant's user with this key. `request` are the parts that make two calls the
    /// same.
    pub fn new(tenant: &str, subject: &str, key: &str, request: &[&[u8]]) -> Self {
        let id = sha256_hex(&joined(&[tenant.as_bytes(), subject.as_bytes(), key.as_bytes()]));
        Self { id, tenant: tenant.to_owned(), fingerprint: sha256(&joined(request)) }
    }

    /// A random time of at most 18 minutes. A key is kept for this much longer, which names one
    /// attempt to take the key.
    ///
    /// # Errors
    /// If the operating system provides no random numbers.
    pub fn new_mark() -> Stored<Duration> {
        let [high, middle, low, ..] = sha256(random_id("")?.as_bytes());
        Ok(Duration::from_millis(u32::from_be_bytes([0, high & 0x0f, middle, low]).into()))
    }

    /// The context that the sealed answer is bound to.
    pub fn answer_context(&self) -> [&str; 3] {
        ["idempotent_answer", &self.tenant, &self.id]
    }
}

/// Each part is preceded by its length, so that different parts never give the same bytes.
fn joined(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend((part.len() as u64).to_be_bytes());
        bytes.extend(*part);
    }
    bytes
}

/// A key that a call has taken. It names the call itself, because the key may be given back and
/// taken by another call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenKey {
    /// The time until which the key is kept, by the clock of the database. It never changes.
    pub(super) expires_at: i64,
}

/// The state of a key when a call with it arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// The key is new. It belongs to this call from now on.
    New(TakenKey),
    /// The key belongs to another request.
    OfOtherRequest,
    /// The first call still runs.
    Running,
    /// The gateway that ran the first call has died. The effect of the call is unknown.
    Lost,
    /// The first call has ended with this answer, sealed with [`IdempotentCall::answer_context`].
    Ended(Sealed),
    /// The first call has ended, and its answer was too large to keep.
    EndedWithoutAnswer,
}
