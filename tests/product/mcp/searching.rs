//! The tools that search for operations and call them.

use serde_json::{Value, json};
use support::{Dialect, Gateway, OAuthProvider, Reply, Setup, Upstream};

use super::{Agent, code, result, text_of};
use crate::integrations::{client, connect, started};

/// Questions of people, each with the operations of which one must be among the first three.
const QUESTIONS: &str = include_str!("questions.txt");

/// Tasks in everyday words, which the texts of operations mostly lack, in the same form.
const TASKS: &str = include_str!("tasks.txt");

/// Requests of people, each with the question that an agent sends for it, by the description of the
/// tool alone. The words that the search knows were chosen with these requests in view.
const REQUESTS: &str = include_str!("requests.txt");

/// Requests in the same form, by someone who had seen the operations and not the search. When they
/// were written, the search found 67 of the 80 questions among the first three, and 77 among ten.
const UNSEEN_REQUESTS: &str = include_str!("unseen_requests.txt");

fn gateway() -> Gateway {
    Setup::new().every_shipped().start()
}

/// The operations that are found, as `connector/operation`. None if no operation has the words.
fn found(agent: &Agent, arguments: Value) -> Vec<String> {
    let result = result(&agent.call("search_operations", arguments));
    let text = if result["isError"] == true { String::new() } else { text_of(&result) };
    text.lines().map(|line| line.split(": ").next().unwrap().replacen("__", "/", 1)).collect()
}

/// A question with the operations that answer it.
type Question = (&'static str, Vec<&'static str>);

fn question(text: &'static str, operations: &'static str) -> Question {
    (text.trim(), operations.split('|').map(str::trim).collect())
}

/// The questions of a table.
fn questions(table: &'static str) -> Vec<Question> {
    table
        .lines()
        .map(|line| line.split_once('→').map(|(text, operations)| question(text, operations)).unwrap())
        .collect()
}

/// The requests of a table as people say them, and as an agent sends them.
fn requests(table: &'static str) -> (Vec<Question>, Vec<Question>) {
    let of_line = |line: &'static str| {
        let [request, query, operations] = line.split('→').collect::<Vec<_>>().try_into().unwrap();
        (question(request, operations), question(query, operations))
    };
    table.lines().map(of_line).unzip()
}

/// The questions that do not find one of their operations among the first ones.
fn missed(agent: &Agent, questions: &[Question], limit: usize) -> Vec<String> {
    let miss = |(question, operations): &Question| {
        let first = found(agent, json!({"query": question, "limit": limit}));
        let is_found = first.iter().any(|found| operations.contains(&found.as_str()));
        (!is_found).then(|| format!("{question}: {first:?}"))
    };
    questions.iter().filter_map(miss).collect()
}

#[test]
fn of_a_hundred_questions_ninety_five_find_the_operation_among_the_first_three() {
    let gateway = gateway();
    let agent = Agent::new(&gateway.client(), "/mcp");
    let questions = questions(QUESTIONS);
    assert_eq!(questions.len(), 100);
    let missed = missed(&agent, &questions, 3);
    assert!(missed.len() <= 5, "{missed:#?}");
}

#[test]
fn of_sixty_tasks_in_everyday_words_fifty_two_are_found_among_the_first_three_and_58_among_ten() {
    let gateway = gateway();
    let agent = Agent::new(&gateway.client(), "/mcp");
    let tasks = questions(TASKS);
    assert_eq!(tasks.len(), 60);
    let (of_three, of_ten) = (missed(&agent, &tasks, 3), missed(&agent, &tasks, 10));
    assert!(of_three.len() <= 8, "{of_three:#?}");
    assert!(of_ten.len() <= 2, "{of_ten:#?}");
}

#[test]
fn of_two_hundred_requests_an_agent_finds_ninety_five_in_a_hundred_among_the_first_three() {
    let gateway = gateway();
    let agent = Agent::new(&gateway.client(), "/mcp");
    let (said, sent) = requests(REQUESTS);
    assert_eq!(sent.len(), 200);
    let (of_three, of_ten) = (missed(&agent, &sent, 3), missed(&agent, &sent, 10));
    assert!(of_three.len() <= 10, "{of_three:#?}");
    assert!(of_ten.len() <= 2, "{of_ten:#?}");
    // As people say it, a request often names neither what is to be done nor the thing.
    let (of_three, of_ten) = (missed(&agent, &said, 3), missed(&agent, &said, 10));
    assert!(of_three.len() <= 54, "{of_three:#?}");
    assert!(of_ten.len() <= 26, "{of_ten:#?}");
}

