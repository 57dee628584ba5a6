//! From an invocation to the code of its row. The code that `connector!` makes calls these
//! functions. Authors do not.

use crate::bindings::gateway::connector::manifest::Manifest;
use crate::config::OfGateway;
use crate::input::{Fields, Input};
use crate::outcome;
pub use crate::outcome::Answer;
use crate::table::{Connector, Row};
use crate::triggers::Answered;
use crate::{Fault, Outcome, Request, describe};

/// The manifest of a connector.
#[must_use]
pub fn manifest(connector: &Connector) -> Manifest {
    describe::describe(connector)
}

/// Declares what the manifest has no place for. `describe` calls it before it returns the manifest.
#[cfg(target_family = "wasm")]
pub fn declare(connector: &Connector) {
    crate::additions::declare(connector);
}

/// Runs the operation of this name.
///
/// # Errors
/// The operation's fault, or [`Fault::Failed`] for a name that the connector does not have.
pub fn invoke(connector: &Connector, operation: &str, input: &str) -> Answer {
    match connector.operations.iter().find(|known| known.path == operation) {
        Some(found) => (found.run)(input),
        None => Err(Fault::Failed(format!("{} has no operation {operation}", connector.identifier))),
    }
}

/// The operations that are declared: the gateway makes their requests, and does not invoke them.
///
/// # Errors
/// [`Fault::Failed`] always.
#[cfg(target_family = "wasm")]
pub fn declared(_: &str) -> Answer {
    Err(Fault::Failed("The gateway makes the requests of this operation itself.".to_owned()))
}

/// A row that is one request.
///
/// # Errors
/// [`Fault::InvalidInput`] if a value cannot be where the row puts it.
pub fn forward(row: &'static Row, input: &str) -> Answer {
    outcome::answer(request(row, input).map(Outcome::Forward))
}

/// The request of a row for an input.
fn request(row: &'static Row, input: &str) -> Result<Request, Fault> {
    Request::of_row(row.request(input, &OfGateway)?)
}

/// The check of a row, before its request is made.
///
/// # Errors
/// The function's fault.
pub fn check<T: Input>(input: &str, function: fn(&T) -> Result<(), Fault>) -> Result<(), Fault> {
    report_panics();
    Fields::parse(input).and_then(|fields| T::read(&fields)).and_then(|input| function(&input))
}

/// A row whose request goes through a function of the author.
///
/// # Errors
/// See [`forward`]. Also the function's fault.
pub fn via<R: Returned>(row: &'static Row, input: &str, function: fn(Request) -> R) -> Answer {
    report_panics();
    outcome::answer(request(row, input).and_then(|request| function(request).result()))
}

/// A row that is a function of the author.
///
/// # Errors
/// The function's fault.
pub fn call<T: Input, R: Returned>(input: &str, function: fn(T) -> R) -> Answer {
    report_panics();
    outcome::answer(Fields::parse(input).and_then(|fields| T::read(&fields)).and_then(|input| function(input).result()))
}

/// A row that is a function of the author without an argument.
///
/// # Errors
/// The function's fault.
pub fn call_without_input<R: Returned>(function: fn() -> R) -> Answer {
    report_panics();
    outcome::answer(function().result())
}

/// A row that is a function of the author for a trigger.
///
/// # Errors
/// The function's fault.
pub fn internal<I: Input, O: Answered>(input: &str, function: fn(I) -> Result<O, Fault>) -> Answer {
    report_panics();
    let answer = Fields::parse(input).and_then(|fields| I::read(&fields)).and_then(function);
    outcome::answer(answer.map(|answer| Outcome::Reply(answer.json())))
}

/// The result of a function of the author. Only one type has the trait, which is there for the
/// compiler's message about any other type.
#[diagnostic::on_unimplemented(
    message = "the function of a row returns `Result<Outcome, Fault>`, and this one returns `{Self}`",
    label = "write a function that returns `Result<Outcome, Fault>`",
    note = "an `async fn` returns a future, and nothing runs after an operation has returned; leave out `async` and `.await`: `send` returns the response itself"
)]
pub trait Returned {
    /// The result.
    ///
    /// # Errors
    /// The fault of the function.
    fn result(self) -> Result<Outcome, Fault>;
}

impl Returned for Result<Outcome, Fault> {
    fn result(self) -> Self {
        self
    }
}

/// Logs a panic of the author's code for the operator, with file and line. The panic then ends the
/// invocation as a trap. A row that only forwards runs no code of the author and needs no hook.
fn report_panics() {
    #[cfg(target_family = "wasm")]
    std::panic::set_hook(Box::new(|panic| crate::log::error(&panic.to_string())));
}
