//! The invocation of a connector in the sandbox, and a second one with a new credential if the
//! upstream has refused the first.

use std::sync::Arc;

use super::run::Run;
use super::{Call, Services};
use contract::Effect;
use memory::Reservation;
use metrics::{Metrics, OutcomeLabels};
use registry::{Connector, Operation};
use sandbox::row::Declared;
use sandbox::{CpuBudget, Fault, InvocationError, Outcome, storage};

impl Run<'_, '_> {
    /// Invokes the connector. If its fault says that the credential was refused, the credential is
    /// refreshed, and the connector is invoked once more where repeating is safe.
    pub(super) async fn invoke(&mut self, input: &str) -> Result<Result<Outcome, Fault>, InvocationError> {
        let call = self.call;
        let cpu = CpuBudget::new(call.limits().cpu);
        let outcome = self.invoke_once(input, &cpu).await?;
        if !is_unauthorized(&outcome) {
            return Ok(outcome);
        }
        self.stages.next(&call.operation.metrics.credential);
        let is_refreshed = self.account.refresh(call.deadline).await;
        self.stages.end(is_refreshed);
        // With at most one request, the upstream has refused everything that the operation requested.
        let is_repeatable = call.operation.manifest.effect == Effect::Read || self.outbound.record().requests() <= 1;
        if is_refreshed && is_repeatable {
            return self.invoke_once(input, &cpu).await;
        }
        self.has_unused_credential = is_refreshed;
        Ok(outcome)
    }

    /// One invocation in the sandbox.
    async fn invoke_once(&mut self, input: &str, cpu: &CpuBudget) -> Result<Result<Outcome, Fault>, InvocationError> {
        let Self { services, call, account, outbound, stages, .. } = self;
        let Call { connector, operation, deadline, .. } = call;
        let mut traced = outbound.clone();
        traced.trace(stages.next(&operation.metrics.invoke).tracing());
        let (declared, _held) = declared(*services, operation, input)?;
        let make_call = |may_store: bool| sandbox::Call {
            deadline: *deadline,
            settings: Arc::clone(connector.settings()),
            outbound: traced.clone(),
            storage: account.partition.as_ref().filter(|_| may_store).map(|partition| storage::Scope {
                store: services.store.clone(),
                vault: services.integrations.vault().clone(),
                connector: Arc::clone(connector.name()),
                partition: Arc::clone(partition),
            }),
            progress: call.background.as_ref().map(|background| background.progress.clone()),
            cpu: cpu.clone(),
            declared: declared.clone(),
        };
        let manifest = &operation.manifest;
        let outcome = match services.registry.admit_invocation(call.run_as.tenant()) {
            Err(_) => Err(InvocationError::Busy),
            Ok(_permit) => {
                connector.module().invoke(make_call, call.limits(), &manifest.path, input, manifest.immediate).await
            }
        };
        stages.end(outcome.is_ok());
        outcome.inspect_err(|failure| count_failure(services.metrics, connector, failure))
    }
}

/// The request that the connector may ask for, with the memory of its copy of the input.
fn declared(
    services: Services<'_>,
    operation: &Operation,
    input: &str,
) -> Result<(Option<Declared>, Reservation), InvocationError> {
    let mut held = services.egress.memory().part();
    let Some(row) = &operation.request else { return Ok((None, held)) };
    held.grow_to(input.len()).map_err(|_| InvocationError::NoMemory)?;
    Ok((Some(Declared { row: Arc::clone(row), input: input.into() }), held))
}

/// Returns `true` if the connector says that the upstream refused the user's credential.
fn is_unauthorized(outcome: &Result<Outcome, Fault>) -> bool {
    matches!(outcome, Err(Fault::Upstream(fault)) if fault.status == 401)
}

fn count_failure(metrics: &Metrics, connector: &Connector, failure: &InvocationError) {
    let outcome = match failure {
        InvocationError::Limit(limit) => limit.name(),
        InvocationError::TimedOut(_) => "timeout",
        InvocationError::Trapped(_) => "trap",
        InvocationError::Busy | InvocationError::NoMemory => "busy",
    };
    let labels = OutcomeLabels { connector: connector.manifest().identifier.clone(), outcome: outcome.to_owned() };
    metrics.sandbox_failures.get_or_create_owned(&labels).inc();
}
