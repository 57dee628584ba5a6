//! Calls of the tools of the gateway itself.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::question::Step;
use super::tool_call::ToolCall;
use super::{Done, Failed, Stop, connect, result};
use contract::AnswerSchemas;
use contract::words::{nearest, nearest_titled, shortened};
use integrations::IntegrationRecord;
use jobs::job_problem;
use mcp::encoded::decoded;
use mcp::message::Params;
use mcp::output_schema::members;
use mcp::own::{DEFAULT_FOUND, Own, call_name};
use mcp::{Catalogue, Mode, Tool, catalogue, input_schema};
use problem::{self, Problem, input_problem, integration_problem};
use schema::{Fields, Schema};
use store::IntegrationFilter;

/// The most bytes of the members of an answer. A model pays for each description.
const MAX_MEMBERS_BYTES: usize = 1600;

/// The largest example of an answer that a description has.
const MAX_EXAMPLE_BYTES: usize = 1000;

/// The most accounts that one call lists.
const MAX_LISTED: u32 = 200;

/// The arguments that are objects or lists.
const STRUCTURES: [&str; 2] = ["names", "arguments"];

/// The schemas of the arguments, by the tool.
static SCHEMAS: LazyLock<Vec<(Own, Schema)>> = LazyLock::new(|| {
    let compiled = Own::ALL.into_iter().map(|own| {
        let schema = Schema::compile(&own.schema().to_string(), false);
        schema.map(|schema| (own, schema))
    });
    // A unit test compiles each.
    compiled.filter_map(Result::ok).collect()
});

/// Runs a call of a tool of the gateway.
pub(super) async fn run(
    call: &mut ToolCall<'_>,
    catalogue: &Catalogue,
    own: Own,
    step: &Step<'_, '_>,
) -> Result<Done, Stop> {
    let decoded = step.arguments.and_then(decoded_structures);
    let given = decoded.as_deref().or(step.arguments);
    let text = given.map_or("{}", |raw| raw.get());
    let schema = SCHEMAS.iter().find(|(known, _)| *known == own).map(|(_, schema)| schema);
    let refused = match schema {
        Some(schema) => compute::run(text.len(), || schema.parse(text.as_bytes()).err()).await,
        None => None,
    };
    if let Some(refused) = refused {
        return Err(Stop::Said(refused_arguments(own, &input_problem(refused), call.request_id)));
    }
    let arguments = given.map(Params::read).transpose();
    let arguments = arguments.map_err(|reason| Stop::Said(format!("The arguments are not valid: {reason}.")))?;
    let arguments = arguments.unwrap_or_default();
    let answered = match own {
        Own::Call(effect) => {
            let name = arguments.text("operation").unwrap_or_default();
            let tool = catalogue.find(&name).ok_or_else(|| unknown_operation(catalogue, &name))?;
            if tool.effect != effect {
                return Err(Stop::Said(format!(
                    "`{}` has the effect `{}`; call it with `{}`.",
                    tool.name,
                    tool.effect.name(),
                    call_name(tool.effect)
                )));
            }
            call.use_account(&arguments.text(input_schema::ACCOUNT).unwrap_or_default())?;
            call.confirm = arguments.text(input_schema::CONFIRM);
            return Box::pin(call.call_operation(tool, arguments.raw("arguments"), step)).await;
        }
        Own::SearchOperations => search(call, catalogue, &arguments).await,
        Own::DescribeOperations => describe(call, catalogue, &arguments).await,
        Own::ConnectAccount => connect_account(call, catalogue, &arguments).await,
        Own::ListAccounts => list_accounts(call, catalogue, &arguments).await,
        Own::GetJob => get_job(call, &arguments).await,
        Own::CancelJob => cancel_job(call, &arguments).await,
    };
    let text = answered.map_err(|stop| match stop {
        Stop::Failed(Failed::Problem(problem)) => Stop::Said(result::of_problem(&problem, call.request_id)),
        stop => stop,
    })?;
    let advice = match own {
        Own::SearchOperations => " For less, set a lower `limit`.",
        Own::DescribeOperations => " For less, name fewer operations.",
        Own::ListAccounts => " For less, name a `connector`.",
        _ => "",
    };
    Ok(Done::Text(result::of_text(call.exchange.gateway, call.client.revision, &text, advice)))
}

