//! The operator's routes: install, remove and roll back connectors. All need the scope `admin`.

use hyper::body::Incoming;
use hyper::{Request, Response};
use serde_json::json;

use super::problem::{self, Problem};
use super::system::json_answer;
use super::{authorize, body, connectors};
use crate::auth::Scope;
use crate::gateway::Gateway;
use crate::pipeline::body::Body;
use crate::registry::ChangeError;

/// POST /admin/connectors: the body is the module; `?grant=host` names hosts that it may reach.
pub(super) async fn install(gateway: &Gateway, request: Request<Incoming>) -> Result<Response<Body>, Problem> {
    authorize(gateway, &request, Some(Scope::Admin)).await?;
    let grants = grants(request.uri().query().unwrap_or_default())?;
    let limit_mb = gateway.config.compile.max_module_mb;
    let limit_mb = usize::try_from(limit_mb).unwrap_or(usize::MAX >> 20);
    let (head, body) = request.into_parts();
    let advice = "raise `compile.max_module_mb` if you trust the module";
    let module = body::read(&head.headers, body, limit_mb, advice).await?;
    let installed = gateway.registry.install(module, grants.as_deref()).await.map_err(change_problem)?;
    Ok(json_answer(&connectors::record(&installed)))
}

/// DELETE /admin/connectors/{connector}: requests under way end on it.
pub(super) async fn remove(
    gateway: &Gateway,
    connector: &str,
    request: &Request<Incoming>,
) -> Result<Response<Body>, Problem> {
    authorize(gateway, request, Some(Scope::Admin)).await?;
    gateway.registry.remove(connector).await.map_err(change_problem)?;
    Ok(json_answer(&json!({"connector": connector, "removed": true})))
}

/// POST /admin/connectors/{connector}/rollback: back to the version before the present one.
pub(super) async fn rollback(
    gateway: &Gateway,
    connector: &str,
    request: &Request<Incoming>,
) -> Result<Response<Body>, Problem> {
    authorize(gateway, request, Some(Scope::Admin)).await?;
    let live = gateway.registry.rollback(connector).await.map_err(change_problem)?;
    Ok(json_answer(&connectors::record(&live)))
}

/// The hosts in the query. None at all leaves former grants as they are.
fn grants(query: &str) -> Result<Option<Vec<String>>, Problem> {
    let mut hosts = Vec::new();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        if name != "grant" {
            return Err(problem::BAD_REQUEST
                .because(format!("`{name}` is no parameter here; hosts are granted with ?grant=api.example.com.")));
        }
        hosts.push(value.into_owned());
    }
    Ok((!hosts.is_empty()).then_some(hosts))
}

fn change_problem(error: ChangeError) -> Problem {
    match error {
        ChangeError::Refused(reason) => problem::MODULE_REFUSED.because(reason),
        ChangeError::Unknown(connector) => problem::UNKNOWN_CONNECTOR
            .because(format!("No connector `{connector}` is installed; GET /connectors lists them.")),
        ChangeError::NoEarlierVersion(connector) => {
            problem::NO_EARLIER_VERSION.because(format!("`{connector}` has had no other version on this gateway."))
        }
        ChangeError::InvalidHost(host) => problem::BAD_REQUEST.because(format!(
            "`{host}` is not a host name; write it like api.example.com, or *.example.com for link hosts."
        )),
        ChangeError::Io(error) => problem::INTERNAL.because(format!("The gateway's files cannot be changed: {error}.")),
        ChangeError::Store(error) => problem::INTERNAL.because(format!("The store does not answer: {error}.")),
    }
}
