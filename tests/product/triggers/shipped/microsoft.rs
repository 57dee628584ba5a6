//! Microsoft: subscriptions of Graph, with mailboxes, and the reads of the other services.

use std::time::SystemTime;

use super::*;
use crate::hooks::{outcomes, records};

const SUBSCRIPTIONS: &str = "/graph/subscriptions";
const MAILS: &str = "/graph/me/mailFolders/inbox/messages/delta";

/// The answers of Graph.
#[derive(Default)]
struct Graph {
    /// The longest life of a subscription that it grants, in seconds. `None` for any.
    longest: Option<u64>,
    /// The subscriptions that it does not know any more.
    gone: Vec<String>,
    /// The items of every list, the oldest first.
    items: Vec<Value>,
    /// Tokens of lists are too old until it has said so once.
    has_forgotten: bool,
    /// The answers to its proofs of an address: of the one of the subscription, and of another one.
    proofs: Vec<[(u16, String); 2]>,
    /// It asks for the proof again in each read after the first subscription.
    is_curious: bool,
    /// The answers to that.
    late: Vec<(u16, String)>,
    /// The URL of the last subscription.
    url: String,
}

/// A world with the services of a connector.
fn graph(connector: &str) -> (Shipped, Arc<Mutex<Graph>>) {
    let world = Shipped::start(connector, "microsoft", &["graph"], "");
    world.connect(connector, &["ada"]);
    let graph: Arc<Mutex<Graph>> = Arc::default();
    let (shared, made) = (Arc::clone(&graph), Mutex::new(0));
    let (address, service) = (world.gateway.address(), world.service.url());
    world.service.on("*", move |seen| {
        let mut graph = shared.lock();
        match (seen.method.as_str(), seen.path.as_str()) {
            ("POST", SUBSCRIPTIONS) => {
                let body = body_of(seen);
                if graph.longest.is_some_and(|longest| life_of(&body) > longest) {
                    return refusal(400, "ErrorInvalidParameter", "Subscription expiration is invalid.");
                }
                let url = body["notificationUrl"].as_str().unwrap_or_default();
                let other = format!("{PUBLIC}/hooks/AAAAAAAAAAAAAAAAAAAAAA");
                let proofs = [url, other.as_str()].map(|url| {
                    let url = format!("{url}?validationToken=prove%20it%2B");
                    notify_now(&address, &url, &[("Content-Type", "text/plain; charset=utf-8")], "")
                });
                graph.url = url.to_owned();
                let is_proven = proofs[0] == (200, "prove it+".to_owned());
                graph.proofs.push(proofs);
                if !is_proven {
                    return refusal(400, "ValidationError", "Subscription validation request failed.");
                }
                let mut made = made.lock();
                *made += 1;
                let mut subscription = body;
                subscription["id"] = json!(format!("s{made}"));
                Reply::json(subscription).status(201)
            }
            (method, path) if path.starts_with(SUBSCRIPTIONS) => {
                let id = path.rsplit('/').next().unwrap_or_default();
                match method {
                    _ if graph.gone.iter().any(|gone| gone == id) => refusal(404, "ResourceNotFound", "It is gone."),
                    "PATCH" => {
                        Reply::json(json!({"id": id, "expirationDateTime": body_of(seen)["expirationDateTime"]}))
                    }
                    _ => Reply::empty(204),
                }
            }
            ("GET", path) if path.ends_with("/delta") => {
                if graph.is_curious && !graph.url.is_empty() {
                    let url = format!("{}?validationToken=prove", graph.url);
                    let answer = notify_now(&address, &url, &[("Content-Type", "text/plain; charset=utf-8")], "");
                    graph.late.push(answer);
                }
                let token = seen.parameter("$deltatoken");
                if token.is_some() && std::mem::take(&mut graph.has_forgotten) {
                    return refusal(410, "resyncRequired", "Resync required.");
                }
                let known = match (token, seen.parameter("token")) {
                    (Some(token), _) => token.parse().unwrap_or_default(),
                    (None, Some(_)) => graph.items.len(),
                    (None, None) => 0,
                };
                let link = format!("{service}{path}?$deltatoken={}", graph.items.len());
                Reply::json(json!({"value": graph.items[known..], "@odata.deltaLink": link}))
            }
            ("GET", "/graph/chats/c1/messages") => {
                let since = seen.parameter("$filter").unwrap_or_default();
                let since = since.strip_prefix("lastModifiedDateTime gt ").unwrap_or_default().to_owned();
                let size = seen.parameter("$top").and_then(|size| size.parse().ok()).unwrap_or(20);
                let changed =
                    |item: &&Value| item["lastModifiedDateTime"].as_str().unwrap_or_default() > since.as_str();
                let items: Vec<&Value> = graph.items.iter().rev().filter(changed).take(size).collect();
                Reply::json(json!({"value": items}))
            }
            _ => Reply::empty(404),
        }
    });
    (world, graph)
}

