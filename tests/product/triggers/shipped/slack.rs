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

/// A world with accounts of three users of a workspace and one of another, and perhaps with the
/// application's token.
fn slack(has_token: bool) -> Slack {
    let setup = Setup::new().oauth_client("slack", &Dialect::slack());
    let setup = if has_token { setup.config(&format!("app_token = \"{APP_TOKEN}\"")) } else { setup };
    let world = Shipped::start_as(setup, "team_chat", &["api"], "");
    world.service.on("*", |seen| {
        let user = user_of(seen);
        Reply::json(match seen.path.as_str() {
            "/api/auth.test" => {
                let team = if user == "zoe" { "T2" } else { "T1" };
                json!({"ok": true, "user_id": format!("U{user}"), "team_id": team, "user": user})
            }
            "/api/users.info" => json!({"ok": true, "user": {"name": user, "profile": {}}}),
            VIEWERS => viewers(seen),
            _ => json!({"ok": false, "error": "unknown_method"}),
        })
    });
    world.connect("team_chat", &["ada", "bob", "eve", "zoe"]);
    let (inbox, url) = world.inbox("team_chat", "events", Some(SECRET));
    Slack { world, inbox, url }
}

/// The accounts that may see an event, in two pages. Eve may not see it.
fn viewers(seen: &Seen) -> Value {
    if seen.header("authorization") != format!("Bearer {APP_TOKEN}") {
        return json!({"ok": false, "error": "invalid_auth"});
    }
    match seen.form().iter().find(|(name, _)| name == "cursor") {
        None => json!({
            "ok": true, "authorizations": [viewer("T1", "Uada"), viewer("T2", "Ueve")],
            "response_metadata": {"next_cursor": "page=2"},
        }),
        Some(_) => json!({
            "ok": true, "authorizations": [viewer("T1", "Ubob")], "response_metadata": {"next_cursor": ""},
        }),
    }
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

    fn sqlite(&self, statement: &str) -> usize {
        self.world.gateway.home().sqlite(statement)
    }

    /// Waits until no notification waits for its accounts.
    fn settle(&self) {
        let is_left = "UPDATE shared_notifications SET attempts = attempts";
        wait_for("all users to be told", || (self.sqlite(is_left) == 0).then_some(()));
    }

    /// The texts of the messages that a trigger has got, after Slack was asked who sees them.
    fn texts(&self, id: &str) -> Vec<String> {
        self.settle();
        self.world.told(id, "/text")
    }

    /// The types of the events of a trigger, after Slack was asked who sees them.
    fn kinds(&self, id: &str) -> Vec<String> {
        self.settle();
        self.world.kinds(id)
    }

    /// Lets Slack be asked at once, whatever it has said.
    fn ask_now(&self) {
        self.sqlite("UPDATE inboxes SET quiet_until = NULL");
        self.sqlite("UPDATE shared_notifications SET due_at = 0");
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
fn a_message_of_which_only_another_user_learns_is_recorded_as_stored() {
    let slack = slack(true);
    let bob = slack.trigger("bob", "message", &json!({}));
    assert_eq!(slack.push(&message("Ev1", "Hello"), 0).status, 200);
    assert_eq!(slack.texts(&bob), ["Hello"], "Slack has named the user ada, who has no trigger");
    let records = records(&slack.world.gateway, "connector=team_chat", 1);
    assert_eq!(outcomes(&records), [("stored", "")]);
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
fn users_whom_slack_does_not_name_in_the_end_learn_of_the_gap_and_others_do_not() {
    let slack = slack(true);
    let [ada, bob, eve] = ["ada", "bob", "eve"].map(|user| slack.trigger(user, "message", &json!({})));
    let other = slack.trigger("bob", "channel_created", &json!({}));
    slack.world.service.reply(VIEWERS, Reply::empty(503));
    assert_eq!(slack.push(&message("Ev1", "Hello"), 0).status, 200);
    let has_failed = "UPDATE shared_notifications SET attempts = attempts WHERE attempts = 1";
    wait_for("the first attempt", || (slack.sqlite(has_failed) == 1).then_some(()));
    assert_eq!(slack.world.kinds(&bob), [""; 0], "Slack is asked again");
    // Only the last attempt is left.
    slack.sqlite("UPDATE shared_notifications SET attempts = 11");
    slack.ask_now();
    assert_eq!(slack.kinds(&bob), ["trigger.gap"]);
    assert_eq!(slack.kinds(&eve), ["trigger.gap"], "she might have seen it");
    assert_eq!(slack.kinds(&ada), ["team_chat.message"], "Slack has named her");
    assert_eq!(slack.kinds(&other), [""; 0], "it gets no messages");
    slack.world.service.on(VIEWERS, |seen| Reply::json(viewers(seen)));
    slack.ask_now();
    assert_eq!(slack.push(&message("Ev2", "Again"), 0).status, 200);
    assert_eq!(slack.texts(&bob), ["", "Again"]);
}

#[test]
fn a_slack_that_does_not_answer_holds_up_nothing_else() {
    let slack = slack(true);
    let [ada, bob] = ["ada", "bob"].map(|user| slack.trigger(user, "message", &json!({})));
    let gate = support::Gate::default();
    let held = gate.clone();
    slack.world.service.on(VIEWERS, move |seen| Reply::json(viewers(seen)).behind(&held));
    let ids: Vec<String> = (10..26).map(|number| format!("Ev{number}")).collect();
    for id in &ids {
        assert_eq!(slack.push(&message(id, id), 0).status, 200);
    }
    let asked = || slack.world.requests("POST", VIEWERS).len();
    wait_for("Slack to be asked", || (asked() > 0).then_some(()));
    // Steps of subscriptions, and records of requests.
    slack.world.work("");
    records(&slack.world.gateway, "connector=team_chat", ids.len());
    assert!(asked() < ids.len(), "{} requests at the same time", asked());
    gate.open();
    let mut texts = slack.texts(&bob);
    texts.sort();
    assert_eq!(texts, ids);
    assert_eq!(slack.texts(&ada), ids);
}

#[test]
fn slack_is_left_in_peace_as_long_as_it_says_and_nothing_is_lost() {
    let slack = slack(true);
    let bob = slack.trigger("bob", "message", &json!({}));
    slack.world.service.reply(VIEWERS, Reply::empty(429).header("retry-after", "600"));
    assert_eq!(slack.push(&message("Ev1", "one"), 0).status, 200);
    let is_quiet = "UPDATE inboxes SET tenant = tenant WHERE quiet_until > (unixepoch('subsec') + 500) * 1000";
    wait_for("Slack to be left in peace", || (slack.sqlite(is_quiet) == 1).then_some(()));
    assert_eq!(slack.push(&message("Ev2", "two"), 0).status, 200);
    // The gateway looks for notifications each second.
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    assert_eq!(slack.world.requests("POST", VIEWERS).len(), 1);
    assert_eq!(slack.sqlite("UPDATE shared_notifications SET due_at = due_at WHERE attempts = 0"), 2, "no attempts");
    slack.world.service.on(VIEWERS, |seen| Reply::json(viewers(seen)));
    slack.ask_now();
    let mut texts = slack.texts(&bob);
    texts.sort();
    assert_eq!(texts, ["one", "two"]);
}

#[test]
fn slack_is_asked_about_a_message_once_also_if_the_named_user_has_no_trigger() {
    let slack = slack(true);
    let bob = slack.trigger("bob", "message", &json!({}));
    for _ in 0..2 {
        assert_eq!(slack.push(&message("Ev1", "Hello"), 0).status, 200);
        assert_eq!(slack.texts(&bob), ["Hello"]);
    }
    assert_eq!(slack.world.requests("POST", VIEWERS).len(), 2, "two pages of one answer");
}

#[test]
fn a_workspace_with_more_events_than_slack_sends_learns_of_the_gap_once() {
    let slack = slack(false);
    let [ada, bob, zoe] = ["ada", "bob", "zoe"].map(|user| slack.trigger(user, "message", &json!({})));
    let limited = json!({
        "token": "x", "type": "app_rate_limited", "team_id": "T1", "minute_rate_limited": at(0) / 60 * 60,
        "api_app_id": "A1",
    });
    for _ in 0..2 {
        assert_eq!(slack.push(&limited, 0).status, 200);
        assert_eq!(slack.kinds(&ada), ["trigger.gap"]);
    }
    assert_eq!(slack.kinds(&bob), ["trigger.gap"]);
    assert_eq!(slack.kinds(&zoe), [""; 0], "another workspace");
    let gap = &slack.world.data(&ada)[0];
    assert!(gap["from"].as_str() < gap["to"].as_str(), "{gap}");
    let records = records(&slack.world.gateway, "connector=team_chat", 2);
    assert_eq!(outcomes(&records), [("stored", ""); 2]);
    assert_eq!(records[0]["kind"], "app_rate_limited");
}

#[test]
fn a_trigger_waits_for_the_account_while_slack_does_not_answer() {
    let slack = slack(true);
    slack.world.service.reply("/api/auth.test", Reply::empty(503));
    let made = slack.world.make("ada", "team_chat.message", &json!({}));
    assert_eq!((made.status, &made.json()["status"]), (201, &json!("pending")), "{}", made.text());
    let id = made.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(slack.push(&message("Ev1", "Hello"), 0).status, 200);
    assert_eq!(slack.texts(&id), [""; 0], "it is not known whose account it is");
    let ada = json!({"ok": true, "user_id": "Uada", "team_id": "T1", "user": "ada"});
    slack.world.service.reply("/api/auth.test", Reply::json(ada));
    slack.world.work(", read_at = 0");
    assert_eq!(slack.world.record(&id)["status"], "active");
    assert_eq!(slack.push(&message("Ev2", "Again"), 0).status, 200);
    assert_eq!(slack.texts(&id), ["Again"]);
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
fn a_channel_that_is_created_is_told_and_a_message_in_it_is_none() {
    let slack = slack(false);
    let id = slack.trigger("ada", "channel_created", &json!({}));
    let channel = json!({"id": "C9", "name": "launch", "created": at(0), "creator": "Ukim"});
    let mut body = message("Ev1", "");
    body["event"] = json!({"type": "channel_created", "channel": channel, "event_ts": "1.1"});
    assert_eq!(slack.push(&body, 0).status, 200);
    assert_eq!(slack.push(&message("Ev2", "Hello"), 0).status, 200);
    assert_eq!(slack.kinds(&id), ["team_chat.channel_created"]);
    assert_eq!(slack.world.data(&id)[0]["channel"], channel);
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
fn an_account_whose_access_has_ended_gets_nothing_and_learns_of_the_gap() {
    let slack = slack(false);
    let id = slack.trigger("ada", "message", &json!({}));
    let set_status = |status: &str| {
        let change = format!("UPDATE integrations SET status = '{status}' WHERE user_identifier = 'ada'");
        assert_eq!(slack.world.gateway.home().sqlite(&change), 1);
        slack.world.settle();
    };
    assert_eq!(slack.push(&message("Ev1", "one"), 0).status, 200);
    set_status("expired");
    let waiting = slack.world.record(&id);
    assert_eq!(waiting["status"], "needs-user");
    assert!(waiting["reason"].as_str().unwrap().contains("again"), "{waiting}");
    assert_eq!(slack.push(&message("Ev2", "two"), 0).status, 200);
    assert_eq!(slack.world.kinds(&id), ["team_chat.message", "trigger.degraded"]);
    set_status("active");
    assert_eq!(slack.world.record(&id)["status"], "active");
    assert_eq!(slack.push(&message("Ev3", "three"), 0).status, 200);
    let kinds = ["team_chat.message", "trigger.degraded", "trigger.gap", "trigger.recovered", "team_chat.message"];
    assert_eq!(slack.world.kinds(&id), kinds);
    let records = records(&slack.world.gateway, "connector=team_chat", 3);
    assert_eq!(outcomes(&records), [("stored", ""), ("unattributed", ""), ("stored", "")]);
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
