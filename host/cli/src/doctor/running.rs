//! A running gateway, by its routes. Without a key, only its health is asked.

use std::time::SystemTime;

use authoring::gateway::{GatewayError, Health, RunningGateway, health};
use authoring::options::GatewayArguments;
use serde_json::Value;
use url::Url;

use super::SOON;
use super::report::Report;
use crate::operator::all_pages;

/// Asks a running gateway.
///
/// # Errors
/// If the arguments have a key that cannot be sent.
pub(super) async fn examine(url: &Url, arguments: &GatewayArguments, report: &mut Report) -> Result<(), GatewayError> {
    const CHECK: &str = "gateway";
    match health(url, arguments.client_certificate.as_deref()).await {
        Ok(Health { version, not_ready: None, degraded }) => {
            report.ok(CHECK, format!("the gateway at {url} is reachable and ready, version {version}"));
            for part in degraded {
                report.problem(
                    CHECK,
                    format!("the gateway at {url} does not reach its {part}"),
                    "Look for the reason in the log of the gateway, and check the database server",
                );
            }
        }
        Ok(Health { version, not_ready: Some(reason), .. }) => report.problem(
            CHECK,
            format!("the gateway at {url} is reachable, version {version}, but takes no calls: {reason}"),
            "Wait until it has started. If it does not get ready, look for the reason in its log",
        ),
        Err(error) => {
            report.problem(
                CHECK,
                error.to_string(),
                "Check that the gateway runs, that this machine reaches its address, and that it trusts its certificate \
                 (SSL_CERT_FILE names further authorities)",
            );
            return Ok(());
        }
    }
    if arguments.key.is_none() && arguments.key_file.is_none() {
        report.note(
            CHECK,
            "without a key, connectors, keys and gateways are not checked",
            "Set GATEWAY_KEY to a key with the scope `admin`",
        );
        return Ok(());
    }
    let Some(gateway) = RunningGateway::open(arguments)? else { return Ok(()) };
    if let Err(error) = details(&gateway, report).await {
        report.problem(
            CHECK,
            error.to_string(),
            "Use a key with the scope `admin`, and the address of `admin_listen` if it is set",
        );
    }
    Ok(())
}

async fn details(gateway: &RunningGateway, report: &mut Report) -> Result<(), GatewayError> {
    let listed = gateway.get(&["connectors"], &[]).await?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let refused = list(&listed["refused"]);
    for module in &refused {
        report.problem(
            "connectors",
            format!("the module {} is refused: {}", text(&module["file"]), text(&module["reason"])),
            "Mend what the reason names, or remove the file",
        );
    }
    let connectors = list(&listed["connectors"]);
    for connector in &connectors {
        let missing: Vec<String> = list(&connector["hosts"]["missing"]).iter().map(text).collect();
        if !missing.is_empty() {
            let name = text(&connector["connector"]);
            report.note(
                "grants",
                format!("`{name}` may not reach {}, which it asks for", missing.join(", ")),
                format!("If it may, run `connector-gateway connectors grant {name} {}` with --url", missing.join(" ")),
            );
        }
    }
    if refused.is_empty() {
        report.ok("connectors", format!("{} connectors, and no module is refused", connectors.len()));
    }
    let gateways = all_pages(gateway, &["admin", "gateways"], "gateways", &[], usize::MAX).await?;
    for other in gateways.iter().filter(|other| other["state"] == "away") {
        report.problem(
            "gateways",
            format!("the gateway {} is away since {}", text(&other["name"]), text(&other["seen_at"])),
            "Start it again. If it was removed, wait: it is forgotten a day later",
        );
    }
    let keys = all_pages(gateway, &["admin", "keys"], "keys", &[], usize::MAX).await?;
    let now = SystemTime::now();
    for key in keys.iter().filter(|key| key["revoked_at"].is_null()) {
        let Ok(expires_at) = humantime::parse_rfc3339(&text(&key["expires_at"])) else { continue };
        if now < expires_at && expires_at < now + SOON {
            report.problem(
                "keys",
                format!(
                    "the key {} (`{}`) of the tenant `{}` expires at {}",
                    text(&key["id"]),
                    text(&key["name"]),
                    text(&key["tenant"]),
                    text(&key["expires_at"])
                ),
                "Make a new key with `connector-gateway keys create`, and give it to the users of this one",
            );
        }
    }
    Ok(())
}