/// The arguments, in which texts of JSON are decoded that stand for the names or the arguments of
/// operations. `None` if there are no such texts.
fn decoded_structures(arguments: &RawValue) -> Option<Box<RawValue>> {
    let members = json_text::members(arguments.get()).ok()?;
    let decoded: Vec<Option<Box<RawValue>>> =
        members.iter().map(|(name, raw)| STRUCTURES.contains(&&**name).then(|| decoded(raw)).flatten()).collect();
    if decoded.iter().all(Option::is_none) {
        return None;
    }
    let members = members.iter().zip(&decoded);
    let members = members.map(|((name, raw), decoded)| (&**name, decoded.as_deref().unwrap_or(raw)));
    RawValue::from_string(json_text::object(members)).ok()
}

/// The problem of arguments that the schema of a tool does not accept, in words.
fn refused_arguments(own: Own, problem: &Problem, request_id: &str) -> String {
    let mut document = problem.document(request_id);
    let schema = own.schema();
    let fields = Fields::of(&schema);
    for error in document["errors"].as_array_mut().into_iter().flatten() {
        let name =
            error["pointer"].as_str().and_then(|pointer| pointer.strip_prefix('/')).unwrap_or_default().to_owned();
        let is_unknown = !name.is_empty() && !name.contains('/') && !fields.has(&name);
        // A model may write the arguments of the operation next to its name.
        if matches!(own, Own::Call(_)) && is_unknown && nearest(&name, ["operation", "arguments", "account"]).is_none()
        {
            let shown = shortened(&name);
            error["detail"] =
                json!(format!("`{shown}` is not a field here; arguments of the operation belong into `arguments`."));
        }
    }
    result::in_words(&document, problem.retry_after_s())
}

/// The sentence about a connector that no operation has. `None` if one has it.
fn unknown_connector(call: &ToolCall<'_>, catalogue: &Catalogue, connector: &str) -> Option<Stop> {
    let known = || catalogue.tools().iter().map(|tool| tool.connector.as_str());
    if known().any(|known| known == connector) {
        return None;
    }
    let hint = match nearest_connector(call, connector, known()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => "leave `connector` out for all connectors.".to_owned(),
    };
    Some(Stop::Said(format!("There is no connector `{}` here; {hint}", shortened(connector))))
}

/// The connector that an agent means. Agents often write the name of the service.
fn nearest_connector<'a>(call: &ToolCall<'_>, connector: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let live = call.exchange.gateway.registry.live();
    let known: BTreeSet<&str> = known.collect();
    let titled = known.into_iter().filter_map(|known| Some((known, live.get(known)?.manifest().title.as_str())));
    nearest_titled(connector, titled).map(str::to_owned)
}

fn unknown_operation(catalogue: &Catalogue, name: &str) -> Stop {
    let shown = shortened(name);
    Stop::Said(match nearest(name, catalogue.tools().iter().map(|tool| tool.name.as_str())) {
        Some(nearest) => format!("There is no operation `{shown}` here; did you mean `{nearest}`?"),
        None => format!("There is no operation `{shown}` here; `search_operations` finds those that you may call."),
    })
}

/// The most operations that a search answers. Some clients write whole numbers with a fraction, and
/// the schema takes them.
fn found_at_most(limit: &Value) -> usize {
    limit.as_f64().map_or(DEFAULT_FOUND, |limit| limit as usize)
}

