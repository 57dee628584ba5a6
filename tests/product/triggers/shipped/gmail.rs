//! Gmail: notified by Pub/Sub where the operator has a topic, and read at intervals elsewhere.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use support::jwt::{SigningKey, at, publish};

use super::*;

const ACCOUNT: &str = "push@project.example";
const HISTORY: &str = "/api/users/me/history";
const WATCH: &str = "/api/users/me/watch";
const STOP: &str = "/api/users/me/stop";

/// The mailboxes of users.
#[derive(Default)]
struct Gmail {
    /// The ids of the messages of each user. The number of a message is its place.
    received: BTreeMap<String, Vec<String>>,
    /// The history is gone until Gmail has said so once.
    has_forgotten: bool,
}

fn gmail(config: &str) -> (Shipped, Arc<Mutex<Gmail>>) {
    let world = Shipped::start("workspace_mail", "google", &["api", "oauth2"], config);
    world.connect("workspace_mail", &["ada", "bob"]);
    let gmail: Arc<Mutex<Gmail>> = Arc::default();
    let shared = Arc::clone(&gmail);
    world.service.on("*", move |seen| {
        let (user, mut gmail) = (user_of(seen), shared.lock());
        let received = gmail.received.get(&user).cloned().unwrap_or_default();
        let newest = (100 + received.len()).to_string();
        match seen.path.as_str() {
            "/oauth2/userinfo" => Reply::json(json!({"id": user, "email": email(&user)})),
            "/api/users/me/profile" => Reply::json(json!({"emailAddress": email(&user), "historyId": newest})),
            WATCH => Reply::json(json!({"historyId": newest, "expiration": "4102444800000"})),
            STOP => Reply::empty(204),
            HISTORY if std::mem::take(&mut gmail.has_forgotten) => {
                Reply::json(json!({"error": {"code": 404}})).status(404)
            }
            HISTORY => {
                let since: usize = seen.parameter("startHistoryId").and_then(|id| id.parse().ok()).unwrap_or_default();
                let record = |(place, id): (usize, &String)| {
                    let message = json!({"id": id, "threadId": id, "labelIds": ["INBOX"]});
                    json!({"id": (place + 101).to_string(), "messagesAdded": [{"message": message}]})
                };
                let records: Vec<Value> = received.iter().enumerate().skip(since - 100).map(record).collect();
                Reply::json(json!({"history": records, "historyId": newest}))
            }
            path => match path.strip_prefix("/api/users/me/messages/") {
                Some(id) => Reply::json(json!({"id": id, "threadId": id, "internalDate": "1772445600000"})),
                None => Reply::empty(404),
            },
        }
    });
    (world, gmail)
}

impl Gmail {
    fn receives(&mut self, user: &str, id: &str) {
        self.received.entry(user.to_owned()).or_default().push(id.to_owned());
    }
}

/// A world with a topic, in which each mailbox has a watch. `config` has further keys of the
/// connector's section. Returns the URL of the topic's pushes too.
fn watched(config: &str) -> (Shipped, Arc<Mutex<Gmail>>, String) {
    let (world, gmail) = gmail(&format!(
        "settings.pubsub_topic = \"projects/p/topics/mail\"\nsettings.pubsub_service_account = \"{ACCOUNT}\"\n{config}"
    ));
    let (_, url) = world.inbox("workspace_mail", "pubsub", None);
    (world, gmail, url)
}

/// Google, which signs the tokens of pushes.
struct Issuer {
    service: Upstream,
    key: SigningKey,
}

impl Issuer {
    fn start() -> Self {
        let issuer = Self { service: Upstream::start(), key: SigningKey::es256("one") };
        publish(&issuer.service, &[&issuer.key]);
        issuer
    }

    /// The key of the configuration by which the gateway finds its keys.
    fn config(&self) -> String {
        format!("hooks.jwks_url = \"{}/jwks.json\"", self.service.url())
    }

    /// The token of pushes to a URL, after the gateway has fetched the keys in the background.
    fn token(&self, world: &Shipped, url: &str) -> String {
        let token = self.key.sign(&claims(url, ACCOUNT));
        wait_for("the keys", || (push(world, url, &token, "nobody", "0") == 200).then_some(()));
        token
    }
}

/// The claims of a token for pushes to a URL.
fn claims(url: &str, email: &str) -> Value {
    json!({"iss": "https://accounts.google.com", "aud": url, "exp": at(300), "email": email, "email_verified": true})
}

