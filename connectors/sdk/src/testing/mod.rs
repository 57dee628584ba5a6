//! Native tests of connectors: a stand-in for the gateway, for the thread of a test.
//!
//! ```
//! use connector_sdk::testing::{Answer, Gateway};
//! use connector_sdk::{Request, http};
//!
//! let gateway = Gateway::new().answer(Answer::json(200, r#"{"name":"Ada"}"#));
//! let response = http::send(Request::get("api", "/users/1")).expect("an answer was prepared");
//! assert_eq!(response.document().expect("it is JSON").string("/name").as_deref(), Some("Ada"));
//! assert_eq!(gateway.requests()[0].path, "/users/1");
//! ```
//!
//! # Layout
//! - here: [`Gateway`], its prepared responses, and how a test invokes an operation.
//! - `host`: the functions of the contract.
//! - `document`: the JSON documents of the contract.
//! - `check`: the rules for a manifest.
//! - `listing`: a table as lines of text.
//! - `recording`: tests against recorded responses.

mod check;
mod document;
pub(crate) mod host;
mod listing;
mod recording;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use contract_rules::pointer;

pub use check::check;
pub use host::http::Response;
pub use listing::{examples, pages};
pub use recording::replay;

use crate::http::{Body, Error, Link, Request, TypedBytes};
use crate::multipart::Part;
use crate::table::{Connector, Upstream};
use crate::texts::{self, Texts};
use crate::{Fault, Outcome, Violation, run};

thread_local! {
    static CURRENT: RefCell<Rc<RefCell<State>>> = RefCell::default();
}

#[derive(Default)]
struct State {
    /// The upstreams of the connector that the test has invoked last. Empty before the first
    /// invocation.
    upstreams: &'static [Upstream],
    answers: VecDeque<Result<Answer, Error>>,
    /// Returns responses instead of the prepared ones.
    recorded: Option<rows::recording::Recording>,
    requests: Vec<Rc<Request>>,
    settings: BTreeMap<String, String>,
    storage: BTreeMap<String, Vec<u8>>,
    log: Vec<String>,
    progress: Vec<(f64, String)>,
    now: u64,
    /// The state of the generator of random values.
    random: u64,
    /// The parts of the forms with files, in the order in which they were built.
    multiparts: Vec<Vec<Part>>,
}

impl State {
    /// The parts that the body of a request stands for. `None` for any other body.
    fn parts(&self, body: Option<&Body>) -> Option<&[Part]> {
        let Some(Body::Bytes(TypedBytes { content_type, bytes })) = body else { return None };
        let number = content_type.strip_prefix("multipart/form-data; boundary=parts-").filter(|_| bytes.is_empty())?;
        let index = number.parse::<usize>().ok()?.checked_sub(1)?;
        self.multiparts.get(index).map(Vec::as_slice)
    }
}

fn current() -> Rc<RefCell<State>> {
    CURRENT.with_borrow(Rc::clone)
}

/// The gateway that the code under test calls, until the value is dropped.
#[must_use = "the code under test calls this gateway until the value is dropped"]
pub struct Gateway {
    state: Rc<RefCell<State>>,
    outer: Rc<RefCell<State>>,
}

impl Gateway {
    /// A gateway without settings, stored values and prepared responses. Its clock is 0, and
    /// advances when a connector sleeps. Its random values are the same in each run.
    pub fn new() -> Self {
        let state: Rc<RefCell<State>> = Rc::default();
        let outer = CURRENT.with(|current| current.replace(Rc::clone(&state)));
        Self { state, outer }
    }

    /// Prepares a response. Requests get the responses in the order in which they were prepared.
    pub fn answer(self, answer: Answer) -> Self {
        self.state.borrow_mut().answers.push_back(Ok(answer));
        self
    }

    /// Prepares a failure instead of the next response.
    pub fn failure(self, error: Error) -> Self {
        self.state.borrow_mut().answers.push_back(Err(error));
        self
    }

    /// Sets one of the operator's settings to a JSON value.
    pub fn setting(self, name: &str, json: &str) -> Self {
        self.state.borrow_mut().settings.insert(name.to_owned(), json.to_owned());
        self
    }

