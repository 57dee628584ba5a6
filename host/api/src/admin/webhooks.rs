//! The operator's routes of webhooks of all tenants.

use hyper::{Response, StatusCode};
use serde_json::json;

use crate::answer::private_answer;
use crate::page;
use crate::records::AnyWebhookPageRecord;
use crate::route::HttpCall;
use body::Body;
use problem::{self, Problem, read_query, webhook_problem};
use store::{AnyDeliveryFilter, DeliveryStatus, Resent};
use webhooks::parse_url_filter;

/// The parameters of the list.
const PARAMETERS: [&str; 6] = ["limit", "cursor", "id", "status", "tenant", "url"];

/// GET /admin/webhooks: a page of the webhooks of all tenants, the newest first.
pub(crate) async fn list_webhooks(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let filter = parse_query(call.head.uri.query().unwrap_or_default())?;
    let limit = filter.limit;
    let found = call.gateway.store.all_deliveries(AnyDeliveryFilter { limit: limit + 1, ..filter }).await;
    let mut found = found.map_err(|error| webhook_problem(&error.into()))?;
    let next_cursor = page::next_cursor(&mut found, limit, |last| {
        page::place_in_time(last.created_at, last.delivery.webhook_id.clone())
    });
    let mut webhooks = Vec::with_capacity(found.len());
    for delivery in found {
        webhooks.push(call.gateway.webhooks.any_record(delivery).await.map_err(|error| webhook_problem(&error))?);
    }
    Ok(private_answer(&json!(AnyWebhookPageRecord { webhooks, next_cursor })))
}

/// POST /admin/webhooks/{webhook_id}/resend: sends it now, under the same id.
pub(crate) async fn resend_webhook(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let id = call.arguments.webhook_id;
    let webhooks = &call.gateway.webhooks;
    let resent = call.gateway.store.resend_delivery(id).await.map_err(|error| webhook_problem(&error.into()))?;
    match resent {
        Resent::Due(delivery) => {
            webhooks.wake();
            let record = webhooks.any_record(*delivery).await.map_err(|error| webhook_problem(&error))?;
            let mut answer = private_answer(&json!(record));
            *answer.status_mut() = StatusCode::ACCEPTED;
            Ok(answer)
        }
        Resent::NotKept => Err(problem::WEBHOOK_NOT_KEPT.with_detail(
            "The URL and the body of a webhook are deleted some time after its last attempt. The configuration's `callbacks.keep_h` says when.",
        )),
        Resent::Unknown => Err(problem::UNKNOWN_WEBHOOK
            .with_detail(format!("There is no webhook with the id `{id}`; GET /admin/webhooks lists them."))),
    }
}

fn parse_query(query: &str) -> Result<AnyDeliveryFilter, Problem> {
    let mut filter = AnyDeliveryFilter { limit: page::DEFAULT_LIMIT, ..AnyDeliveryFilter::default() };
    read_query(query, &PARAMETERS, |name, value| {
        match name {
            "limit" => filter.limit = page::limit(value)?,
            "cursor" => filter.before = page::cursor_in_time(value)?,
            "id" => filter.id = Some(value.to_owned()),
            "status" => filter.status = Some(page::one_of(value, &DeliveryStatus::ALL, DeliveryStatus::name)?),
            "tenant" => filter.tenant = Some(value.to_owned()),
            "url" => filter.url = Some(parse_url_filter(value)?),
            _ => {}
        }
        Ok(())
    })?;
    Ok(filter)
}