/// A push of Pub/Sub about a mailbox.
fn push(world: &Shipped, url: &str, token: &str, user: &str, id: &str) -> u16 {
    let data = URL_SAFE_NO_PAD.encode(json!({"emailAddress": email(user), "historyId": 101}).to_string());
    let message = json!({"data": data, "messageId": id, "publishTime": "2026-03-02T10:00:00.000Z"});
    let call = world.notify(url).header("authorization", &format!("Bearer {token}"));
    call.json(&json!({"message": message, "subscription": "projects/p/subscriptions/mail"})).send().status
}

fn of_mailbox(world: &Shipped, user: &str) -> String {
    world.trigger(user, "workspace_mail.message_received", &json!({}))
}

/// The number of requests for a watch, and for the history.
fn asked(world: &Shipped) -> (usize, usize) {
    (world.requests("POST", WATCH).len(), world.requests("GET", HISTORY).len())
}

/// The number of requests to end a watch.
fn stops(world: &Shipped) -> usize {
    world.requests("POST", STOP).len()
}

/// Checks that a caller cannot request a read before the time that Gmail has named, which is in two
/// hours.
#[track_caller]
fn check_read_is_refused(world: &Shipped, id: &str) {
    let refused = world.request_read(id);
    refused.problem(429, "rate-limited");
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((7000..=7200).contains(&wait), "{wait}");
}

#[test]
fn a_push_of_the_operators_topic_leads_to_a_read_of_the_mailbox_that_it_names() {
    let issuer = Issuer::start();
    let (world, gmail, url) = watched(&issuer.config());
    let [ada, bob] = ["ada", "bob"].map(|user| of_mailbox(&world, user));
    assert_eq!(world.record(&ada)["mode"], "push+poll");
    let watches = world.requests("POST", WATCH);
    let expected = json!({"topicName": "projects/p/topics/mail"});
    assert_eq!((watches.len(), body_of(&watches[0])), (2, expected));
    let token = issuer.token(&world, &url);

    gmail.lock().receives("ada", "m1");
    gmail.lock().receives("bob", "m2");
    let reads = world.requests("GET", HISTORY).len();
    let other = issuer.key.sign(&claims(&url, "evil@project.example"));
    let forged = [SigningKey::es256("one").sign(&claims(&url, ACCOUNT)), other];
    for token in &forged {
        assert_eq!(push(&world, &url, token, "ada", "1"), 401);
    }
    world.settle();
    assert_eq!(world.requests("GET", HISTORY).len(), reads);
    assert_eq!(push(&world, &url, &token, "ada", "1"), 200);
    assert_eq!((world.told(&ada, "/id"), world.told(&bob, "/id")), (vec!["m1".to_owned()], Vec::new()));
    let read = world.requests("GET", HISTORY).split_off(reads);
    assert!(read.iter().all(|seen| user_of(seen) == "ada"), "only the mailbox that was named is read");
    assert_eq!((world.delete(&ada), world.delete(&bob)), (json!(true), json!(true)));
    let stopped: Vec<String> = world.requests("POST", STOP).iter().map(user_of).collect();
    assert_eq!(stopped, ["ada", "bob"]);
}

#[test]
fn the_watch_of_a_mailbox_ends_with_its_last_trigger() {
    let (world, ..) = watched("");
    let received = of_mailbox(&world, "ada");
    let labels = world.trigger("ada", "workspace_mail.label_changed", &json!({}));
    assert_eq!((world.delete(&received), stops(&world)), (json!(true), 0), "the other one needs the watch");
    assert_eq!((world.delete(&labels), stops(&world)), (json!(true), 1));
}

#[test]
fn the_watch_of_a_mailbox_stays_while_another_account_of_the_mailbox_has_a_trigger() {
    let (world, ..) = watched("");
    // The same mailbox under another name, as another tenant may have it too.
    world.import(&json!({
        "tenant": "default", "connector": "workspace_mail", "user_identifier": "ada at work",
        "credentials": {"access_token": token_of("ada")},
    }));
    let [first, second] = ["ada", "ada at work"].map(|user| of_mailbox(&world, user));
    assert_eq!((world.delete(&first), stops(&world)), (json!(true), 0), "Gmail would end the watch for both");
    assert_eq!((world.delete(&second), stops(&world)), (json!(true), 1));
}