fn refusal(status: u16, code: &str, message: &str) -> Reply {
    Reply::json(json!({"error": {"code": code, "message": message}})).status(status)
}

/// The seconds for which a subscription is asked for.
fn life_of(body: &Value) -> u64 {
    let end = humantime::parse_rfc3339(body["expirationDateTime"].as_str().unwrap_or_default());
    end.map_or(0, |end| end.duration_since(SystemTime::now()).unwrap_or_default().as_secs())
}

fn mail(id: &str) -> Value {
    json!({"id": id, "subject": "Lunch?", "receivedDateTime": "2026-03-02T10:00:00Z"})
}

impl Shipped {
    /// The subscription that was made last.
    fn subscription(&self) -> Value {
        body_of(self.requests("POST", SUBSCRIPTIONS).last().unwrap())
    }

    /// A notification of the subscription that was made last.
    fn notify_of(&self, url: &str, members: Value) -> u16 {
        let made = self.subscription();
        let mut item = members;
        item["subscriptionId"] = json!("s1");
        item["clientState"] = made["clientState"].clone();
        self.notify(made[url].as_str().unwrap()).json(&json!({"value": [item]})).send().status
    }

    fn lifecycle(&self, name: &str) {
        assert_eq!(self.notify_of("lifecycleNotificationUrl", json!({"lifecycleEvent": name})), 200);
        self.settle();
    }
}

fn on_inbox(world: &Shipped) -> String {
    world.trigger("ada", "office_mail.message_received", &json!({}))
}

#[test]
fn the_address_is_proven_while_the_subscription_is_made_and_to_no_one_else() {
    let (world, graph) = graph("office_mail");
    let id = on_inbox(&world);
    let refused = |status: u16| (status, "{}".to_owned());
    assert_eq!(graph.lock().proofs, [[(200, "prove it+".to_owned()), refused(404)]]);
    let made = world.subscription();
    let [url, lifecycle, secret] =
        ["notificationUrl", "lifecycleNotificationUrl", "clientState"].map(|name| made[name].as_str().unwrap());
    assert!(url.starts_with("https://hooks.example/hooks/") && lifecycle.starts_with(PUBLIC) && secret.len() == 43);
    let week = 7 * 86_400;
    assert!((week - 120..=week).contains(&life_of(&made)), "{made}");
    assert_eq!(
        (&made["changeType"], &made["resource"]),
        (&json!("created"), &json!("me/mailFolders('inbox')/messages"))
    );
    let late = world.notify(&format!("{url}?validationToken=prove%20it")).body("").send();
    assert_eq!((late.status, late.text()), refused(401));
    let record = world.record(&id);
    assert_eq!(record["mode"], "push+poll");
    assert!(record["subscription"]["expires_at"].is_string(), "{record}");
    assert_eq!(world.delete(&id), true);
    assert_eq!(world.requests("DELETE", "/graph/subscriptions/s1").len(), 1);
}

#[test]
fn the_address_is_not_proven_any_more_while_the_mails_are_read() {
    let (world, graph) = graph("office_mail");
    graph.lock().is_curious = true;
    on_inbox(&world);
    world.lifecycle("reauthorizationRequired");
    let late = graph.lock().late.clone();
    assert!(late.len() >= 2, "it is read after the subscription was made, and after it was renewed");
    assert_eq!(late, vec![(401, "{}".to_owned()); late.len()]);
}

#[test]
fn a_notification_leads_to_a_read_of_the_mails_since_the_last_one() {
    let (world, graph) = graph("office_mail");
    graph.lock().items.push(mail("before"));
    let id = on_inbox(&world);
    graph.lock().items.push(mail("m1"));
    let ring = json!({"changeType": "created", "resource": "x", "resourceData": {"id": "m1"}});
    assert_eq!(world.notify_of("notificationUrl", ring.clone()), 200);
    assert_eq!(world.data(&id), [mail("m1")]);
    let reads = world.requests("GET", MAILS).len();
    // Others do not know the secret.
    let mut forged = ring.clone();
    forged["clientState"] = json!("guessed");
    let url = world.subscription()["notificationUrl"].as_str().unwrap().to_owned();
    assert_eq!(world.notify(&url).json(&json!({"value": [forged]})).send().status, 401);
    world.settle();
    assert_eq!(world.requests("GET", MAILS).len(), reads);
    // Graph notifies of a mail twice, and of the same once more.
    for _ in 0..2 {
        assert_eq!(world.notify_of("notificationUrl", ring.clone()), 200);
    }
    assert_eq!(world.data(&id), [mail("m1")]);
    let records = records(&world.gateway, "connector=office_mail", 5);
    let names: Vec<&str> = outcomes(&records).into_iter().map(|(outcome, _)| outcome).collect();
    assert_eq!(names, ["handshake", "stored", "rejected", "stored", "stored"]);
}