async fn search(call: &ToolCall<'_>, catalogue: &Catalogue, arguments: &Params<'_>) -> Result<String, Stop> {
    let query = arguments.text("query").unwrap_or_default();
    let (connector, effect) = (arguments.text("connector"), arguments.text("effect"));
    let limit = found_at_most(&arguments.value("limit"));
    if let Some(unknown) = connector.as_deref().and_then(|connector| unknown_connector(call, catalogue, connector)) {
        return Err(unknown);
    }
    let accounts = call.exchange.accounts().await?;
    let pinned = call.exchange.set.as_ref().map(|(_, set)| set.pinned.as_slice()).unwrap_or_default();
    let prefers = |tool: &Tool| {
        let is_pinned = |name: &String| name.split_once('/') == Some((&*tool.connector, &*tool.operation));
        accounts.contains_key(&tool.connector) || pinned.iter().any(is_pinned)
    };
    let is_wanted = |tool: &&Tool| {
        connector.as_deref().is_none_or(|connector| tool.connector == connector)
            && effect.as_deref().is_none_or(|effect| tool.effect.name() == effect)
    };
    let found = compute::run(query.len(), || catalogue.search(&query, prefers)).await;
    let found: Vec<&Tool> = found.into_iter().filter(is_wanted).take(limit).collect();
    if found.is_empty() {
        let text = "No operation has these words. Use other words, or leave `connector` and `effect` out.";
        return Err(Stop::Said(text.to_owned()));
    }
    let lines: Vec<String> = found
        .into_iter()
        .map(|tool| {
            let of_connector = accounts.get(&tool.connector);
            let is_connected = match call.exchange.fixed_account() {
                Some(fixed) => of_connector.is_some_and(|accounts| accounts.iter().any(|account| account == fixed)),
                None => of_connector.is_some(),
            };
            let account = match (tool.needs_account, is_connected) {
                (false, _) => "no account needed",
                (true, true) => "account connected",
                (true, false) => "no account connected",
            };
            let summary = tool.summary.trim_end_matches('.');
            format!("{}: {summary} [{}; {account}]", tool.name, tool.effect.name())
        })
        .collect();
    Ok(lines.join("\n"))
}

async fn describe(call: &ToolCall<'_>, catalogue: &Catalogue, arguments: &Params<'_>) -> Result<String, Stop> {
    let names: Vec<String> = serde_json::from_value(arguments.value("names")).unwrap_or_default();
    let gateway = call.exchange.gateway;
    let mut described = Vec::with_capacity(names.len());
    let mut answer_schemas: HashMap<String, AnswerSchemas> = HashMap::new();
    for name in &names {
        let tool = catalogue.find(name).ok_or_else(|| unknown_operation(catalogue, name))?;
        let Some(connector) = gateway.registry.get(&tool.connector) else { continue };
        let Some(operation) = connector.operation(&tool.operation) else { continue };
        let mut document = catalogue::tool_document(tool, &connector, operation, false);
        if let Some(document) = document.as_object_mut() {
            document.remove("annotations");
            // The answer is described in fewer words.
            document.remove("outputSchema");
            document.insert("effect".to_owned(), tool.effect.name().into());
            if catalogue.mode == Mode::Search && !tool.is_direct {
                document.insert("call_with".to_owned(), call_name(tool.effect).into());
            }
            if let Some(example) = catalogue::example(tool, operation) {
                document.insert("example".to_owned(), example);
            }
            let known = match answer_schemas.entry(tool.connector.clone()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    let read = || gateway.registry.answer_schemas(&connector);
                    place.insert(compute::run(compute::LARGE_BYTES, read).await)
                }
            };
            if let Some(answer) = operation.known_answer(known) {
                document.insert("answer".to_owned(), members(&answer, MAX_MEMBERS_BYTES));
            }
            let example = operation.manifest.answer_example.as_deref();
            let example = example.filter(|example| example.len() <= MAX_EXAMPLE_BYTES);
            if let Some(example) = example.and_then(|example| serde_json::from_str::<Value>(example).ok()) {
                document.insert("answer_example".to_owned(), example);
            }
        }
        described.push(document);
    }
    Ok(Value::Array(described).to_string())
}

