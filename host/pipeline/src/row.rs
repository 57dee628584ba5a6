//! The request of an operation that is data. No instance of the connector is made.

use memory::Reservation;
use rows::Row;
use sandbox::{Fault, Outcome};

use super::{Call, Error, Services, run_computation};

/// A path, a header or a body of JSON that is read from the input and written again takes at most
/// this many times its size: percent-encoded, it may have three times its size.
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
    let usual = input.len().saturating_mul(GROWTH);
    held.grow_to(sandbox::row::most_bytes(row, input).max(usual))?;
    let work = || {
        let made = sandbox::row::request(row, input, call.connector.settings(), memory);
        made.map(|request| (request.as_ref().map_or(0, |request| request.size()), request))
    };
    let (size, request) = run_computation(input.len(), call.deadline, work).await??;
    // A form of many short values is larger than usual, also once it is encoded.
    held.shrink_to(size.max(usual));
    held.grow_to(size)?;
    Ok((request.map(Outcome::Forward), held))
}
