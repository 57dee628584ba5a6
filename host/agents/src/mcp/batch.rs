//! Several messages in one POST, which only the revision 2025-03-26 has.

use futures_util::{StreamExt, stream};
use hyper::{Response, StatusCode};
use serde_json::value::RawValue;

use super::lifecycle::{self, Client};
use super::{Done, Exchange, Failed, accepted, rpc_error, rpc_response, rpc_text};
use body::{Body, complete};
use mcp::Revision;
use mcp::message::{self, INVALID_REQUEST, Incoming, RpcError};
use memory::Reservation;
use problem::{self, Problem};

/// The most messages of one batch.
const MAX_BATCH: usize = 50;

/// The calls of a batch that run at the same time.
const BATCH_CONCURRENCY: usize = 4;

impl Exchange<'_> {
    /// Answers a batch, which only the revision 2025-03-26 has.
    pub(super) async fn answer_batch(&self, text: &str) -> Result<Response<Body>, Problem> {
        let refused = |reason: &str| {
            let error = RpcError::new(INVALID_REQUEST, reason);
            Ok(rpc_text(StatusCode::BAD_REQUEST, message::failure(None, &error)))
        };
        match lifecycle::revision_of_header(self.headers) {
            Ok(None | Some(Revision::V2025_03_26)) => {}
            _ => return refused("Only the revision 2025-03-26 has batches; send each message by itself."),
        }
        let Ok(parts) = json_text::first_elements(text, MAX_BATCH) else { return refused("The batch is not JSON.") };
        if parts.count == 0 || parts.count > MAX_BATCH {
            return refused(&format!("A batch has 1 to {MAX_BATCH} messages."));
        }
        let client = match lifecycle::client_of_batch(self).await {
            Ok(client) => client,
            Err(Failed::Problem(problem)) => return Err(*problem),
            Err(Failed::Rpc(status, error)) => return Ok(rpc_text(status, message::failure(None, &error))),
        };
        let numbered = parts.first.iter().enumerate();
        let answers: Vec<_> = numbered.map(|(number, raw)| Box::pin(self.held_answer(&client, raw, number))).collect();
        // In the order of the batch.
        let answers: Vec<_> = stream::iter(answers).buffered(BATCH_CONCURRENCY).collect().await;
        let answers: Vec<(String, Reservation)> = answers.into_iter().flatten().collect();
        if answers.is_empty() {
            return Ok(accepted());
        }
        let mut held = self.memory().part();
        let size: usize = answers.iter().map(|(text, _)| text.len() + 1).sum();
        held.grow_to(size + 1).map_err(problem::no_memory)?;
        let mut text = String::with_capacity(size + 1);
        for (answer, _) in &answers {
            text.push(if text.is_empty() { '[' } else { ',' });
            text.push_str(answer);
        }
        text.push(']');
        Ok(rpc_response(StatusCode::OK, complete(text.into(), held)))
    }

    /// The answer to one message of a batch, which is a part of the memory budget while the others
    /// run. `None` if it needs none.
    async fn held_answer(&self, client: &Client, raw: &RawValue, number: usize) -> Option<(String, Reservation)> {
        let answer = self.answer_one(client, raw, number).await?;
        let mut held = self.memory().part();
        match held.grow_to(answer.len()) {
            Ok(()) => Some((answer, held)),
            Err(exhausted) => {
                let id = match message::read(raw.get()) {
                    Ok(Incoming::Request(request)) => Some(request.id),
                    _ => None,
                };
                Some((message::failure(id, &rpc_error(&problem::no_memory(exhausted))), held))
            }
        }
    }

    /// The answer to one message of a batch. `None` if it needs none.
    async fn answer_one(&self, client: &Client, raw: &RawValue, number: usize) -> Option<String> {
        let request = match message::read(raw.get()) {
            Ok(Incoming::Request(request)) => request,
            Ok(_) => return None,
            Err((id, error)) => return Some(message::failure(id, &error)),
        };
        // Each call has a separate record.
        let request_id = format!("{}-{number}", self.request_id);
        let outcome = match request.method.as_str() {
            "initialize" => Err(RpcError::new(INVALID_REQUEST, "`initialize` must be sent by itself.").into()),
            _ => self.dispatch(client, &request, None, &request_id).await,
        };
        let outcome = match outcome {
            // No part of a batch is a stream of events.
            Ok(Done::Waiting(wait)) => wait.end().await.map_err(Failed::from),
            Ok(Done::Text(result)) => Ok(result),
            Err(failed) => Err(failed),
        };
        Some(match outcome {
            Ok(result) => message::success(request.id, &result),
            Err(Failed::Rpc(_, error)) => message::failure(Some(request.id), &error),
            Err(Failed::Problem(problem)) => message::failure(Some(request.id), &rpc_error(&problem)),
        })
    }
}
