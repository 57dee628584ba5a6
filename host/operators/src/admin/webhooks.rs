//! The operator's routes of webhooks of all tenants.

use hyper::{Response, StatusCode};
use serde_json::json;

use body::Body;
use endpoint::answer::private_answer;
use endpoint::lists::{Field, Filter, List, Parse, Values, filter, put, read};
use endpoint::page;
use endpoint::records::AnyWebhookPageRecord;
use endpoint::route::HttpCall;
use problem::{self, Problem, webhook_problem};
use store::{AnyDeliveryFilter, DeliveryStatus, Resent};
use webhooks::parse_url_filter;

/// The list of webhooks of all tenants.
#[derive(Clone, Copy, Debug)]
pub struct AnyWebhooks;

impl List for AnyWebhooks {
    type Query = AnyDeliveryFilter;

    const FILTERS: &'static [Filter<AnyDeliveryFilter>] = &[
        filter("id", "Only webhooks with this id or `event_id`, which is the header `webhook-id`.")
            .text(|filter| &mut filter.id),
        filter("status", "Only webhooks in this state.").one_of(
            || DeliveryStatus::ALL.map(DeliveryStatus::name).into(),
            |filter, name| filter.status = DeliveryStatus::ALL.into_iter().find(|status| status.name() == name),
        ),
        filter("failing", "Only webhooks that wait for another attempt after one that failed.")
            .only_true(|filter| filter.failing = true),
        filter("tenant", "Only webhooks of this tenant.").text(|filter| &mut filter.tenant),
        // The option `--url` of commands is the address of the gateway.
        filter(
            "url",
            "Only webhooks to this URL. A URL without a path stands for all URLs with its scheme, host and port.",
        )
        .option("to")
        .parsed(Values::Url, |filter, value| put(&mut filter.url, parse_url_filter(value).map(Some))),
    ];

    const LIMIT: Field<AnyDeliveryFilter, u32> = |filter| &mut filter.limit;
    const CURSOR: Parse<AnyDeliveryFilter> = |filter, cursor| put(&mut filter.before, page::cursor_in_time(cursor));
}

/// GET /admin/webhooks: a page of the webhooks of all tenants, the newest first.
pub async fn list_webhooks(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let filter = read::<AnyWebhooks>(call.head.uri.query().unwrap_or_default())?;
    let limit = filter.limit;
    let found = call.gateway.store.webhooks().all_deliveries(AnyDeliveryFilter { limit: limit + 1, ..filter }).await;
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
pub async fn resend_webhook(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let id = call.arguments.webhook_id;
    let webhooks = &call.gateway.webhooks;
    let resent =
        call.gateway.store.webhooks().resend_delivery(id).await.map_err(|error| webhook_problem(&error.into()))?;
    match resent {
        Resent::Due(delivery) => {
            webhooks.wake();
            // The webhook is sent. The call need not be sent again.
            let record = webhooks.any_record(*delivery).await;
            let record = record.map_err(|error| webhook_problem(&error).of_unknown_outcome())?;
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
