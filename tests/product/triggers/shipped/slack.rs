//! Slack: the Events API, whose events go to the users who may see them.

use support::jwt::at;

use super::*;
use crate::hooks::{hmac_hex, outcomes, records};

const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";
const APP_TOKEN: &str = "xapp-1-A1-0123456789abcdef";
const VIEWERS: &str = "/api/apps.event.authorizations.list";

struct Slack {
    world: Shipped,
    inbox: String,
    url: String,
}

/// A world with accounts of three users of a workspace, and perhaps with the application's token.
fn slack(has_token: bool) -> Slack {
    let setup = Setup::new().oauth_client("slack", &Dialect::slack());
    let setup = if has_token { setup.config(&format!("app_token = \"{APP_TOKEN}\"")) } else { setup };
    let world = Shipped::start_as(setup, "team_chat", &["api"], "");
    world.service.on("*", |seen| {
        let user = user_of(seen);
        Reply::json(match seen.path.as_str() {
            "/api/auth.test" => json!({"ok": true, "user_id": format!("U{user}"), "team_id": "T1", "user": user}),
            "/api/users.info" => json!({"ok": true, "user": {"name": user, "profile": {}}}),
            VIEWERS if seen.header("authorization") != format!("Bearer {APP_TOKEN}") => {
                json!({"ok": false, "error": "invalid_auth"})
            }
            // Eve may not see the event.
            VIEWERS => match seen.form().iter().find(|(name, _)| name == "cursor") {
                None => json!({
                    "ok": true, "authorizations": [viewer("T1", "Uada"), viewer("T2", "Ueve")],
                    "response_metadata": {"next_cursor": "page=2"},
                }),
                Some(_) => json!({
                    "ok": true, "authorizations": [viewer("T1", "Ubob")], "response_metadata": {"next_cursor": ""},
                }),
            },
            _ => json!({"ok": false, "error": "unknown_method"}),
        })
    });
    world.connect("team_chat", &["ada", "bob", "eve"]);
    let (inbox, url) = world.inbox("team_chat", "events", Some(SECRET));
    Slack { world, inbox, url }
}

fn viewer(team: &str, user: &str) -> Value {
    json!({"enterprise_id": null, "team_id": team, "user_id": user, "is_bot": false})
}

/// A message that the user ada may see.
fn message(id: &str, text: &str) -> Value {
    json!({
        "type": "event_callback", "team_id": "T1", "event_id": id, "event_time": at(0), "event_context": "4-ctx",
        "event": {"type": "message", "channel": "C1", "channel_type": "channel", "user": "Ukim", "text": text, "ts": "1.1"},
        "authorizations": [viewer("T1", "Uada")],
    })
}

impl Slack {
    /// A notification as Slack signs it, sent this many seconds from now.
    fn push(&self, body: &Value, seconds: i64) -> Answer {
        let (time, body) = (at(seconds).to_string(), body.to_string());
        let signature = hmac_hex(SECRET, format!("v0:{time}:{body}").as_bytes());
        self.signed(&time, &signature).body(body).send()
    }

    fn signed(&self, time: &str, signature: &str) -> Call {
        let call = self.world.notify(&self.url).header("x-slack-request-timestamp", time);
        call.header("x-slack-signature", &format!("v0={signature}"))
    }

    fn trigger(&self, user: &str, kind: &str, parameters: &Value) -> String {
        self.world.trigger(user, &format!("team_chat.{kind}"), parameters)
    }

    fn state(&self) -> Value {
        self.world.client().get(&format!("/admin/inboxes/{}", self.inbox)).ok()["state"].clone()
    }

    /// The texts of the messages that a trigger has got, after Slack was asked who sees them.
    fn texts(&self, id: &str) -> Vec<String> {
        let is_left = "UPDATE shared_notifications SET attempts = attempts";
        wait_for("all users to be told", || (self.world.gateway.home().sqlite(is_left) == 0).then_some(()));
        self.world.told(id, "/text")
    }
}

#[test]
fn a_challenge_is_answered_only_if_slack_has_signed_it() {
    let slack = slack(true);
    let challenge = json!({"type": "url_verification", "challenge": "3eZbrw1a"});
    let answer = slack.push(&challenge, 0);
    assert_eq!((answer.status, answer.text().as_str()), (200, "3eZbrw1a"));
    for call in [
        slack.signed(&at(0).to_string(), &"0".repeat(64)).json(&challenge),
        slack.world.notify(&slack.url).json(&challenge),
    ] {
        let answer = call.send();
        assert_eq!((answer.status, answer.text().as_str()), (401, "{}"));
    }
    for seconds in [-301, 330] {
        assert_eq!(slack.push(&challenge, seconds).status, 401);
    }
    assert_eq!(slack.push(&challenge, -295).status, 200);
    let records = records(&slack.world.gateway, "connector=team_chat", 6);
    let expected = [
        ("handshake", ""),
        ("rejected", "wrong-signature"),
        ("rejected", "no-signature"),
        ("rejected", "too-old"),
        ("rejected", "too-new"),
        ("handshake", ""),
    ];
    assert_eq!(outcomes(&records), expected);
}