#[test]
fn a_subscription_is_renewed_replaced_or_read_as_graph_demands() {
    let (world, graph) = graph("office_mail");
    let id = on_inbox(&world);
    world.lifecycle("reauthorizationRequired");
    let renewed = world.requests("PATCH", "/graph/subscriptions/s1");
    assert_eq!(renewed.len(), 1);
    let body = body_of(&renewed[0]);
    assert_eq!(body.as_object().map(serde_json::Map::len), Some(1), "{body}");
    assert!(life_of(&body) > 6 * 86_400, "{body}");
    assert_eq!(world.requests("POST", SUBSCRIPTIONS).len(), 1);

    graph.lock().items.push(mail("missed"));
    world.lifecycle("missed");
    assert_eq!(world.data(&id), [mail("missed")]);
    assert_eq!(world.requests("PATCH", "/graph/subscriptions/s1").len(), 1);

    graph.lock().items.push(mail("between"));
    graph.lock().gone.push("s1".to_owned());
    world.lifecycle("subscriptionRemoved");
    assert_eq!(world.requests("POST", SUBSCRIPTIONS).len(), 2, "another one was made");
    assert_eq!(world.data(&id), [mail("missed"), mail("between")], "it was read from the place of before");
    assert_eq!(graph.lock().proofs.len(), 2);
    assert_eq!(world.record(&id)["status"], "active");
}

#[test]
fn a_refused_length_is_asked_for_again_at_half() {
    let (world, graph) = graph("office_mail");
    graph.lock().longest = Some(2 * 86_400);
    let id = on_inbox(&world);
    let hours: Vec<u64> =
        world.requests("POST", SUBSCRIPTIONS).iter().map(|seen| (life_of(&body_of(seen)) + 1800) / 3600).collect();
    assert_eq!(hours, [168, 84, 42]);
    let end = world.record(&id)["subscription"]["expires_at"].clone();
    assert_eq!((life_of(&json!({"expirationDateTime": end})) + 1800) / 3600, 42);
}

#[test]
fn a_token_that_is_too_old_is_told_as_a_gap_once() {
    let (world, graph) = graph("office_mail");
    let id = on_inbox(&world);
    graph.lock().items.push(mail("lost"));
    graph.lock().has_forgotten = true;
    world.read(&id);
    world.read(&id);
    assert_eq!(world.kinds(&id), ["trigger.gap"]);
    graph.lock().items.push(mail("after"));
    world.read(&id);
    assert_eq!(world.kinds(&id), ["trigger.gap", "office_mail.message_received"]);
    assert_eq!(world.told(&id, "/id")[1], "after");
}

#[test]
fn changes_of_calendars_drives_channels_and_chats_are_read_since_the_last_one() {
    let channel = json!({"team_id": "t1", "channel_id": "c1"});
    for (kind, parameters, resource) in [
        ("office_calendar.event_changed", json!({}), "me/events"),
        ("office_drive.item_changed", json!({}), "me/drive/root"),
        ("office_teamchat.channel_message", channel, "teams/t1/channels/c1/messages"),
        ("office_teamchat.chat_message", json!({"chat_id": "c1"}), "chats/c1/messages"),
    ] {
        let (world, graph) = graph(kind.split('.').next().unwrap());
        let happens = |id: &str| {
            let mut graph = graph.lock();
            let time = format!("2026-03-02T10:00:{:02}Z", graph.items.len());
            graph.items.push(json!({
                "id": id, "changeKey": "k1", "eTag": "\"e1\"", "messageType": "message",
                "createdDateTime": time, "lastModifiedDateTime": time,
            }));
        };
        happens("before");
        let id = world.trigger("ada", kind, &parameters);
        assert_eq!(world.subscription()["resource"], resource);
        world.check_reads(&id, "/id", happens);
    }
}

#[test]
fn a_message_that_is_listed_after_a_later_one_or_has_its_time_is_an_event_once() {
    let channel = json!({"team_id": "t1", "channel_id": "c1"});
    for (kind, parameters, expected) in [
        ("office_teamchat.chat_message", json!({"chat_id": "c1"}), ["m1", "late", "same"]),
        // The changes of a channel are in the order in which Microsoft lists them.
        ("office_teamchat.channel_message", channel, ["m1", "same", "late"]),
    ] {
        let (world, graph) = graph("office_teamchat");
        let appears = |id: &str, second: u32| {
            let time = format!("2026-03-02T10:00:{second:02}Z");
            graph.lock().items.push(json!({
                "id": id, "messageType": "message", "createdDateTime": time, "lastModifiedDateTime": time,
            }));
        };
        appears("before", 1);
        let id = world.trigger("ada", kind, &parameters);
        appears("m1", 9);
        world.read(&id);
        assert_eq!(world.told(&id, "/id"), ["m1"]);
        appears("same", 9);
        appears("late", 5);
        for _ in 0..2 {
            world.read(&id);
            assert_eq!(world.told(&id, "/id"), expected);
        }
    }
}
