//! `make demo`: a walk through the product, offline. The exit code is 0 when every promise was
//! kept.

#![expect(clippy::expect_used, reason = "without its setup the demonstration has nothing to show")]

mod account;
mod show;

use std::process::ExitCode;

use serde_json::{Value, json};
use support::{Answer, Client, Gateway, Load, Setup, Upstream, arxiv, dexscreener, module};

/// Number of swaps under load.
const SWAPS: usize = 10;

type Step = Result<(), String>;

fn main() -> ExitCode {
    match walk() {
        Ok(()) => {
            println!("\nThis was the whole walk. `make run` starts a gateway that you can try yourself.\n");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("\n  ✗ a promise was not kept: {reason}\n");
            ExitCode::FAILURE
        }
    }
}

fn walk() -> Step {
    let (papers, market) = (arxiv::start(6), dexscreener::start());
    let gateway = start(&papers, &market);
    let client = gateway.client();
    println!(
        "A gateway on {} with two connectors. The services they wrap are stand-ins on this machine.",
        gateway.address()
    );
    list_connectors(&client)?;
    call_an_operation(&client)?;
    filter_and_project(&client)?;
    make_a_mistake(&client, &papers)?;
    swap_under_load(&gateway, &client)?;
    refuse_a_liar(&gateway, &client)?;
    survive_a_hostile_module(&gateway, &client)?;
    account::walk()
}

fn start(papers: &Upstream, market: &Upstream) -> Gateway {
    Setup::new()
        .shipped("preprint_archive")
        .shipped("dex_market_data")
        .upstream("preprint_archive", "api", &format!("{}/api", papers.url()))
        .config(&format!("upstreams.files = \"{}/pdf\"", papers.url()))
        .upstream("dex_market_data", "api", &market.url())
        .config("[connectors.hostile]\nlimits.cpu_ms = 500")
        .start()
}

/// Shows a kept promise, or ends the walk with an error.
fn promise(kept: bool, what: &str) -> Step {
    if kept {
        show::kept(what);
        return Ok(());
    }
    Err(what.to_owned())
}

fn list_connectors(client: &Client) -> Step {
    show::heading(1, "List the connectors");
    let listed = show::get(client, "/connectors").json();
    let mut table = String::new();
    for connector in listed["connectors"].as_array().expect("a list") {
        let operations = connector["operations"].as_array().map_or(0, Vec::len);
        let text = |name: &str| connector[name].as_str().unwrap_or_default().to_owned();
        table.push_str(&format!("{:<18} {:<14} {:>2} operations\n", text("connector"), text("title"), operations));
    }
    show::text(&table);
    promise(listed["connectors"].as_array().map(Vec::len) == Some(2), "both connectors are live")
}

fn call_an_operation(client: &Client) -> Step {
    show::heading(2, "Call an operation: the service speaks Atom, the caller gets JSON");
    let body = json!({"search_query": "all:electron", "max_results": 3});
    let answer = show::call(client, "preprint_archive/search_papers", &body);
    promise(answer.json()["papers"].as_array().map(Vec::len) == Some(3), "the answer has the three requested papers")
}

fn filter_and_project(client: &Client) -> Step {
    show::heading(3, "Filter the answer in the gateway");
    let filter = json!({"field_name": "pairs.chainId", "type": "string_list", "values": ["ethereum"]});
    let body = json!({"q": "EXM", "response_filters": [filter]});
    let answer = show::call(client, "dex_market_data/search_pairs", &body);
    promise(answer.json()["pairs"].as_array().map(Vec::len) == Some(1), "one of three pairs is left")?;
    show::heading(4, "Project it onto the fields you need");
    let body = json!({"q": "EXM", "response_fields": ["pairs.pairAddress", "pairs.priceUsd"]});
    let answer = show::call(client, "dex_market_data/search_pairs", &body);
    let expected: Vec<Value> = dexscreener::pairs()
        .iter()
        .map(|pair| json!({"pairAddress": pair["pairAddress"], "priceUsd": pair["priceUsd"]}))
        .collect();
    promise(answer.json() == json!({"pairs": expected}), "the answer has no other fields")
}