async fn connect_account(call: &ToolCall<'_>, catalogue: &Catalogue, arguments: &Params<'_>) -> Result<String, Stop> {
    let connector = arguments.text("connector").unwrap_or_default();
    let known = || catalogue.tools().iter().filter(|tool| tool.needs_account).map(|tool| tool.connector.as_str());
    if !known().any(|known| known == connector) {
        let hint = nearest_connector(call, &connector, known()).map(|known| format!("; did you mean `{known}`?"));
        let shown = shortened(&connector);
        return Err(Stop::Said(format!(
            "`{shown}` is no connector here that needs an account{}",
            hint.unwrap_or_else(|| ".".to_owned())
        )));
    }
    let (_, url) = connect::link(call.exchange, call.request_id, &connector, call.exchange.fixed_account()).await?;
    Ok(format!("Ask the user to open {url} within 15 minutes, and to connect the account there."))
}

async fn list_accounts(call: &ToolCall<'_>, catalogue: &Catalogue, arguments: &Params<'_>) -> Result<String, Stop> {
    let caller = call.exchange.caller;
    let connector = arguments.text("connector");
    if let Some(unknown) = connector.as_deref().and_then(|connector| unknown_connector(call, catalogue, connector)) {
        return Err(unknown);
    }
    // The agent sees no accounts of connectors without an operation in its view.
    let among = Some(catalogue.tools().iter().map(|tool| tool.connector.clone()).collect());
    let user_identifier = call.exchange.fixed_account().map(str::to_owned);
    let filter =
        IntegrationFilter { limit: MAX_LISTED, connector, among, user_identifier, ..IntegrationFilter::default() };
    let found = call.exchange.gateway.integrations.list_of_user(caller.tenant(), caller.subject(), filter).await;
    let found = found.map_err(|error| integration_problem(&error))?;
    let now = clock::now();
    let accounts: Vec<Value> = found
        .iter()
        .map(|integration| {
            let record = json!(IntegrationRecord::at(integration, now));
            json!({
                "connector": record["connector"],
                "account": record["user_identifier"],
                "status": record["status"],
                "selected": record["selected"],
            })
        })
        .collect();
    Ok(Value::Array(accounts).to_string())
}

fn unknown_job(id: &str) -> Problem {
    problem::UNKNOWN_JOB
        .with_detail(format!("There is no job `{}`; a job is removed some time after its end.", shortened(id)))
}

async fn get_job(call: &ToolCall<'_>, arguments: &Params<'_>) -> Result<String, Stop> {
    let id = arguments.text("job_id").unwrap_or_default();
    let found = call.exchange.gateway.jobs.get(call.exchange.jobs(), &id).await.map_err(job_problem)?;
    found.ok_or_else(|| unknown_job(&id).into())
}

async fn cancel_job(call: &ToolCall<'_>, arguments: &Params<'_>) -> Result<String, Stop> {
    let id = arguments.text("job_id").unwrap_or_default();
    let ended = call.exchange.gateway.jobs.cancel(call.exchange.jobs(), &id).await.map_err(job_problem)?;
    let cancelled = ended.ok_or_else(|| unknown_job(&id))?;
    Ok(json!({"cancelled": cancelled}).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_each_tool_have_a_schema() {
        assert_eq!(SCHEMAS.len(), Own::ALL.len());
    }

    #[test]
    fn a_limit_may_be_written_with_a_fraction() {
        for (limit, expected) in [(json!(3), 3), (json!(3.0), 3), (Value::Null, DEFAULT_FOUND)] {
            assert_eq!(found_at_most(&limit), expected, "{limit}");
        }
    }

    #[test]
    fn each_argument_that_is_an_object_or_a_list_may_be_a_text_of_json() {
        for own in Own::ALL {
            let schema = own.schema();
            for (name, property) in schema["properties"].as_object().unwrap() {
                let is_structure = property["type"] == "object" || property["type"] == "array";
                assert_eq!(is_structure, STRUCTURES.contains(&name.as_str()), "{name}");
            }
        }
        let raw: &RawValue = serde_json::from_str(r#"{"operation":"[1]","arguments":"{\"n\":1.0}"}"#).unwrap();
        let decoded = decoded_structures(raw).unwrap();
        assert_eq!(decoded.get(), r#"{"operation":"[1]","arguments":{"n":1.0}}"#);
        assert!(decoded_structures(serde_json::from_str(r#"{"arguments":{}}"#).unwrap()).is_none());
    }
}
