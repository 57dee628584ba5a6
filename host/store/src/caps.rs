//! Limits on the number of integrations and authorizations of one holder.
//!
//! Without them one user could fill the database, or make every list of their own accounts slow.
//!
//! Transactions that run at the same moment may together exceed a limit by a few rows. Preventing this would make every
//! holder's calls wait for each other's commits.

use crate::connection::Connection;
use crate::value::values;
use crate::{Holder, StoreError};

/// Authorizations that are neither taken nor expired.
const AUTHORIZATIONS: Cap = Cap { of_user: 100, of_tenant: 10_000 };

const INTEGRATIONS: Cap = Cap { of_user: 1_000, of_tenant: 100_000 };

/// A limit on the rows of one holder.
struct Cap {
    of_user: u64,
    /// For a holder without a subject. An application that names no users has the accounts of all its users there.
    of_tenant: u64,
}

impl Cap {
    const fn of(&self, holder: &Holder) -> u64 {
        if holder.subject.is_empty() { self.of_tenant } else { self.of_user }
    }
}

/// Fails if the holder may begin no further authorization.
pub(crate) fn check_authorizations(connection: &mut dyn Connection, holder: &Holder) -> Result<(), StoreError> {
    let limit = AUTHORIZATIONS.of(holder);
    let count: u64 = connection.one(
        "SELECT count(*) FROM authorizations
         WHERE tenant = $1 AND subject = $2 AND connector = $3 AND NOT is_used AND expires_at > now_ms()",
        values![&holder.tenant, &holder.subject, &holder.connector],
    )?;
    if count < limit { Ok(()) } else { Err(StoreError::TooManyAuthorizations { limit }) }
}

/// Fails if the holder may have no further integration.
pub(crate) fn check_integrations(connection: &mut dyn Connection, holder: &Holder) -> Result<(), StoreError> {
    let limit = INTEGRATIONS.of(holder);
    let count: u64 = connection.one(
        "SELECT count(*) FROM integrations WHERE tenant = $1 AND subject = $2 AND connector = $3",
        values![&holder.tenant, &holder.subject, &holder.connector],
    )?;
    if count < limit { Ok(()) } else { Err(StoreError::TooManyIntegrations { limit }) }
}