#[test]
fn a_mailbox_is_not_read_before_the_time_that_gmail_has_named() {
    let issuer = Issuer::start();
    let (world, gmail, url) = watched(&issuer.config());
    let id = of_mailbox(&world, "ada");
    let token = issuer.token(&world, &url);
    gmail.lock().receives("ada", "m1");
    world.service.reply(HISTORY, Reply::json(json!({})).status(429).header("retry-after", "7200"));
    let before = asked(&world).1;
    for number in 1..4 {
        assert_eq!(push(&world, &url, &token, "ada", &number.to_string()), 200);
        world.settle();
    }
    assert_eq!(asked(&world).1, before + 1, "a notification changes nothing about the time");
    for _ in 0..2 {
        check_read_is_refused(&world, &id);
    }
    world.work("");
    assert_eq!(asked(&world).1, before + 1, "a step that is due for another reason does not read either");
}

#[test]
fn a_mailbox_is_not_read_before_the_time_that_gmail_has_named_for_its_watch() {
    let (world, gmail, _) = watched("");
    let id = of_mailbox(&world, "ada");
    world.settle();
    let (watches, reads) = asked(&world);
    world.service.reply(WATCH, Reply::json(json!({})).status(429).header("retry-after", "7200"));
    gmail.lock().receives("ada", "m1");
    world.work(", renew_at = 0, read_at = 0");
    assert_eq!(asked(&world), (watches + 1, reads));
    world.work("");
    assert_eq!(asked(&world), (watches + 1, reads), "a step that is due for another reason does not read either");
    check_read_is_refused(&world, &id);
}

#[test]
fn a_watch_that_has_not_begun_is_not_asked_for_before_the_time_that_gmail_has_named() {
    let (world, ..) = watched("");
    world.service.reply(WATCH, Reply::json(json!({})).status(429).header("retry-after", "7200"));
    let made = world.make("ada", "workspace_mail.message_received", &json!({}));
    assert_eq!((made.status, &made.json()["status"]), (201, &json!("pending")), "{}", made.text());
    assert_eq!(asked(&world), (1, 0));
    world.work("");
    assert_eq!(asked(&world), (1, 0), "neither the watch nor the history is asked for");
}

#[test]
fn without_a_topic_the_history_is_read_and_a_lost_one_is_a_gap() {
    let (world, gmail) = gmail("");
    gmail.lock().receives("ada", "before");
    let id = of_mailbox(&world, "ada");
    let types = world.client().get("/trigger-types?connector=workspace_mail").ok();
    assert_eq!(types["trigger_types"][0]["push"], "needs-setup");
    assert_eq!(world.record(&id)["mode"], "poll");
    world.check_reads(&id, "/id", |id| gmail.lock().receives("ada", id));
    let since: Vec<String> =
        world.requests("GET", HISTORY).iter().filter_map(|seen| seen.parameter("startHistoryId")).collect();
    assert_eq!(since, ["101", "103", "103"]);

    gmail.lock().receives("ada", "lost");
    gmail.lock().has_forgotten = true;
    world.read(&id);
    world.read(&id);
    assert_eq!(world.kinds(&id)[3..], ["trigger.gap"]);
    gmail.lock().receives("ada", "after");
    world.read(&id);
    assert_eq!(world.told(&id, "/id")[4..], ["after"]);
    assert_eq!(world.requests("POST", WATCH).len(), 0);
}

#[test]
fn labels_that_are_added_and_removed_are_told_and_a_new_message_is_not() {
    let (world, _) = gmail("");
    let [all, starred] = [json!({}), json!({"label_id": "STARRED"})]
        .map(|parameters| world.trigger("ada", "workspace_mail.label_changed", &parameters));
    let message = json!({"id": "m1", "threadId": "m1", "labelIds": ["INBOX", "STARRED"]});
    let records = [
        json!({"id": "101", "messagesAdded": [{"message": message}]}),
        json!({"id": "102", "labelsAdded": [{"message": message, "labelIds": ["STARRED"]}]}),
        json!({"id": "103", "labelsRemoved": [{"message": message, "labelIds": ["UNREAD"]}]}),
    ];
    world.service.on(HISTORY, move |seen| {
        let since = seen.parameter("startHistoryId").unwrap_or_default();
        // Ids of three digits have the order of their texts.
        let later: Vec<&Value> = records.iter().filter(|record| record["id"].as_str() > Some(since.as_str())).collect();
        Reply::json(json!({"history": later, "historyId": "103"}))
    });
    for id in [&all, &starred, &all] {
        world.read(id);
    }
    assert_eq!(world.told(&all, "/change"), ["added", "removed"]);
    assert_eq!(world.told(&all, "/labelIds/0"), ["STARRED", "UNREAD"]);
    let starred = world.data(&starred);
    assert_eq!(starred, [json!({"change": "added", "labelIds": ["STARRED"], "message": message})]);
    assert_eq!(world.events(&all)[0]["type"], "workspace_mail.label_changed");
}
