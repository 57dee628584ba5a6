//! The webhooks that notify the operator of changes (`callbacks.events_url`).

use super::report::Report;
use config::Config;
use store::Store;
use webhooks::TENANT_OF_EVENTS;

const CHECK: &str = "webhooks";

/// Examines if the operator's events can be signed. Without a secret, none is sent. `store` has the
/// secrets, if there can be any.
pub(crate) async fn examine(config: &Config, store: Option<&Store>, report: &mut Report) {
    if config.callbacks.events_url.is_none() {
        return;
    }
    let action = format!(
        "Make a secret with POST /webhooks/secrets and a key of the tenant `{TENANT_OF_EVENTS}`, which needs the scope \
         `integrate`. Or leave `callbacks.events_url` empty"
    );
    let found = format!(
        "`callbacks.events_url` is set, and the tenant `{TENANT_OF_EVENTS}` has no webhook secret, so no event is sent there"
    );
    let Some(store) = store else { return report.note(CHECK, found, action) };
    match store.webhooks().secrets(TENANT_OF_EVENTS).await {
        Ok(secrets) if secrets.is_empty() => report.problem(CHECK, found, action),
        Ok(_) => report.ok(CHECK, "events are signed and sent to `callbacks.events_url`"),
        Err(error) => report.problem(CHECK, error.to_string(), "Run `connector-gateway doctor` again"),
    }
}
