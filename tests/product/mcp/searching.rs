//! The tools that search for operations and call them.

use serde_json::{Value, json};
use support::{Gateway, Reply, Setup, Upstream};

use super::{Agent, code};

/// Questions of people, each with the operations of which one must be among the first three.
const QUESTIONS: &str = include_str!("questions.txt");

/// Tasks in everyday words, which the texts of operations mostly lack, in the same form.
const TASKS: &str = include_str!("tasks.txt");

fn gateway() -> Gateway {
    Setup::new().every_shipped().start()
}

/// The operations that are found, as `connector/operation`.
fn found(agent: &Agent, arguments: Value) -> Vec<String> {
    let text = agent.text("search_operations", arguments);
    text.lines().map(|line| line.split(": ").next().unwrap().replacen("__", "/", 1)).collect()
}

/// The questions of a table, each with its operations.
fn questions(table: &'static str) -> Vec<(&'static str, Vec<&'static str>)> {
    let read = |line: &'static str| {
        let (question, operations) = line.split_once('→').unwrap();
        (question.trim(), operations.split('|').map(str::trim).collect())
    };
    table.lines().map(read).collect()
}

/// The questions that do not find one of their operations among the first ones.
fn missed(agent: &Agent, questions: &[(&str, Vec<&str>)], limit: usize) -> Vec<String> {
    let miss = |(question, operations): &(&str, Vec<&str>)| {
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
fn of_sixty_tasks_in_everyday_words_forty_six_are_found_among_the_first_three_and_57_among_ten() {
    let gateway = gateway();
    let agent = Agent::new(&gateway.client(), "/mcp");
    let tasks = questions(TASKS);
    assert_eq!(tasks.len(), 60);
    let (of_three, of_ten) = (missed(&agent, &tasks, 3), missed(&agent, &tasks, 10));
    assert!(of_three.len() <= 14, "{of_three:#?}");
    assert!(of_ten.len() <= 3, "{of_ten:#?}");
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
