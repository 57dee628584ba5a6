//! The request of an operation that is data. No instance of the connector is made.

use memory::Reservation;
use rows::Row;
use sandbox::{Fault, Outcome};

use super::{Call, Error, Services, run_computation};

/// A body that is read from the input and written again takes this many times its size: encoded as
/// a form, it may have three times its size.
const GROWTH: usize = 4;

/// Makes the request of a row for an input that the schema has accepted. It also gives the memory
/// that the request takes until the response arrives.
///
/// # Errors
/// If there is no memory for it, or no time.
pub(super) async fn make(
    services: Services<'_>,
    call: &Call<'_>,
    row: &Row,
    input: &str,
) -> Result<(Result<Outcome, Fault>, Reservation), Error> {
    let memory = services.egress.memory();
    let mut held = memory.part();
    held.grow_to(input.len().saturating_mul(GROWTH))?;
    let work = || sandbox::row::request(row, input, call.connector.settings(), memory);
    let request = run_computation(input.len(), call.deadline, work).await??;
    Ok((request.map(Outcome::Forward), held))
}