    /// Sets the clock: milliseconds since 1970-01-01T00:00:00Z.
    pub fn now(self, milliseconds: u64) -> Self {
        self.state.borrow_mut().now = milliseconds;
        self
    }

    /// The requests sent so far, in their order.
    #[must_use]
    pub fn requests(&self) -> Vec<Rc<Request>> {
        self.state.borrow().requests.clone()
    }

    /// The parts of a request whose body is a form with files. Empty for any other body.
    #[must_use]
    pub fn parts(&self, request: &Request) -> Vec<Part> {
        self.state.borrow().parts(request.body.as_ref()).unwrap_or_default().to_vec()
    }

    /// The lines logged so far.
    #[must_use]
    pub fn log(&self) -> Vec<String> {
        self.state.borrow().log.clone()
    }

    /// The progress reported so far: fractions and messages.
    #[must_use]
    pub fn progress(&self) -> Vec<(f64, String)> {
        self.state.borrow().progress.clone()
    }

    /// A value in the storage.
    #[must_use]
    pub fn stored(&self, key: &str) -> Option<Vec<u8>> {
        self.state.borrow().storage.get(key).cloned()
    }
}

impl Default for Gateway {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        CURRENT.with(|current| current.replace(Rc::clone(&self.outer)));
    }
}

impl Link {
    /// The address, as the response of the test's gateway gave it. In the sandbox, a connector
    /// cannot read it.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.0.0
    }
}

/// An upstream's response.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Names, in any case, and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// A response with this body and no headers.
    #[must_use]
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    /// A response with a JSON body.
    #[must_use]
    pub fn json(status: u16, body: &str) -> Self {
        Self::new(status, body).header("content-type", "application/json")
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// Runs an operation of a connector as the gateway does after it has validated the input.
///
/// # Errors
/// The operation's fault, or [`Error::InvalidRequest`] if a request breaks a rule of the contract.
///
/// # Panics
/// If the place of an invalid input is not a JSON Pointer.
#[expect(clippy::panic, reason = "a failed expectation of a test")]
pub fn invoke(connector: &Connector, operation: &str, input: &str) -> Result<Outcome, Fault> {
    current().borrow_mut().upstreams = connector.upstreams;
    let outcome = run::invoke(connector, operation, input);
    if let Err(Fault::InvalidInput(violations)) = &outcome {
        for Violation { pointer, detail } in violations {
            if let Err(broken) = pointer::check(pointer) {
                panic!("{operation} refuses the input at `{pointer}` ({detail}): {broken}");
            }
        }
    }
    let outcome = outcome?;
    if let Outcome::Forward(request) = &outcome {
        host::http::check(&current().borrow(), request)?;
    }
    Ok(outcome)
}

/// The request that an operation forwards.
///
/// # Panics
/// If the operation returns anything else.
#[must_use]
#[expect(clippy::panic, reason = "a failed expectation of a test")]
pub fn forwarded(connector: &Connector, operation: &str, input: &str) -> Request {
    match invoke(connector, operation, input) {
        Ok(Outcome::Forward(request)) => request,
        other => panic!("{operation} forwards no request; it answered {other:?}"),
    }
}

/// The violations of an input that an operation refuses before it sends a request.
///
/// # Panics
/// If the operation returns anything else, or sends a request.
#[must_use]
#[expect(clippy::panic, reason = "a failed expectation of a test")]
pub fn refused(connector: &Connector, operation: &str, input: &str) -> Vec<Violation> {
    let sent = || current().borrow().requests.len();
    let before = sent();
    match invoke(connector, operation, input) {
        Err(Fault::InvalidInput(violations)) if sent() == before => violations,
        Err(Fault::InvalidInput(_)) => panic!("{operation} sent a request before it refused {input}"),
        other => panic!("{operation} does not refuse {input}; it answered {other:?}"),
    }
}

/// The texts of an operation in the manifest: its documentation, schemas and examples.
///
/// # Panics
/// If the connector does not have the operation.
#[must_use]
#[expect(clippy::panic, reason = "a failed expectation of a test")]
pub fn about(connector: &Connector, operation: &str) -> Texts {
    let mut operations = connector.operations.iter().zip(texts::of(connector));
    match operations.find(|(known, _)| known.path == operation) {
        Some((_, texts)) => texts,
        None => panic!("{} has no operation {operation}", connector.identifier),
    }
}
