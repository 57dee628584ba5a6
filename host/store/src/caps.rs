//! How much a holder may have stored: nobody fills the database, or has everybody wait while what is theirs is read.
//!
//! Those who write at the same moment may together end up a few above a cap. To have them wait for each other's commits would
//! cost everybody more.

use super::session::{Session, values};
use super::{Holder, StoreError};

/// Authorizations under way: neither completed nor expired.
const AUTHORIZATIONS: Cap = Cap { of_user: 100, of_tenant: 10_000 };

const INTEGRATIONS: Cap = Cap { of_user: 1_000, of_tenant: 100_000 };

/// An application that names no users has the accounts of all of them as the tenant itself.
struct Cap {
    of_user: u64,
    of_tenant: u64,
}

impl Cap {
    const fn of(&self, holder: &Holder) -> u64 {
        if holder.subject.is_empty() { self.of_tenant } else { self.of_user }
    }
}

/// Fails where the holder may begin no further authorization.
pub(super) fn check_authorizations(session: &mut dyn Session, holder: &Holder) -> Result<(), StoreError> {
    let limit = AUTHORIZATIONS.of(holder);
    let count: u64 = session.one(
        "SELECT count(*) FROM authorizations
         WHERE tenant = $1 AND subject = $2 AND connector = $3 AND NOT is_used AND expires_at > now_ms()",
        values![&holder.tenant, &holder.subject, &holder.connector],
    )?;
    if count < limit { Ok(()) } else { Err(StoreError::TooManyAuthorizations { limit }) }
}

/// Fails where the holder may have no further integration.
pub(super) fn check_integrations(session: &mut dyn Session, holder: &Holder) -> Result<(), StoreError> {
    let limit = INTEGRATIONS.of(holder);
    let count: u64 = session.one(
        "SELECT count(*) FROM integrations WHERE tenant = $1 AND subject = $2 AND connector = $3",
        values![&holder.tenant, &holder.subject, &holder.connector],
    )?;
    if count < limit { Ok(()) } else { Err(StoreError::TooManyIntegrations { limit }) }
}