#[test]
fn of_eighty_requests_that_the_search_was_not_made_for_seventy_are_found_among_the_first_three() {
    let gateway = gateway();
    let agent = Agent::new(&gateway.client(), "/mcp");
    let (said, sent) = requests(UNSEEN_REQUESTS);
    assert_eq!(sent.len(), 80);
    let (of_three, of_ten) = (missed(&agent, &sent, 3), missed(&agent, &sent, 10));
    assert!(of_three.len() <= 10, "{of_three:#?}");
    assert!(of_ten.len() <= 2, "{of_ten:#?}");
    let (of_three, of_ten) = (missed(&agent, &said, 3), missed(&agent, &said, 10));
    assert!(of_three.len() <= 28, "{of_three:#?}");
    assert!(of_ten.len() <= 10, "{of_ten:#?}");
}

#[test]
fn every_operation_is_found_by_its_name_and_its_connector() {
    let gateway = gateway();
    let agent = Agent::new(&gateway.client(), "/mcp");
    let listed = gateway.client().get("/openapi.json").ok();
    let mut operations = 0;
    for (path, item) in listed["paths"].as_object().unwrap() {
        let mut segments = path.split('/').skip(1);
        let (Some("connectors"), Some(connector), Some(operation), None) =
            (segments.next(), segments.next(), segments.next(), segments.next())
        else {
            continue;
        };
        let is_operation = item["post"]["tags"][0] == connector;
        if !is_operation || connector.starts_with('{') {
            continue;
        }
        operations += 1;
        let name = format!("{connector}/{operation}");
        assert_eq!(found(&agent, json!({"query": name, "limit": 1})).first(), Some(&name));
        let of_connector = found(&agent, json!({"query": connector, "connector": connector, "limit": 50}));
        assert!(of_connector.contains(&name), "{name}: {of_connector:?}");
    }
    assert!(operations > 100, "{operations}");
}

#[test]
fn of_operations_that_fit_as_well_those_of_connected_accounts_and_pinned_ones_come_first() {
    let provider = OAuthProvider::start(Dialect::strict());
    let setup = Setup::new().config("[mcp]\ndirect_tools = 0").account("files", &provider).account("mail", &provider);
    let gateway = started(setup, &provider);
    let acme = client(&gateway, "acme", None, "operate,integrate");
    let pinned = json!({"name": "pinned", "allow": ["files", "mail"], "mode": "search", "pinned": ["mail/whoami"]});
    assert_eq!(acme.post("/mcp-sets", pinned).status, 201);
    let found = |path: &str| found(&Agent::new(&acme, path), json!({"query": "whoami", "limit": 2}));
    let (files_first, mail_first) = (["files/whoami", "mail/whoami"], ["mail/whoami", "files/whoami"]);
    assert_eq!(found("/mcp"), files_first);
    assert_eq!(found("/mcp/sets/pinned"), mail_first);
    connect(&acme, "mail", "ada");
    assert_eq!(found("/mcp"), mail_first);
}

#[test]
fn an_operation_is_described_and_called_by_the_tool_for_its_effect() {
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({"id": 7})));
    // Every operation is searched for, however few there are.
    let gateway = Setup::new()
        .guest("hostile")
        .upstream("hostile", "api", &service.url())
        .config("[mcp]\ndirect_tools = 0")
        .start();
    let agent = Agent::new(&gateway.client(), "/mcp");
    let described: Value =
        serde_json::from_str(&agent.text("describe_operations", json!({"names": ["hostile__write"]}))).unwrap();
    assert_eq!((&described[0]["effect"], &described[0]["call_with"]), (&json!("write"), &json!("call_write")));
    assert!(described[0]["inputSchema"]["properties"].is_object(), "{described}");
    let arguments = json!({"method": "POST", "path": "/x"});
    for name in ["hostile__write", "hostile/write"] {
        let call = json!({"operation": name, "arguments": arguments});
        assert_eq!(agent.text("call_write", call.clone()), r#"{"id":7}"#);
        assert!(agent.refusal("call_read", call).contains("`call_write`"));
    }
    assert_eq!(service.seen().len(), 2);
    assert!(
        agent.refusal("call_write", json!({"operation": "hostile__wrote"})).contains("did you mean `hostile__write`?")
    );
    let words = agent.refusal("call_write", json!({"operation": "hostile__write", "arguments": {"nothing": 1}}));
    assert!(words.contains("/nothing"), "{words}");
    // An operation is no tool itself, since its effect would not be seen by who approves calls.
    assert_eq!(code(&agent.call("hostile__write", arguments), 200), -32602);
    assert!(agent.refusal("search_operations", json!({"limit": 51})).contains("/query"));
    assert!(agent.refusal("search_operations", json!({"query": "zebra crossing"})).contains("other words"));
}
