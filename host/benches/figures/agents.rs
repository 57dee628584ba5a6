//! Agents: a call of a tool compared with the same operation over HTTP, the lists of tools with
//! their size and the time that they take, and the descriptions of operations.

use std::net::SocketAddr;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use serde_json::{Value, json};
use support::setup::KEY;
use support::{Gateway, description, module};
use tokio::runtime::Runtime;

use crate::connection::{Connection, Protocol};
use crate::contest::{Contestant, take_turns};
use crate::load::Target;
use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit, median};
use crate::throughput::CONNECTIONS;
use crate::{gateway, upstream};

/// Share of the operation's requests per second that calls of its tool must reach.
const GOAL: f64 = 0.8;

/// The most tokens of the list of all operations, and of the list of a connector.
const GOAL_OF_ALL: f64 = 2000.0;
const GOAL_OF_CONNECTOR: f64 = 10_000.0;

/// The most tokens of the description of an operation. It is the goal of the list of all
/// operations, which an agent has before.
const GOAL_OF_DESCRIPTION: f64 = GOAL_OF_ALL;

/// The most members of operations without a description.
const GOAL_OF_UNDESCRIBED: f64 = 50.0;

/// Characters of a token.
const CHARACTERS: f64 = 4.0;

/// Measures the section.
pub(crate) fn measure(runtime: &Runtime, settings: &Settings) -> Outcome<Vec<Figure>> {
    let upstream = upstream::start()?;
    let gateway = gateway::start(upstream.address)?;
    // The lists come first, because a list is made when it is asked for the first time.
    let mut figures = runtime.block_on(lists(&gateway, settings))?;
    figures.extend(descriptions(&gateway)?);
    figures.extend(runtime.block_on(calls(&gateway, settings))?);
    Ok(figures)
}

/// The same operation over HTTP, and as a tool for clients of both kinds.
async fn calls(gateway: &Gateway, settings: &Settings) -> Outcome<Vec<Figure>> {
    let thin = gateway::thin(gateway, "17")?;
    let arguments: Value = serde_json::from_str(&thin.text())?;
    let mut params = json!({"name": "get_item", "arguments": arguments});
    let call = |name, params: &Value| -> Outcome<Target> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
        Ok(Target::new(name, gateway::address(gateway)?, "/mcp/bench", body).with_any_answer())
    };
    let before = call("tool call of 2025-11-25", &params)?.with_header("mcp-protocol-version", "2025-11-25");
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let newest = call("tool call of 2026-07-28", &params)?
        .with_header("mcp-protocol-version", "2026-07-28")
        .with_header("mcp-method", "tools/call")
        .with_header("mcp-name", "get_item");
    let mut contestants = Vec::new();
    for target in [thin.called("over HTTP"), before, newest] {
        contestants.push(Contestant::new(target, CONNECTIONS, gateway.process_id()).await?);
    }
    take_turns(&mut contestants, settings).await?;
    let (plain, tools) = contestants.split_first().ok_or("nothing was measured")?;
    let figures = tools.iter().flat_map(|tool| {
        let name = |what: &str| format!("{}: {what}", tool.name);
        let requests = tool.against(plain, name("requests"), Unit::PerSecond, |round| round.per_second);
        let cpu = tool.against(plain, name("CPU time a request"), Unit::Seconds, |round| round.cpu);
        [requests.goal(Goal::Ratio(GOAL)), cpu]
    });
    Ok(figures.collect())
}

/// The list of all operations, and the list of each connector.
async fn lists(gateway: &Gateway, settings: &Settings) -> Outcome<Vec<Figure>> {
    let address = gateway::address(gateway)?;
    let mut connection = Connection::open(address, Protocol::Http1).await?;
    let of_connectors = module::shipped_names().into_iter().map(|name| (format!("/mcp/{name}"), GOAL_OF_CONNECTOR));
    let mut figures = Vec::new();
    for (path, goal) in [("/mcp".to_owned(), GOAL_OF_ALL)].into_iter().chain(of_connectors) {
        let (first, tokens) = list(&mut connection, address, &path).await?;
        let mut again = Vec::new();
        for _ in 0..settings.pick(200, 20) {
            again.push(list(&mut connection, address, &path).await?.0);
        }
        figures.push(Figure::new(format!("list of {path}: tokens"), Unit::Count, tokens).goal(Goal::AtMost(goal)));
        let made = Figure::new(format!("list of {path}: made, the first time"), Unit::Seconds, first);
        figures.push(made.against("sent again", median(again)));
    }
    Ok(figures)
}

/// The seconds until a list has come, and its tokens.
async fn list(connection: &mut Connection, address: SocketAddr, path: &str) -> Outcome<(f64, f64)> {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let request = Request::post(path)
        .header(HOST, address.to_string())
        .header(AUTHORIZATION, format!("Bearer {KEY}"))
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(request)))?;
    let sent = Instant::now();
    let answer = connection.call(request).await?;
    let seconds = sent.elapsed().as_secs_f64();
    let answer: Value = serde_json::from_slice(&answer)?;
    let tools = answer["result"].get("tools").ok_or_else(|| format!("{path} answers no list: {answer}"))?;
    Ok((seconds, tokens(tools)))
}

/// The descriptions of the operations of the product, as `describe_operations` answers them one by
/// one.
fn descriptions(gateway: &Gateway) -> Outcome<Vec<Figure>> {
    let client = gateway.client();
    let document = client.get("/openapi.json").ok();
    let shipped = module::shipped_names();
    let is_shipped = |name: &str| shipped.iter().any(|connector| name.split('/').next() == Some(connector));
    let (mut whole, mut examples) = (Vec::new(), 0.0);
    for (name, _) in description::operations(&document).filter(|(name, _)| is_shipped(name)) {
        let params = json!({"name": "describe_operations", "arguments": {"names": [name]}});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let answer = client.post("/mcp", call).ok();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        let described: Value = serde_json::from_str(text).map_err(|_| format!("{name} is not described: {answer}"))?;
        whole.push(tokens(&described));
        let examples_of_it = ["example", "answer_example"].iter().filter_map(|name| described[0].get(name));
        examples += examples_of_it.map(tokens).sum::<f64>();
    }
    let (largest, all) = (whole.iter().copied().fold(0.0, f64::max), whole.iter().sum());
    let undescribed = description::undescribed(&document).iter().filter(|place| is_shipped(place)).count() as f64;
    let figure = |what: &str, ours| {
        Figure::new(format!("descriptions of {} operations: {what}", whole.len()), Unit::Count, ours)
    };
    Ok(vec![
        figure("tokens of one, median", median(whole.clone())),
        figure("tokens of one, largest", largest).goal(Goal::AtMost(GOAL_OF_DESCRIPTION)),
        figure("tokens of all examples", examples).against("all descriptions", all),
        figure("members without a description", undescribed).goal(Goal::AtMost(GOAL_OF_UNDESCRIBED)),
    ])
}

fn tokens(document: &Value) -> f64 {
    document.to_string().chars().count() as f64 / CHARACTERS
}