fn make_a_mistake(client: &Client, papers: &Upstream) -> Step {
    show::heading(5, "Make three mistakes in one call");
    let asked = papers.seen().len();
    let body = json!({"serch_query": "all:electron", "max_results": 5000, "sort_by": "date"});
    let answer = show::call(client, "preprint_archive/search_papers", &body);
    let reported = answer.json()["errors"].as_array().map_or(0, Vec::len);
    promise(
        answer.status == 422 && reported == 3,
        "all three are reported together, each with its place and what to do",
    )?;
    promise(papers.seen().len() == asked, "the service was not called")
}

fn swap_under_load(gateway: &Gateway, client: &Client) -> Step {
    show::heading(6, "Replace a connector while it is called without a pause");
    let caller = client.clone();
    let load = Load::start(
        move || caller.request("POST", "/connectors/preprint_archive/get_categories").json(&json!({})),
        |answer| if answer.status == 200 { Ok(()) } else { Err(answer.text()) },
    );
    load.wait_for_more(100);
    show::command(
        "for version in $(seq 10); do cp preprint_archive-$version.wasm connectors/preprint_archive.wasm; sleep 1; done",
    );
    for version in 1..=SWAPS {
        let before = digest(gateway);
        let next = module::with_note(&module::shipped("preprint_archive"), &format!("version {version}"));
        gateway.home().ship("preprint_archive", &next);
        support::wait_for("the swap", || (digest(gateway) != before).then_some(()));
    }
    load.wait_for_more(100);
    let outcome = load.stop();
    show::say(&format!("{SWAPS} swaps, {} requests answered, {} failed", outcome.succeeded, outcome.failures.len()));
    promise(outcome.failures.is_empty(), "no request failed")
}

fn digest(gateway: &Gateway) -> String {
    gateway.connector("preprint_archive").expect("it is live")["sha256"].to_string()
}

fn refuse_a_liar(gateway: &Gateway, client: &Client) -> Step {
    show::heading(
        7,
        "Install three bad modules: for the gateway's own paths, with an endless table, under a shipped name",
    );
    show::command("cp liar.wasm greedy.wasm dex_market_data.wasm modules/");
    gateway.home().put("liar", &module::liar("reserved path"));
    gateway.home().put("dex_market_data", &module::shipped("dex_market_data"));
    let growth = module::from_text(&module::text("table_growth"));
    gateway.home().put("greedy", &module::with_component(&module::guest("liar"), &growth));
    for file in ["liar.wasm", "greedy.wasm", "dex_market_data.wasm"] {
        gateway.wait_for_refusal(file);
    }
    let listed = show::get(client, "/connectors").json();
    for refused in listed["refused"].as_array().expect("a list") {
        show::say(&format!("{} is refused:", refused["file"].as_str().unwrap_or_default()));
        show::text(refused["reason"].as_str().unwrap_or_default());
    }
    let answer = client.call("dex_market_data/search_pairs", json!({"q": "EXM"}));
    promise(answer.status == 200, "the connector that came with the gateway still serves")
}

fn survive_a_hostile_module(gateway: &Gateway, client: &Client) -> Step {
    show::heading(8, "Install a module with an honest manifest that loops forever");
    show::command("curl -s $GATEWAY/admin/connectors -H \"Authorization: Bearer $KEY\" --data-binary @hostile.wasm");
    let installed = client.request("POST", "/admin/connectors").body(module::guest("hostile")).send();
    promise(installed.status == 200, "it is installed, because its manifest is correct")?;
    println!();
    let looped: Answer = show::call(client, "hostile/endless_loop", &json!({}));
    promise(looped.status == 500 && looped.json()["limit"] == "cpu", "it was stopped at its limit")?;
    let answer = gateway.call("dex_market_data/search_pairs", json!({"q": "EXM"}));
    promise(answer.status == 200, "the next honest request succeeds")
}
