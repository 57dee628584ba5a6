//! The URL under which services notify the gateway of events.

use std::sync::Arc;

use super::report::{Level, Report};
use config::Config;
use registry::{Connector, Registry};
use store::{Store, StoreError, TriggerFilter};

const CHECK: &str = "events";

/// Examines if services can notify the gateway, if a connector of the registry or a trigger needs
/// it. `store` has the triggers of callers, if there can be any.
pub(crate) async fn examine(config: &Config, registry: &Registry, store: Option<&Store>, report: &mut Report) {
    let live = registry.live();
    let mut notified: Vec<String> = live
        .values()
        .filter(|connector| has_inboxes(connector))
        .map(|connector| connector.name().to_string())
        .collect();
    notified.sort_unstable();
    let is_used = match store {
        Some(store) => is_used(store).await,
        None => Ok(false),
    };
    match is_used {
        Ok(is_used) => judge(config, &notified, is_used, report),
        Err(error) => report.problem(CHECK, error.to_string(), "Run `connector-gateway doctor` again"),
    }
}

fn has_inboxes(connector: &Arc<Connector>) -> bool {
    !connector.additions().inboxes.is_empty()
}

/// Returns `true` if a tenant has a trigger, or if the operator has made an inbox.
async fn is_used(store: &Store) -> Result<bool, StoreError> {
    let triggers = store.triggers().list(TriggerFilter { limit: 1, ..TriggerFilter::default() }).await?;
    Ok(!triggers.is_empty() || !store.inboxes().list().await?.is_empty())
}

/// `notified` has the connectors whose services could notify the gateway. `is_used` is `true` if
/// anyone waits for events.
fn judge(config: &Config, notified: &[String], is_used: bool, report: &mut Report) {
    if notified.is_empty() && !is_used {
        return;
    }
    let url = config.hooks_url();
    if config.can_be_notified() {
        return report.ok(CHECK, format!("services can notify the gateway at {}", url.origin().ascii_serialization()));
    }
    let key = if config.hooks.public_url.is_some() { "hooks.public_url" } else { "public_url" };
    let of_whom = match notified {
        [] => String::new(),
        names => format!(", such as those of {}", names.join(", ")),
    };
    report.add(
        if is_used { Level::Problem } else { Level::Note },
        CHECK,
        format!(
            "push is off, because `{key}` is no https URL: services{of_whom} do not notify the gateway. Triggers poll, and \
             those whose events only a notification has get none"
        ),
        "Set `hooks.public_url` to the https URL under which services reach this gateway",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, notified: &[&str], is_used: bool) -> Vec<(Level, String)> {
        let config = Config::of_text(text).unwrap();
        let mut report = Report::default();
        let notified: Vec<_> = notified.iter().map(|name| (*name).to_owned()).collect();
        judge(&config, &notified, is_used, &mut report);
        report.findings().iter().map(|finding| (finding.level, finding.text.clone())).collect()
    }

    #[test]
    fn a_gateway_without_https_is_told_that_push_is_off() {
        let found_by_default = found("", &["chat", "mail"], false);
        assert_eq!(
            found_by_default,
            [(
                Level::Note,
                "push is off, because `public_url` is no https URL: services, such as those of chat, mail do not notify the \
                 gateway. Triggers poll, and those whose events only a notification has get none"
                    .to_owned()
            )]
        );
        let other = "public_url = \"https://gateway.example\"\nhooks.public_url = \"http://hooks.example\"";
        let (level, text) = found(other, &[], true).remove(0);
        assert_eq!(level, Level::Problem);
        assert!(text.starts_with("push is off, because `hooks.public_url` is no https URL: services do not"), "{text}");
    }

    #[test]
    fn the_url_does_not_matter_where_no_service_notifies_the_gateway() {
        assert_eq!(found("", &[], false), []);
        let https = "hooks.public_url = \"https://hooks.example/in\"";
        let expected = (Level::Ok, "services can notify the gateway at https://hooks.example".to_owned());
        assert_eq!(found(https, &["chat"], true), [expected]);
    }
}
