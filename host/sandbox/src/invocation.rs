//! One invocation: a store, an instance, one call, and its outcome.
//!
//! Every invocation has a new store and a new instance. Both are dropped at its end. No invocation
//! therefore sees the memory of another one, and a store that trapped or was cancelled is never
//! used again.

use bytes::Bytes;
use serde::de::IgnoredAny;
use tokio::time::timeout_at;
use wasmtime::component::InstancePre;
use wasmtime::{Store, UpdateDeadline};

use contract::{Additions, Manifest};

use super::bindings::gateway::connector::outcome;
use super::call::Call;
use super::deadline::until;
use super::guest::Guest;
use super::invocation_error::{InvocationError, cause_of, trapped};
use super::limits::{Awaited, Limit, Limits, MAX_HANDLES};
use super::module::Module;
use super::ticker::TICK;

/// Maximum time that a guest without a fiber may occupy its thread. If it takes longer, it is run
/// again on a fiber, where it yields to others. It has sent and stored nothing yet, so nothing is
/// done twice.
const MAX_SYNC_TICKS: u32 = 5;

/// The result of an invocation.
pub enum Outcome {
    /// The gateway sends this request, and answers with the response.
    Forward(super::http::Request),
    /// JSON text.
    Reply(Bytes),
    /// A file.
    File(File),
}

/// A file. See `file` in the contract.
pub struct File {
    /// The content.
    pub content: Content,
    /// The name.
    pub file_name: String,
    /// Media type without parameters.
    pub content_type: String,
    /// Further members for the JSON form, as the text of an object. May be empty.
    pub members: String,
    /// `true` if the JSON form has `sha256`.
    pub digest: bool,
    /// Maximum size in bytes; 0 if the connector sets none.
    pub max_bytes: u64,
}

/// The content of a file.
pub enum Content {
    /// Bytes that the connector made.
    Bytes(Bytes),
    /// The body of a response.
    Response(Box<super::http::Response>),
}

pub use outcome::Fault;

impl Module {
    /// Calls `describe`, which is called once, before the connector serves.
    pub(super) async fn describe(&self, call: Call, limits: Limits) -> Result<(Manifest, Additions), InvocationError> {
        let (deadline, cpu) = (call.deadline, call.cpu.clone());
        let run = async {
            let mut guest = self.guest(call, limits)?;
            guest.declarations = Some(Box::default());
            let mut store = yielding_store(self.linked.engine(), guest)?;
            let result = async {
                let instance = self.linked.instantiate_async(&mut store).await?;
                self.exports_of(&instance, &mut store)?.call_describe(&mut store).await
            };
            let result = result.await;
            finish(result, store)
        };
        let (manifest, mut store) = until(deadline, &cpu, run).await?;
        let additions =
            store.data_mut().declarations.take().map(|declarations| declarations.additions).unwrap_or_default();
        drop(store);
        self.code.release();
        Ok((manifest, additions))
    }

    fn guest(&self, call: Call, limits: Limits) -> Result<Guest, InvocationError> {
        let slots = self.take_slots().ok_or(InvocationError::Busy)?;
        Ok(Guest::new(call, limits, self.start_guest(), slots))
    }

    /// Runs one operation. `immediate` is the operation's flag of this name in the manifest.
    /// `make_call` may be called twice. Its argument is `false` for a run in which the guest has no
    /// storage, because storage may wait.
    ///
    /// # Errors
    /// If the guest traps, breaks a limit, does not end in time, or finds no free slot.
    pub async fn invoke(
        &self,
        make_call: impl Fn(bool) -> Call,
        limits: Limits,
        operation: &str,
        input: &str,
        immediate: bool,
    ) -> Result<Result<Outcome, Fault>, InvocationError> {
        if let (true, Some(linked)) = (immediate, &self.linked_sync) {
            let call = make_call(false);
            let (cpu, deadline) = (call.cpu.clone(), call.deadline);
            match self.run_sync(linked, self.guest(call, limits)?, (operation, input)) {
                // The guest has used up its time without a fiber. It may have time left for a run
                // on a fiber.
                Err(error @ InvocationError::Limit(Limit::Cpu)) => {
                    cpu.spend(TICK.saturating_mul(MAX_SYNC_TICKS)).map_err(|_| error)?;
                }
                Err(error) => return Err(error),
                Ok((outcome, store)) => {
                    let taken = timeout_at(deadline, take_outcome(outcome, store, limits)).await;
                    return taken.unwrap_or(Err(InvocationError::TimedOut(Awaited::Processor)));
                }
            }
        }
        let call = make_call(true);
        let (deadline, cpu) = (call.deadline, call.cpu.clone());
        let run = async {
            let (outcome, store) = self.run_on_fiber(self.guest(call, limits)?, (operation, input)).await?;
            take_outcome(outcome, store, limits).await
        };
        // Boxed, because callers move their futures at each call, and most calls do not need this
        // one.
        until(deadline, &cpu, Box::pin(run)).await
    }

