//! The operator's routes about the gateway that answers: its settings, its findings and its
//! samples.

use std::sync::Arc;

use hyper::Response;
use serde_json::json;

use body::Body;
use config::effective;
use doctor::{Report, examine_certificates, examine_connectors, examine_database, examine_gateways, examine_machine};
use endpoint::answer::private_answer;
use endpoint::records::{FindingsRecord, SamplesRecord, SettingsRecord};
use endpoint::route::HttpCall;
use gateway::Gateway;
use problem::{self, Problem};

/// GET /admin/settings: the configuration, without secrets.
pub async fn get_settings(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let record = SettingsRecord::new(&call.gateway.name, effective(&call.gateway.config));
    Ok(private_answer(&json!(record)))
}

/// GET /admin/doctor: what is wrong with the gateway, and what to do.
pub async fn get_findings(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let gateway = Arc::clone(call.gateway);
    // The checks read files and wait for hosts, so they run on other threads than the callers'.
    let examined = call.gateway.background.spawn(async move { examine(&gateway).await }).await;
    let report = examined.map_err(|_| problem::INTERNAL.with_detail("The checks were interrupted; try again."))?;
    Ok(private_answer(&json!(FindingsRecord::new(&call.gateway.name, &report))))
}

async fn examine(gateway: &Gateway) -> Report {
    let mut report = Report::default();
    let config = Arc::clone(&gateway.config);
    let machine = tokio::task::spawn_blocking(move || {
        let mut report = Report::default();
        examine_machine(&config, &mut report);
        examine_certificates(&config, &mut report);
        report
    });
    match machine.await {
        Ok(machine) => report = machine,
        Err(_) => report.problem("machine", "the checks of the machine were interrupted", "Try again"),
    }
    // Also without a database, the modules and the hosts can be examined.
    let _ = examine_database(&gateway.config, Some(&gateway.store), &mut report).await;
    if let Err(error) = examine_gateways(&gateway.store, &mut report).await {
        tracing::debug!(%error, "the gateways could not be examined; the check of the database says why");
    }
    examine_connectors(&gateway.config, &gateway.registry, Some(&gateway.store), &gateway.egress, &mut report).await;
    report
}

/// GET /admin/samples: the last hour of the gateway.
pub async fn get_samples(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let limit = call.gateway.egress.memory().limit();
    Ok(private_answer(&json!(SamplesRecord::new(&call.gateway.name, limit, &call.gateway.samples.all()))))
}
