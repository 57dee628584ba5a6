//! From an invocation to the code of its row. `connector!` refers to these functions; authors have no need to.

use crate::bindings::gateway::connector::manifest::Manifest;
use crate::input::{Fields, Input};
use crate::outcome;
pub use crate::outcome::Answer;
use crate::table::{Connector, Operation, Row};
pub use crate::thin::RowRequest;
use crate::{Fault, Outcome, Request, describe, thin};

/// The manifest of a connector.
#[must_use]
pub fn manifest(connector: &Connector) -> Manifest {
    describe::describe(connector)
}

/// Runs the operation of this name.
///
/// # Errors
/// What the operation says; [`Fault::Failed`] for a name that the connector does not have.
pub fn invoke(connector: &Connector, operation: &str, input: &str) -> Answer {
    match find(connector, operation) {
        Some(found) => (found.run)(input),
        None => Err(unknown(connector, operation)),
    }
}

/// Like [`invoke`], for a connector whose operations all only forward. Then the module links nothing of the other outcomes.
///
/// # Errors
/// As [`invoke`].
pub fn invoke_forward(connector: &Connector, operation: &str, input: &str) -> Result<RowRequest, Fault> {
    match find(connector, operation).and_then(|found| found.row) {
        Some(row) => thin::request(row, input),
        None => Err(unknown(connector, operation)),
    }
}

fn find<'a>(connector: &'a Connector, operation: &str) -> Option<&'a Operation> {
    connector.operations.iter().find(|known| known.path == operation)
}

fn unknown(connector: &Connector, operation: &str) -> Fault {
    Fault::Failed(format!("{} has no operation {operation}", connector.identifier))
}

/// A row that is one request.
///
/// # Errors
/// [`Fault::InvalidInput`] when a value cannot stand where the row puts it.
pub fn forward(row: &'static Row, input: &str) -> Answer {
    outcome::forward(thin::request(row, input))
}

/// A row whose request goes through a function of the author.
///
/// # Errors
/// As [`forward`], and what the function says.
pub fn via(row: &'static Row, input: &str, function: fn(Request) -> Result<Outcome, Fault>) -> Answer {
    outcome::answer(thin::request(row, input).map(Request::from).and_then(function))
}

/// A row that is a function of the author.
///
/// # Errors
/// What the function says.
pub fn call<T: Input>(input: &str, function: fn(T) -> Result<Outcome, Fault>) -> Answer {
    outcome::answer(Fields::parse(input).and_then(|fields| T::read(&fields)).and_then(function))
}

/// A row that is a function of the author without an argument.
///
/// # Errors
/// What the function says.
pub fn call_without_input(function: fn() -> Result<Outcome, Fault>) -> Answer {
    outcome::answer(function())
}
