//! Conversations of the official clients with a gateway. `make test-clients` installs the clients,
//! and puts them into `target`.

mod suite;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::programs::{self, Programs};
use support::{
    Balancer, Client, Dialect, Gate, Gateway, OAuthProvider, Reply, Setup, Store, Upstream, module, wait_for,
};

use super::{STATELESS, WITH_INITIALIZE, text_of};
use crate::connect_page::Browser;
use crate::fleet::{key_of, wait_for_ready};
use crate::integrations::{client, started};

/// The longest time that a client takes to answer. Only a client that hangs takes as long.
const MAX_WAIT: Duration = Duration::from_secs(240);

/// A program with an official client. When this is dropped, its input ends, and it has as long to
/// end as to answer.
struct Program {
    process: Child,
    commands: Option<ChildStdin>,
    answers: Receiver<Value>,
}

impl Program {
    fn start(command: &mut Command) -> Self {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = piped.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (sender, answers) = channel();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let answer = serde_json::from_str(&line).unwrap_or_else(|_| json!({"line": line}));
                if sender.send(answer).is_err() {
                    return;
                }
            }
        });
        Self { commands: process.stdin.take(), process, answers }
    }

    /// The next line of the program.
    #[track_caller]
    fn next(&self) -> Value {
        self.answers.recv_timeout(MAX_WAIT).unwrap_or_else(|error| panic!("the client says nothing: {error}"))
    }

    fn tell(&mut self, line: &Value) {
        writeln!(self.commands.as_mut().unwrap(), "{line}").unwrap();
    }

    #[track_caller]
    fn ask(&mut self, command: &Value) -> Value {
        self.tell(command);
        self.next()
    }

    #[track_caller]
    fn names(&mut self) -> Vec<String> {
        let listed = self.ask(&json!({"do": "list"}));
        let tools = listed["result"].as_array().unwrap_or_else(|| panic!("no list: {listed}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// The answer to a call: its result, its error, or a question to the user.
    #[track_caller]
    fn call(&mut self, name: &str, arguments: &Value) -> Value {
        self.ask(&json!({"do": "call", "name": name, "arguments": arguments}))
    }

    /// The text of a call that succeeds.
    #[track_caller]
    fn text(&mut self, name: &str, arguments: &Value) -> String {
        let answer = self.call(name, arguments);
        success(&answer)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.commands = None;
        // A client that still waits for an answer does not read that its input has ended.
        let deadline = Instant::now() + MAX_WAIT;
        while !thread::panicking() && matches!(self.process.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The text of a result that is no error.
#[track_caller]
fn success(answer: &Value) -> String {
    let result = answer.get("result").unwrap_or_else(|| panic!("no result: {answer}"));
    assert_ne!(result["isError"], true, "{result}");
    text_of(result)
}

/// Gateways with two connectors: `account`, whose users have accounts at the provider, and `free`.
struct World {
    /// The address of the one gateway, or of the balancer in front of two.
    address: String,
    gateways: Vec<Gateway>,
    balancer: Option<Balancer>,
    service: Upstream,
    ann: Client,
    _provider: OAuthProvider,
    /// The database ends with it.
    _store: Store,
}

/// A setup with the two connectors, each of whose operations is a tool.
fn setup(provider: &OAuthProvider, service: &Upstream) -> Setup {
    let free = module::account(&json!({"identifier": "free", "auth": "none"}));
    let setup = Setup::new().config("[mcp]\ndirect_tools = 200").account("account", provider);
    setup.module("free", free).upstream("free", "api", &service.url())
}

fn one_gateway() -> World {
    let (provider, service) = (OAuthProvider::start(Dialect::strict()), Upstream::start());
    let gateway = started(setup(&provider, &service), &provider);
    let ann = client(&gateway, "acme", Some("ann"), "operate,integrate");
    World {
        address: gateway.address(),
        gateways: vec![gateway],
        balancer: None,
        service,
        ann,
        _provider: provider,
        _store: Store::Sqlite,
    }
}

/// Two gateways on one database, behind a balancer that sends each request to the other one.
fn two_gateways() -> World {
    let (provider, service, store) = (OAuthProvider::start(Dialect::strict()), Upstream::start(), Store::postgres());
    let one = started(setup(&provider, &service).on(&store), &provider);
    let other = started(setup(&provider, &service).on(&store).general(&key_of(&one)), &provider);
    wait_for_ready(&one, 2);
    let ann = client(&one, "acme", Some("ann"), "operate,integrate");
    wait_for("the key to be known", || (ann.at(&other.address()).get("/connectors").status == 200).then_some(()));
    let balancer = Balancer::start();
    balancer.forward_to(&[&one, &other]);
    let (address, gateways) = (balancer.url(), vec![one, other]);
    World {
        ann: ann.at(&address),
        address,
        gateways,
        balancer: Some(balancer),
        service,
        _provider: provider,
        _store: store,
    }
}

/// One conversation: a list, calls, a failure, an account, files, a job, and a new connector.
fn converse(name: &str, revision: &str, world: &World, command: impl Fn(&Programs) -> Command) {
    let World { address, gateways, service, ann, .. } = world;
    let programs = Programs::of("clients", name);
    programs.copy(&["mcp.mjs", "mcp_client.py", "package.json"]);
    let mut command = command(&programs);
    let client = &mut Program::start(command.args([&format!("{address}/mcp"), ann.key()]));
    assert_eq!(client.next(), json!({"revision": revision}));

    let names = client.names();
    for tool in ["free__forward", "account__forward", "connect_account", "get_job"] {
        assert!(names.iter().any(|name| name == tool), "{tool}: {names:?}");
    }
    calls_and_mends(client, service);
    connects(client);
    reads_files(client, service);
    follows_a_job(client, service, ann);

    gateways[0].home().put("liar", &module::liar("version=1.0.0"));
    wait_for("the tools of the other connector", || {
        client.names().iter().any(|name| name == "liar__version").then_some(())
    });
}

/// The words of a failure say how the call must be changed.
fn calls_and_mends(client: &mut Program, service: &Upstream) {
    service.reply("/a", Reply::json(json!({"n": 7})));
    let failed = client.call("free__forward", &json!({"pat": "/a", "response_fields": 7}))["result"].clone();
    assert_eq!(failed["isError"], true, "{failed}");
    let words = text_of(&failed);
    assert!(words.contains("/pat:") && words.contains("`path`") && words.contains("/response_fields:"), "{words}");
    assert_eq!(client.text("free__forward", &json!({"path": "/a", "response_fields": ["n"]})), r#"{"n":7}"#);
    let unknown = client.call("free__forwrd", &json!({}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    assert!(unknown["error"]["message"].as_str().unwrap().contains("free__forward"), "{unknown}");
}

/// The user connects an account on the page that the client shows, and the same call succeeds.
fn connects(client: &mut Program) {
    let me = json!({"path": "/me"});
    let answer = client.call("account__forward", &me);
    let asked = match answer.get("question") {
        Some(question) => question.clone(),
        None => {
            assert_eq!(answer["error"]["code"], -32042, "{answer}");
            answer["error"]["data"]["elicitations"][0].clone()
        }
    };
    assert_eq!(asked["mode"], "url", "{answer}");
    Browser::default().connects(asked["url"].as_str().unwrap(), "account", "ann");
    // A client of 2026-07-28 calls again by itself.
    let done = match answer.get("question") {
        Some(_) => client.ask(&json!({"action": "accept"})),
        None => client.call("account__forward", &me),
    };
    assert!(success(&done).contains("ann@example.com"), "{done}");
    assert!(client.text("list_accounts", &json!({})).contains("ann@example.com"));
}

fn reads_files(client: &mut Program, service: &Upstream) {
    service.reply("/image", Reply::typed("image/png", "PNG")).reply("/text", Reply::typed("text/csv", "a, b\n"));
    let image = client.call("free__forward", &json!({"path": "/image"}))["result"]["content"][0].clone();
    assert_eq!(
        (&image["type"], &image["mimeType"], &image["data"]),
        (&json!("image"), &json!("image/png"), &json!("UE5H"))
    );
    assert_eq!(client.text("free__forward", &json!({"path": "/text"})), "a, b\n");
}

fn follows_a_job(client: &mut Program, service: &Upstream, ann: &Client) {
    let gate = Gate::default();
    service.reply("/slow", Reply::json(json!({"ready": true})).behind(&gate));
    let begun = ann.call("free/fetch", json!({"path": "/slow"}));
    assert_eq!(begun.status, 200, "{}", begun.text());
    let job = json!({"job_id": begun.json()["job_id"]});
    let status = |client: &mut Program| -> Value {
        let record: Value = serde_json::from_str(&client.text("get_job", &job)).unwrap();
        record
    };
    assert!(["pending", "running"].contains(&status(client)["status"].as_str().unwrap()));
    gate.open();
    let ended = wait_for("the job to end", || Some(status(client)).filter(|record| record["status"] == "succeeded"));
    assert_eq!(ended["result"], json!({"ready": true}), "{ended}");
    // A call of the tool itself waits for its job.
    assert_eq!(client.text("free__fetch", &json!({"path": "/slow"})), r#"{"ready":true}"#);
}

fn node(programs: &Programs, kind: &str) -> Command {
    let mut node = Command::new("node");
    node.current_dir(programs.path()).args(["mcp.mjs", kind]);
    node
}

fn in_python(programs: &Programs, mode: &str) -> Command {
    let mut python = programs::python("clients");
    python.current_dir(programs.path()).args(["mcp_client.py", mode]);
    python
}

#[test]
#[ignore = "make test-clients"]
fn the_official_typescript_client_converses() {
    converse("mcp-client", STATELESS, &one_gateway(), |programs| node(programs, "client"));
}

#[test]
#[ignore = "make test-clients"]
fn the_official_typescript_client_converses_after_initialize() {
    let command = |programs: &Programs| node(programs, "client-with-initialize");
    converse("mcp-client-with-initialize", WITH_INITIALIZE, &one_gateway(), command);
}

#[test]
#[ignore = "make test-clients"]
fn the_official_typescript_sdk_before_it_converses() {
    converse("mcp-sdk", WITH_INITIALIZE, &one_gateway(), |programs| node(programs, "sdk"));
}

#[test]
#[ignore = "make test-clients"]
fn the_official_python_client_converses() {
    converse("mcp-python", STATELESS, &one_gateway(), |programs| in_python(programs, "auto"));
}

#[test]
#[ignore = "make test-clients"]
fn the_official_python_client_converses_after_initialize() {
    let command = |programs: &Programs| in_python(programs, "legacy");
    converse("mcp-python-with-initialize", WITH_INITIALIZE, &one_gateway(), command);
}

/// A gateway with a set of tools whose answers have types, and the URL of the set. Some members of
/// the service's answer do not fit its schema.
fn typed_answers() -> (Upstream, Gateway, String) {
    let service = Upstream::start();
    let pair = json!({"chainId": null, "dexId": "orca", "volume": [], "labels": ["v3", 7]});
    service.reply("*", Reply::json(json!({"schemaVersion": 1, "pairs": [pair]})));
    let gateway = Setup::new().shipped("dex_market_data").upstream("dex_market_data", "api", &service.url()).start();
    let set = json!({"name": "markets", "allow": ["dex_market_data"], "structured": true});
    assert_eq!(gateway.client().post("/mcp-sets", set).status, 201);
    let url = format!("{}/mcp/sets/markets", gateway.address());
    (service, gateway, url)
}

const SEARCH: &str = "dex_market_data__search_pairs";

/// The clients check each result with the schema of its tool.
#[test]
#[ignore = "make test-clients"]
fn the_official_clients_take_structured_results_whatever_the_service_answers() {
    let (_service, gateway, url) = typed_answers();
    for kind in ["client", "sdk", "auto"] {
        let programs = Programs::of("clients", &format!("mcp-structured-{kind}"));
        programs.copy(&["mcp.mjs", "mcp_client.py", "package.json"]);
        let mut command = if kind == "auto" { in_python(&programs, kind) } else { node(&programs, kind) };
        let client = &mut Program::start(command.args([url.as_str(), gateway.client().key()]));
        client.next();
        assert!(client.names().iter().any(|name| name == SEARCH));
        let answer = client.call(SEARCH, &json!({"q": "EXM/SOL"}));
        assert!(success(&answer).contains(r#""chainId":null"#), "{kind}: {answer}");
        let fit = json!({"pairs": [{"dexId": "orca", "labels": ["v3"]}]});
        assert_eq!(answer["result"]["structuredContent"], fit, "{kind}: {answer}");
    }
}

/// Both make an object of the answer with the schema of its tool.
#[test]
#[ignore = "make test-clients"]
fn fastmcp_and_the_ai_sdk_list_call_and_read_typed_answers() {
    let (_service, gateway, url) = typed_answers();
    let programs = Programs::of("clients", "mcp-typed");
    programs.copy(&["ai_sdk.mjs", "fastmcp_client.py", "package.json"]);
    let ai_sdk = Command::new("node");
    let fastmcp = programs::python("clients");
    for (mut command, program) in [(ai_sdk, "ai_sdk.mjs"), (fastmcp, "fastmcp_client.py")] {
        command.current_dir(programs.path()).args([program, url.as_str(), gateway.client().key()]);
        let client = &mut Program::start(&mut command);
        assert!(client.names().iter().any(|name| name == SEARCH), "{program}");
        let answer = client.call(SEARCH, &json!({"q": "EXM/SOL"}));
        let pair = &answer["result"]["pairs"][0];
        assert_eq!((&pair["dexId"], &pair["labels"]), (&json!("orca"), &json!(["v3"])), "{program}: {answer}");
        // FastMCP makes an exception of a failure, and the AI SDK gives its text to the model.
        let failed = client.call(SEARCH, &json!({"q": 7})).to_string();
        assert!(failed.contains("/q: Must be a string."), "{program}: {failed}");
    }
}

/// No gateway keeps anything of a conversation, so each request may go to another one.
#[test]
#[ignore = "make test-clients"]
fn two_gateways_serve_one_conversation_in_turn() {
    for (revision, kind) in [(STATELESS, "client"), (WITH_INITIALIZE, "sdk")] {
        let world = two_gateways();
        converse(&format!("mcp-two-gateways-{kind}"), revision, &world, |programs| node(programs, kind));
        let requests = world.balancer.as_ref().unwrap().requests();
        assert!(requests > 10, "{requests}");
        for gateway in &world.gateways {
            let series = r#"gateway_requests_total{connector="free",operation="forward",status="200"}"#;
            assert!(gateway.metric(series) >= 1.0, "each gateway has served a part");
        }
    }
}