#[test]
fn a_message_goes_to_the_users_whom_slack_names_and_to_no_one_else() {
    let slack = slack(true);
    let [ada, bob, eve] = ["ada", "bob", "eve"].map(|user| slack.trigger(user, "message", &json!({})));
    assert_eq!(slack.push(&message("Ev1", "Hello"), 0).status, 200);
    assert_eq!(slack.world.events(&ada)[0]["data"]["text"], "Hello", "it is stored before Slack is asked");
    assert_eq!(slack.texts(&bob), ["Hello"]);
    assert_eq!(slack.texts(&ada), ["Hello"], "once, although it is named twice");
    assert_eq!(slack.texts(&eve), [""; 0], "another workspace has a user of this id");
    let asked: Vec<Vec<(String, String)>> = slack.world.requests("POST", VIEWERS).iter().map(Seen::form).collect();
    let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let context = field("event_context", "4-ctx");
    assert_eq!(asked, [vec![context.clone()], vec![context, field("cursor", "page=2")]]);
    // Slack sends it again because the answer was late.
    assert_eq!(slack.push(&message("Ev1", "Hello"), 0).status, 200);
    assert_eq!(slack.texts(&bob), ["Hello"]);
    assert_eq!(slack.world.requests("POST", VIEWERS).len(), 2, "it was asked for this event before");
    assert_eq!(slack.state(), "verified");
}

#[test]
fn without_the_token_of_the_application_only_the_named_user_gets_a_message() {
    let slack = slack(false);
    let [ada, bob] = ["ada", "bob"].map(|user| slack.trigger(user, "message", &json!({})));
    assert_eq!(slack.push(&message("Ev1", "Hello"), 0).status, 200);
    assert_eq!(slack.texts(&ada), ["Hello"]);
    assert_eq!(slack.texts(&bob), [""; 0]);
    assert_eq!(slack.world.requests("POST", VIEWERS).len(), 0);
    assert_eq!(slack.state(), "needs-setup");
}

#[test]
fn triggers_get_the_conversations_and_kinds_of_messages_that_they_name() {
    let slack = slack(false);
    let all = slack.trigger("ada", "message", &json!({}));
    let other = slack.trigger("ada", "message", &json!({"channel": "C2"}));
    let mentions = slack.trigger("ada", "mention", &json!({}));
    let send = |id: &str, change: &dyn Fn(&mut Value)| {
        let mut body = message(id, id);
        change(&mut body["event"]);
        assert_eq!(slack.push(&body, 0).status, 200, "{id}");
    };
    send("plain", &|_| {});
    send("in another", &|event| event["channel"] = json!("C2"));
    send("for ada <@Uada>", &|_| {});
    send("for adam <@Uadam>", &|_| {});
    send("changed", &|event| event["subtype"] = json!("message_changed"));
    send("joined", &|event| event["subtype"] = json!("channel_join"));
    send("of a bot", &|event| event["subtype"] = json!("bot_message"));
    assert_eq!(slack.texts(&all), ["plain", "in another", "for ada <@Uada>", "for adam <@Uadam>", "of a bot"]);
    assert_eq!(slack.texts(&other), ["in another"]);
    assert_eq!(slack.texts(&mentions), ["for ada <@Uada>"]);
}

#[test]
fn reactions_need_a_scope_of_the_account() {
    let slack = slack(false);
    let in_channel = json!({"channel": "C2"});
    let problem = slack.world.make("ada", "team_chat.reaction_added", &in_channel).problem(409, "scopes-missing");
    assert_eq!(problem["missing"], json!(["reactions:read"]));
    slack.world.connect_with("team_chat", "lee", &json!(["reactions:read"]));
    let id = slack.trigger("lee", "reaction_added", &in_channel);
    for channel in ["C1", "C2"] {
        let mut body = message(channel, "");
        let item = json!({"type": "message", "channel": channel, "ts": "1.1"});
        body["event"] = json!({"type": "reaction_added", "user": "Ukim", "reaction": "thumbsup", "item": item});
        body["authorizations"] = json!([viewer("T1", "Ulee")]);
        assert_eq!(slack.push(&body, 0).status, 200);
    }
    assert_eq!(slack.world.told(&id, "/item/channel"), ["C2"]);
}

#[test]
fn without_an_inbox_a_trigger_waits_for_the_operator() {
    let slack = slack(true);
    assert_eq!(slack.world.client().delete(&format!("/admin/inboxes/{}", slack.inbox)).status, 200);
    let made = slack.world.make("ada", "team_chat.message", &json!({})).json();
    assert_eq!((&made["status"], &made["reason"]), (&json!("degraded"), &json!("needs-setup")));
    slack.world.inbox("team_chat", "events", Some(SECRET));
    assert_eq!(slack.world.record(made["id"].as_str().unwrap())["status"], "active");
}
