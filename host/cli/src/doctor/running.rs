//! A running gateway, by its routes. Without a key, only its health is asked.

use authoring::gateway::{GatewayError, Health, RunningGateway, health};
use authoring::options::GatewayArguments;
use connector_gateway::{DoctorReport, FindingLevel};
use serde_json::Value;
use url::Url;

/// Asks a running gateway.
///
/// # Errors
/// If the arguments have a key that cannot be sent.
pub(super) async fn examine(
    url: &Url,
    arguments: &GatewayArguments,
    report: &mut DoctorReport,
) -> Result<(), GatewayError> {
    const CHECK: &str = "gateway";
    match health(url, arguments.access.client_certificate.as_deref()).await {
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
    if arguments.access.key.is_none() && arguments.access.key_file.is_none() {
        report.note(
            CHECK,
            "without a key, the gateway does not examine itself",
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

/// The findings of the gateway about itself.
async fn details(gateway: &RunningGateway, report: &mut DoctorReport) -> Result<(), GatewayError> {
    let found = gateway.get(&["admin", "doctor"], &[]).await?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for finding in found["findings"].as_array().into_iter().flatten() {
        // A newer gateway may know further levels.
        let level = FindingLevel::of_name(&text(&finding["level"])).unwrap_or(FindingLevel::Note);
        report.add(level, text(&finding["check"]), text(&finding["finding"]), text(&finding["action"]));
    }
    Ok(())
}
