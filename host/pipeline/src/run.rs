//! The stages of a call whose body is valid and whose account is chosen.

use std::sync::Arc;

use hyper::header::HeaderMap;

use super::account::{Account, ChosenAccount};
use super::answer::{self, Form};
use super::stages::Stages;
use super::{
    Call, CallAnswer, Error, Services, blame, call_record, file_answer, forwarded_headers, rate, row, upstream_answer,
};
use egress::Remaining;
use registry::Permit;
use sandbox::Outcome;
use sandbox::http::{Outbound, Request};
use schema::Input;

/// Calls that give way share a contended budget as one tenant. With one tenant of callers, they get
/// half of it. No tenant has this name.
const GIVING_WAY: &str = "\0giving way";

/// A call whose credential is ready.
pub(super) struct Run<'r, 'a> {
    pub(super) services: Services<'r>,
    pub(super) call: &'a Call<'a>,
    pub(super) account: Account,
    /// Sends the requests of the call.
    pub(super) outbound: Outbound,
    pub(super) stages: &'r mut Stages<'a>,
    /// `true` if the credential was refreshed after the connector had said that it was refused, and
    /// the connector was not invoked with the new one.
    pub(super) has_unused_credential: bool,
}

/// Runs a call from its permit to its answer.
pub(super) async fn complete<'a>(
    services: Services<'_>,
    call: &'a Call<'a>,
    input: Input<'_>,
    chosen: ChosenAccount,
    stages: &mut Stages<'a>,
) -> Result<CallAnswer, Error> {
    let Call { connector, operation, .. } = call;
    let metrics = &operation.metrics;

    // Before a refresh: a call over a limit sends no request to the provider.
    stages.next(&metrics.admit);
    let (permit, left) = admit(services, call).await?;
    stages.next(&metrics.credential);

    let account = chosen.prepare_credential(services, connector, call.deadline).await?;
    stages.end(true);

    let mut run = Run::new(services, call, account, stages);
    let mut answer = match run.answer(&input, permit).await {
        Ok(answer) => answer,
        Err(error) => {
            let error = error.after(&run.outbound, operation.manifest.effect);
            return Err(blame::caller_for(error, &input.text, call.deadline).await);
        }
    };
    if let Some(left) = left {
        rate::add_headers(&mut answer.headers, &left);
    }
    Ok(answer)
}

impl<'r, 'a> Run<'r, 'a> {
    fn new(services: Services<'r>, call: &'a Call<'a>, account: Account, stages: &'r mut Stages<'a>) -> Self {
        let upstreams = Arc::clone(&account.upstreams);
        let credentials = account.credentials.clone();
        let record = call_record(call.recording);
        let mut outbound = Outbound::new(services.egress.clone(), upstreams, call.deadline, credentials, record);
        call.recording.sends(outbound.record());
        if call.operation.manifest.background {
            outbound = outbound.waiting_for_rate_limits();
        }
        if call.gives_way {
            outbound = outbound.giving_way();
        }
        if let Some(hook) = &call.hook {
            outbound = outbound.with_hook(hook.clone());
        }
        Self { services, call, account, outbound, stages, has_unused_credential: false }
    }

    /// Invokes the connector and answers with its outcome.
    async fn answer(&mut self, input: &Input<'_>, permit: Permit) -> Result<CallAnswer, Error> {
        let Self { services, call, .. } = *self;
        let operation = call.operation;
        let (outcome, _held) = match &operation.row {
            Some(row) => {
                let (outcome, held) = row::make(services, call, row, &input.text).await?;
                (outcome, Some(held))
            }
            None => (self.invoke(&input.text).await?, None),
        };

        let form = Form {
            shape: &input.shape,
            accept: call.accept,
            range: call.range,
            limits: call.limits(),
            deadline: call.deadline,
            memory: services.egress.memory(),
            operation,
            trace: &call.trace,
            recording: call.recording,
        };
        match outcome {
            Ok(Outcome::Forward(request)) => {
                let response = self.forward(request).await?;
                let carried_credential = response.carried_credential;
                let mut upstream_headers = HeaderMap::new();
                forwarded_headers::each(&response.headers, |name, value| {
                    upstream_headers.append(name, value);
                });
                let answer = upstream_answer::of_response(response, &form, permit).await;
                let mut answer = answer.map_err(|error| match carried_credential {
                    true => self.account.explain_refusal(services, error),
                    false => self.account.explain(services, error),
                })?;
                answer.headers.extend(upstream_headers);
                Ok(answer)
            }
            Ok(Outcome::Reply(json)) => answer::of_reply(json, &form, permit).await,
            Ok(Outcome::File(file)) => Box::pin(file_answer::of_reply_file(file, &form, permit)).await,
            // As a refusal, it would ask the user to connect an account that works.
            Err(_) if self.has_unused_credential => Err(Error::TokenRefreshed),
            Err(fault) => Err(self.account.explain_refusal(services, fault.into())),
        }
    }

    /// Sends the request of a thin operation.
    async fn forward(&mut self, request: Request) -> Result<Box<egress::Response>, Error> {
        let call = self.call;
        let manifest = &call.operation.manifest;
        // The caller takes bytes only of a media type that it names.
        let range = call.range.filter(|_| call.accept.may_be_a_file() && manifest.answer != contract::Answer::Json);
        let request = match range {
            Some(range) => request.for_range(range),
            None => request,
        };
        self.outbound.trace(self.stages.next(&call.operation.metrics.forward).tracing());
        // Boxed, because the response passes through several futures, and each would have room for it.
        let response = Box::new(self.outbound.send(request, call.limits().largest_response()).await?);
        self.stages.end(true);
        Ok(response)
    }
}

/// Takes a permit of the connector and counts the call in the operation's rate limit.
async fn admit<'a>(services: Services<'_>, call: &'a Call<'_>) -> Result<(Permit, Option<Remaining<'a>>), Error> {
    let Call { connector, operation, run_as, gives_way, .. } = call;
    let permit = connector.admit(run_as.tenant()).map_err(Error::NoPermit)?;
    let Some(limit) = &operation.manifest.rate_limit else { return Ok((permit, None)) };
    let shared_by = if *gives_way { GIVING_WAY } else { run_as.tenant() };
    let remaining = services.budgets.count(|| connector.quotas().check(limit, shared_by).transpose()).await;
    Ok((permit, remaining.map_err(Error::rate_limited)?))
}
