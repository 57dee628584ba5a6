//! POST /triggers: makes a trigger.

use std::sync::Arc;

use bytes::Bytes;
use hyper::{Response, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{DEFAULT_TIMEOUT, deadline, trigger_problem, trigger_problem_of};
use body::Body;
use contract::words::nearest;
use endpoint::answer::private_answer;
use endpoint::authorize::AuthorizedCaller;
use endpoint::body::{parse_checked, read_json_body};
use endpoint::records::NewTriggerBody;
use endpoint::route::HttpCall;
use endpoint::{headers, idempotency};
use gateway::Gateway;
use problem::{self, Problem, input_problem, violations_problem};
use schema::{InputError, Schema, Violation};
use triggers::{GATEWAY, NewTrigger, Of, TypeRecord};
use webhooks::url_check;

/// Makes a trigger. The service is asked before the answer, in the time that the call has.
pub async fn create_trigger(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let user_identifier = headers::user_identifier(&call.head.headers)?.map(str::to_owned);
    // The connector is known when the body is read. Until then, the longest time of all counts.
    let limit = call.gateway.registry.live().values().map(|live| live.timeout()).fold(DEFAULT_TIMEOUT, Ord::max);
    let deadline = deadline(&call, limit)?;
    let HttpCall { gateway, head, body, .. } = call;
    let body = read_json_body(&head.headers, body, gateway).await?;
    let Some(key) = idempotency::key_in_headers(&head.headers)? else {
        return create_now(gateway, &caller, user_identifier.as_deref(), &body, deadline).await;
    };
    let named = user_identifier.clone().unwrap_or_default();
    let request: [&[u8]; 4] = [b"POST", b"/triggers", named.as_bytes(), &body];
    let running = {
        let (gateway, caller, body) = (Arc::clone(gateway), caller.clone(), body.clone());
        async move { create_now(&gateway, &caller, user_identifier.as_deref(), &body, deadline).await }
    };
    Box::pin(idempotency::answer_idempotently(gateway, &caller, key, &request, running)).await
}

async fn create_now(
    gateway: &Gateway,
    caller: &AuthorizedCaller,
    user_identifier: Option<&str>,
    body: &Bytes,
    deadline: Instant,
) -> Result<Response<Body>, Problem> {
    let new = read_body(gateway, caller, body).await?;
    let connector = new.connector.clone();
    let of = caller.triggers();
    let created = gateway.triggers.create(of, user_identifier, new, deadline).await;
    let record = created.map_err(|error| trigger_problem_of(error, &connector))?;
    let mut response = private_answer(&json!(record));
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// Reads the body.
///
/// # Errors
/// 422 with everything that is wrong with it: its form, its connector and type, the parameters of
/// the type, and the URLs.
async fn read_body(gateway: &Gateway, caller: &AuthorizedCaller, body: &Bytes) -> Result<NewTrigger, Problem> {
    let (form, mut violations) = match parse_checked::<NewTriggerBody>(body).await? {
        Ok(form) => (Some(form), Vec::new()),
        Err(violations) => (None, violations),
    };
    let named = compute::run(body.len(), || serde_json::from_slice::<Named<'_>>(body).unwrap_or_default()).await;
    violations.extend(violations_of_type(gateway, caller, &named).await?);
    let is_text = named.urls.iter().enumerate().filter_map(|(index, url)| Some((index, url.as_str()?)));
    let check = url_check(gateway.config.callbacks.allow_private_network);
    violations.extend(is_text.filter_map(|(index, url)| {
        let detail = check(url).err()?;
        Some(Violation { pointer: format!("/urls/{index}"), detail })
    }));
    let Some(NewTriggerBody { connector, kind, parameters, urls, filters, response_fields, labels, poll_s }) =
        form.filter(|_| violations.is_empty())
    else {
        return Err(violations_problem(violations));
    };
    Ok(NewTrigger {
        connector,
        kind,
        parameters: Value::Object(parameters.unwrap_or_default()),
        urls: urls.unwrap_or_default(),
        filters: filters.map(|filters| json!(filters)),
        response_fields: response_fields.map(|fields| json!(fields)),
        labels: labels.unwrap_or_default(),
        poll_s,
    })
}

/// The members of a body that is perhaps wrong, which the others depend on.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Named<'a> {
    connector: Value,
    #[serde(rename = "type")]
    kind: Value,
    #[serde(borrow)]
    parameters: Option<&'a RawValue>,
    urls: Vec<Value>,
}

/// The violations of the connector, the type and the parameters. Those that are not text are
/// violations of the form.
///
/// # Errors
/// 403 if the limits of the caller's key do not have the connector, and 503 if it is not loaded
/// yet.
async fn violations_of_type(
    gateway: &Gateway,
    caller: &AuthorizedCaller,
    named: &Named<'_>,
) -> Result<Vec<Violation>, Problem> {
    let wrong = |pointer: &str, detail: String| Ok(vec![Violation { pointer: pointer.to_owned(), detail }]);
    let Some(connector) = named.connector.as_str() else { return Ok(Vec::new()) };
    let live = gateway.registry.get(connector);
    if live.is_none() && connector != GATEWAY {
        if gateway.registry.may_become_live(connector) {
            return Err(crate::connectors::unknown_connector(gateway, connector));
        }
        let live = gateway.registry.live();
        return wrong("/connector", unknown("connector", connector, live.keys().map(String::as_str)));
    }
    let Some(kind) = named.kind.as_str() else { return Ok(Vec::new()) };
    let types = gateway.triggers.types(Of::Operator, Some(connector)).await.map_err(trigger_problem)?;
    let Some(found) = types.iter().find(|known| known.kind == kind) else {
        return wrong("/type", unknown("type of events", kind, types.iter().map(|known| known.kind.as_str())));
    };
    if !caller.triggers().may_use_type(connector, kind) {
        return Err(problem::NOT_ALLOWED.with_detail(format!(
            "The limits of the key do not have `{connector}/{kind}` with the effect `read`. Use a key whose `allow` names it or \
             its connector."
        )));
    }
    violations_of_parameters(found, named.parameters).await
}

/// A sentence about a name that nothing has.
fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    match nearest(name, known) {
        Some(nearest) => format!("There is no such {what}. Did you mean `{nearest}`?"),
        None => format!("There is no such {what}; GET /trigger-types lists all."),
    }
}

async fn violations_of_parameters(of: &TypeRecord, parameters: Option<&RawValue>) -> Result<Vec<Violation>, Problem> {
    let text = parameters.map_or("{}", RawValue::get);
    if !text.starts_with('{') {
        return Ok(Vec::new());
    }
    let checking = || {
        let schema = Schema::compile(of.parameters.get(), false).map_err(InputError::NotCompiled)?;
        schema.parse(text.as_bytes()).map(drop)
    };
    match compute::run(text.len(), checking).await {
        Ok(()) => Ok(Vec::new()),
        Err(InputError::Invalid(mut violations)) => {
            for violation in &mut violations {
                violation.pointer.insert_str(0, "/parameters");
            }
            Ok(violations)
        }
        Err(error) => Err(input_problem(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(parameters: &str) -> TypeRecord {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        TypeRecord {
            connector: "code".to_owned(),
            kind: "issue".to_owned(),
            title: String::new(),
            description: String::new(),
            source: "carried",
            push: "available",
            poll_s: None,
            parameters: raw(parameters),
            payload: raw("{}"),
            example: raw("{}"),
            scopes: Vec::new(),
        }
    }

    #[tokio::test]
    async fn violations_of_parameters_are_told_where_they_are_in_the_body() {
        let of = of(
            r#"{"type":"object","properties":{"owner":{"type":"string"}},"required":["owner"],"additionalProperties":false}"#,
        );
        let pointers = async |text: &str| -> Vec<String> {
            let parameters = RawValue::from_string(text.to_owned()).unwrap();
            let found = violations_of_parameters(&of, Some(&parameters)).await.unwrap();
            found.into_iter().map(|violation| violation.pointer).collect()
        };
        assert_eq!(pointers(r#"{"owner": "ann"}"#).await, [""; 0]);
        assert_eq!(pointers(r#"{"owner": 1, "ownr": 2}"#).await, ["/parameters/owner", "/parameters/ownr"]);
        let absent = violations_of_parameters(&of, None).await.unwrap();
        assert_eq!(absent.len(), 1);
        assert_eq!(pointers("[]").await, [""; 0]);
    }

    #[test]
    fn the_members_of_a_wrong_body_are_found() {
        let named: Named<'_> =
            serde_json::from_str(r#"{"connector": "a", "type": 3, "urls": [1, "x"], "more": 1}"#).unwrap();
        assert_eq!((named.connector.as_str(), named.kind.as_str()), (Some("a"), None));
        assert_eq!(named.urls.len(), 2);
    }
}