    fn run_sync(
        &self,
        linked: &InstancePre<Guest>,
        guest: Guest,
        arguments: (&str, &str),
    ) -> Result<(WitOutcome, Store<Guest>), InvocationError> {
        let mut store = store(linked.engine(), guest)?;
        store.set_epoch_deadline(MAX_SYNC_TICKS.into());
        let result = linked
            .instantiate(&mut store)
            .and_then(|instance| self.invoke_export(&instance, &mut store)?.call(&mut store, arguments));
        finish(result.map(|(outcome,)| outcome), store)
    }

    async fn run_on_fiber(
        &self,
        guest: Guest,
        arguments: (&str, &str),
    ) -> Result<(WitOutcome, Store<Guest>), InvocationError> {
        let mut store = yielding_store(self.linked.engine(), guest)?;
        let result = async {
            let instance = self.linked.instantiate_async(&mut store).await?;
            self.invoke_export(&instance, &mut store)?.call_async(&mut store, arguments).await
        };
        let result = result.await;
        finish(result.map(|(outcome,)| outcome), store)
    }
}

type WitOutcome = Result<outcome::Outcome, outcome::Fault>;

fn store(engine: &wasmtime::Engine, guest: Guest) -> Result<Store<Guest>, InvocationError> {
    let limits = guest.limits;
    let mut store = Store::try_new(engine, guest).map_err(|error| trapped(&error, Vec::new()))?;
    store.limiter(|guest| guest);
    store.set_hostcall_fuel(limits.output_bytes);
    store.set_max_component_handles(MAX_HANDLES);
    Ok(store)
}

/// A store whose guest yields at each tick, and traps when its CPU budget is used up.
fn yielding_store(engine: &wasmtime::Engine, guest: Guest) -> Result<Store<Guest>, InvocationError> {
    let mut store = store(engine, guest)?;
    // The callback runs only while the guest computes, so the time in which the guest waits is not
    // counted.
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|mut store| {
        store.data_mut().call.cpu.spend(TICK)?;
        Ok(UpdateDeadline::Yield(1))
    });
    Ok(store)
}

fn finish<R>(result: wasmtime::Result<R>, mut store: Store<Guest>) -> Result<(R, Store<Guest>), InvocationError> {
    store.data_mut().flush_output();
    match result {
        Ok(value) => Ok((value, store)),
        Err(error) => Err(cause_of(&error, store.data_mut())),
    }
}

/// Takes the resources of an outcome out of the store, and drops the store.
async fn take_outcome(
    outcome: WitOutcome,
    mut store: Store<Guest>,
    limits: Limits,
) -> Result<Result<Outcome, Fault>, InvocationError> {
    let guest = store.data_mut();
    let foreign = |error: wasmtime::component::ResourceTableError| trapped(&error.into(), Vec::new());
    let outcome = match outcome {
        // The runtime of a language turns refused memory into an exception, which the connector then
        // reports as a defect.
        Err(fault) => {
            return match (&fault, guest.refused_growth()) {
                (Fault::Failed(_), Some(refused)) => Err(refused.into()),
                _ => Ok(Err(fault)),
            };
        }
        Ok(outcome) => outcome,
    };
    Ok(Ok(match outcome {
        outcome::Outcome::Forward(request) => Outcome::Forward(
            super::http::Request::from_guest(request, guest).map_err(|error| trapped(&error, Vec::new()))?,
        ),
        outcome::Outcome::Reply(text) => {
            if text.len() > limits.output_bytes {
                return Err(InvocationError::Limit(Limit::Output));
            }
            let checked = compute::run(text.len(), || serde_json::from_str::<IgnoredAny>(&text)).await;
            if let Err(error) = checked {
                return Ok(Err(Fault::Failed(format!("the connector's answer is not JSON: {error}"))));
            }
            Outcome::Reply(text.into())
        }
        outcome::Outcome::ReplyDocument(document) => {
            Outcome::Reply(guest.table.delete(document).map_err(foreign)?.into_text())
        }
        outcome::Outcome::ReplyFile(file) => Outcome::File(File {
            content: match file.content {
                outcome::Content::Bytes(bytes) => Content::Bytes(bytes.into()),
                outcome::Content::Response(response) => {
                    Content::Response(Box::new(guest.table.delete(response).map_err(foreign)?))
                }
            },
            file_name: file.file_name,
            content_type: file.content_type,
            members: file.members,
            digest: file.digest,
            max_bytes: file.max_bytes,
        }),
    }))
}
