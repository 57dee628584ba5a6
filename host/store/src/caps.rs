//! Limits on the number of integrations and authorizations of one holder.
//!
//! Without them one user could fill the database, or make every list of their own accounts slow.
//!
//! Concurrent transactions may together exceed a limit by a few rows. Preventing this would make
//! every holder's calls wait for each other's commits.

use database::connection::Connection;
use database::value::values;

use crate::{Holder, StoreError, Stored};

/// Authorizations that are neither taken nor expired.
const AUTHORIZATIONS: Cap = Cap { of_user: 100, of_tenant: 10_000 };

const INTEGRATIONS: Cap = Cap { of_user: 1_000, of_tenant: 100_000 };

/// A limit on the rows of one holder.
struct Cap {
    of_user: u64,
    /// For a holder without a subject. An application that names no users has the accounts of all
    /// its users there.
    of_tenant: u64,
}

impl Cap {
    const fn for_holder(&self, holder: &Holder) -> u64 {
        if holder.subject.is_empty() { self.of_tenant } else { self.of_user }
    }
}

/// Fails if the holder has the maximum number of authorizations in progress.
pub(crate) fn check_authorizations(connection: &mut dyn Connection, holder: &Holder) -> Stored<()> {
    let limit = AUTHORIZATIONS.for_holder(holder);
    let count: u64 = connection.one(
        "SELECT count(*) FROM authorizations
         WHERE tenant = $1 AND subject = $2 AND connector = $3 AND NOT is_used AND expires_at > now_ms()",
        values![&holder.tenant, &holder.subject, &holder.connector],
    )?;
    if count < limit { Ok(()) } else { Err(StoreError::TooManyAuthorizations { limit }) }
}

/// Fails if the holder has the maximum number of integrations.
pub(crate) fn check_integrations(connection: &mut dyn Connection, holder: &Holder) -> Stored<()> {
    let limit = INTEGRATIONS.for_holder(holder);
    let count: u64 = connection.one(
        "SELECT count(*) FROM integrations WHERE tenant = $1 AND subject = $2 AND connector = $3",
        values![&holder.tenant, &holder.subject, &holder.connector],
    )?;
    if count < limit { Ok(()) } else { Err(StoreError::TooManyIntegrations { limit }) }
}
