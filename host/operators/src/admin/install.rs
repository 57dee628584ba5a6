//! The route that installs a module.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::Response;
use hyper::header::{HeaderMap, HeaderValue, IF_MATCH};
use serde_json::json;

use super::{actor_of, fleet, make_change, parse_host};
use body::Body;
use endpoint::answer::json_answer;
use endpoint::authorize::AuthorizedCaller;
use endpoint::body::read_body;
use endpoint::idempotency;
use endpoint::records::InstalledRecord;
use endpoint::route::HttpCall;
use gateway::Gateway;
use problem::{self, Problem};
use registry::{Actor, Installation, Installed};
use store::digest::sha256;

/// The header with the signature of a module.
pub const SIGNATURE: &str = "X-Module-Signature";

/// POST /admin/connectors: the body is the module; `?grant=host` names hosts that it may reach too,
/// `?accept=true` lets it request more than the previous version, `?grant_asked=true` with it also
/// grants the hosts that it asks for, and `?replace_shipped=true` lets it take the place of a
/// shipped connector.
pub async fn install_connector(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, head, body, .. } = call;
    let key = idempotency::key_in_headers(&head.headers)?;
    let (replaces, must_exist) = (fleet::generation_in_headers(&head.headers)?, fleet::must_exist(&head.headers));
    let query = head.uri.query().unwrap_or_default();
    let choices = parse_install_query(query)?;
    let limit_mb = gateway.config.compile.max_module_mb;
    let limit_mb = usize::try_from(limit_mb).unwrap_or(usize::MAX >> 20);
    let advice = "raise `compile.max_module_mb` if you trust the module";
    let module = read_body(&head.headers, body, limit_mb, advice, gateway.egress.memory()).await?;
    let signature = signature_in_headers(&head.headers)?;
    let by = actor_of(gateway, &caller).await?;
    let upload = Upload { module, choices, signature, replaces, must_exist, by };
    let Some(key) = key else { return upload.install(gateway).await };
    // A module has many megabytes.
    let digest = compute::run(upload.module.len(), || sha256(&upload.module)).await;
    let generation = head.headers.get(IF_MATCH).map_or(&b""[..], HeaderValue::as_bytes);
    let signed = head.headers.get(SIGNATURE).map_or(&b""[..], HeaderValue::as_bytes);
    let request: [&[u8]; 6] = [b"POST", b"/admin/connectors", query.as_bytes(), generation, signed, &digest];
    let running = {
        let gateway = Arc::clone(gateway);
        async move { upload.install(&gateway).await }
    };
    Box::pin(idempotency::answer_idempotently(gateway, &caller, key, &request, running)).await
}

/// A module that an operator has sent.
struct Upload {
    module: Bytes,
    choices: InstallQuery,
    /// The text of its signature.
    signature: Option<String>,
    /// The generation that it replaces. `None` if any.
    replaces: Option<i64>,
    /// `true` if the connector must be installed already.
    must_exist: bool,
    by: Actor,
}

impl Upload {
    async fn install(self, gateway: &Gateway) -> Result<Response<Body>, Problem> {
        let Self { module, choices, signature, replaces, must_exist, by } = self;
        let InstallQuery { grants, accepts, grants_asked, replaces_shipped, wait } = choices;
        let registry = Arc::clone(&gateway.registry);
        let installing = async move {
            let (grants, signature) = (grants.as_slice(), signature.as_deref());
            let installation =
                Installation { grants, accepts, grants_asked, replaces_shipped, signature, replaces, must_exist };
            registry.install(module, installation, &by).await
        };
        let Installed { live, generation, granted } = make_change(gateway, installing).await?;
        let record = fleet::changed_record(gateway, &live, generation, wait).await;
        // The module is installed. Sent again, it would be one more change.
        let record = record.map_err(Problem::of_unknown_outcome)?;
        Ok(json_answer(&json!(InstalledRecord { newly_granted: granted, ..record })))
    }
}

/// The text of the module's signature, if the caller sends it.
fn signature_in_headers(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get(SIGNATURE) else { return Ok(None) };
    let text = STANDARD.decode(value.as_bytes()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.map(Some).ok_or_else(|| {
        problem::BAD_REQUEST
            .with_detail(format!("The header `{SIGNATURE}` is the base64 form of the file MODULE.wasm.minisig."))
    })
}

/// The query of the route.
#[derive(Default)]
struct InstallQuery {
    grants: Vec<String>,
    accepts: bool,
    grants_asked: bool,
    replaces_shipped: bool,
    wait: Option<u64>,
}

fn parse_install_query(query: &str) -> Result<InstallQuery, Problem> {
    let mut parameters = InstallQuery::default();
    problem::read_query(query, &["grant*", "accept", "grant_asked", "replace_shipped", "wait"], |name, value| {
        match (name, value) {
            ("grant", _) => parameters.grants.push(parse_host(value)?),
            ("accept", "true" | "false") => parameters.accepts = value == "true",
            ("grant_asked", "true" | "false") => parameters.grants_asked = value == "true",
            ("replace_shipped", "true" | "false") => parameters.replaces_shipped = value == "true",
            ("wait", _) => parameters.wait = Some(fleet::parse_wait(value)?),
            _ => return Err("Must be `true` or `false`.".to_owned()),
        }
        Ok(())
    })?;
    if parameters.grants_asked && !parameters.accepts {
        let detail = "Grants whatever the module asks for, so it needs `accept=true`; or name the hosts with `grant`.";
        return Err(problem::invalid("/grant_asked", detail.to_owned()));
    }
    Ok(parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_of_a_query_is_told() {
        let query = "grant=a.example&grant=https://b.example/&accept=yes&force=1&replace_shipped=";
        let problem = parse_install_query(query).err().unwrap();
        let document = problem.document("req_1");
        let errors: Vec<&str> =
            document["errors"].as_array().unwrap().iter().map(|error| error["pointer"].as_str().unwrap()).collect();
        assert_eq!(
            (&document["status"], errors),
            (&json!(422), vec!["/grant", "/accept", "/force", "/replace_shipped"])
        );
        let query = parse_install_query("grant=a.example&grant=b.example&accept=true").unwrap();
        assert!(query.grants == ["a.example", "b.example"] && query.accepts && !query.replaces_shipped);
        assert!(parse_install_query("accept=true&grant_asked=true").unwrap().grants_asked);
        let alone = parse_install_query("grant_asked=true").err().unwrap().document("req_1");
        assert_eq!(alone["errors"][0]["pointer"], "/grant_asked");
    }
}
