//! The page `host/docs/events.md`: its five commands run as printed, and lead from a mail that
//! arrives to a webhook that is verified.

use std::fs;
use std::process::Command;

use support::webhooks::verified;
use support::{module, process};

use super::*;
use crate::connectors::{Connected, google_claims};

/// The commands of the page, each with the answer that the page shows.
fn commands(page: &str) -> Vec<(String, Value)> {
    let blocks = |language: &str| -> Vec<String> {
        let fence = format!("```{language}\n");
        page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
    };
    let answers = blocks("json").into_iter().map(|text| serde_json::from_str(&text).unwrap());
    blocks("sh").into_iter().zip(answers).collect()
}

/// Everything that the page shows has the same form in the answer.
#[track_caller]
fn assert_shown(shown: &Value, answer: &Value, place: &str) {
    match (shown, answer) {
        (Value::Object(members), Value::Object(found)) => {
            for (name, value) in members {
                let found = found.get(name).unwrap_or_else(|| panic!("{place}/{name} is not in the answer: {answer}"));
                assert_shown(value, found, &format!("{place}/{name}"));
            }
        }
        (Value::Array(items), Value::Array(found)) => {
            for item in items {
                let found = found.first().unwrap_or_else(|| panic!("{place} is empty"));
                assert_shown(item, found, place);
            }
        }
        (Value::Null, _) => {}
        _ => assert_eq!(std::mem::discriminant(shown), std::mem::discriminant(answer), "{place}: {shown} and {answer}"),
    }
}

#[test]
fn five_commands_lead_from_a_mail_to_a_verified_webhook() {
    let upstreams = [("api", "/gmail/v1"), ("upload", "/upload/gmail/v1"), ("oauth2", "/oauth2/v2")];
    let config = "[callbacks]\nallow_private_network = true";
    let connected = Connected::start("workspace_mail", Dialect::google(), &upstreams, config, google_claims);
    let has_arrived = Arc::new(Mutex::new(false));
    let shared = Arc::clone(&has_arrived);
    connected.provider.on_api(move |seen, _| {
        let path = seen.path.as_str();
        let history = json!([{"id": "101", "messagesAdded": [{"message": {"id": "m1", "threadId": "t", "labelIds": ["INBOX"]}}]}]);
        let has_arrived = *shared.lock();
        Reply::json(match path.rsplit('/').next().unwrap() {
            "profile" => json!({"emailAddress": "ada@example.com", "historyId": "100"}),
            "history" if has_arrived => json!({"history": history, "historyId": "101"}),
            "history" => json!({"historyId": "100"}),
            _ => json!({"id": "m1", "threadId": "t", "snippet": "Lunch?", "internalDate": "1767323045000"}),
        })
    });
    let receiver = Upstream::start();
    receiver.reply("*", Reply::empty(204));

    let page = fs::read_to_string(module::root().join("host/docs/events.md")).unwrap();
    let commands = commands(&page);
    assert_eq!(commands.len(), 5);
    let (mut secret, mut trigger) = (String::new(), String::new());
    for (command, shown) in &commands {
        if command.contains("/events?") {
            // A mail arrives.
            *has_arrived.lock() = true;
            assert!(
                connected.gateway.home().sqlite("UPDATE subscriptions SET last_read_at = last_read_at - 20000") > 0
            );
            assert_eq!(connected.client.post(&format!("/triggers/{trigger}/read"), json!({})).status, 202);
            receiver.wait_for_requests(2);
        }
        let command = command.replace("https://app.example.com", &receiver.url());
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]).env("GATEWAY", connected.gateway.address()).env("KEY", connected.client.key());
        let finished = process::run(shell.env("TRIGGER", &trigger));
        let answer: Value = serde_json::from_str(&finished.stdout)
            .unwrap_or_else(|error| panic!("{command}: {error}: {}{}", finished.stdout, finished.stderr));
        assert_shown(shown, &answer, "");
        if let Some(made) = answer["secret"].as_str() {
            made.clone_into(&mut secret);
        }
        if let Some(id) = answer["id"].as_str().filter(|id| id.starts_with("trg_")) {
            id.clone_into(&mut trigger);
        }
    }
    let bodies: Vec<Value> = receiver.seen().iter().map(|seen| verified(seen, &secret)).collect();
    assert_eq!((&bodies[0]["event"]["source"], &bodies[1]["event"]["source"]), (&json!("test"), &json!("read")));
    assert_eq!(bodies[1]["data"]["snippet"], "Lunch?");
}
