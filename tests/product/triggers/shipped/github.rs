//! GitHub: the webhook of a repository, its activity where the user may make none, and the webhook
//! of an App.
//!
//! - [`accounts`]: a webhook that was made for an unknown account
//! - [`kinds`]: a webhook that lacks the kinds of a trigger that was added to it
//! - [`lost`]: a webhook about which GitHub's answer was lost
//! - [`types`]: the events of each type

mod accounts;
mod kinds;
mod lost;
mod types;

use super::*;
use crate::hooks::{hmac_hex, outcomes, records};

const HOOKS: &str = "/api/repos/octo/plans/hooks";
const HOOK: &str = "/api/repos/octo/plans/hooks/77";
const ACTIVITY: &str = "/api/repos/octo/plans/events";
const DELIVERIES: &str = "/api/repos/octo/plans/hooks/77/deliveries";

/// The answers of GitHub.
#[derive(Default)]
struct GitHub {
    /// The status with which it refuses webhooks.
    refuses: Option<u16>,
    /// The answer about the next webhook is lost.
    loses: bool,
    /// Changes of the webhook fail.
    is_away: bool,
    /// The webhook does not exist, or the user may not see it any more.
    is_gone: bool,
    /// The activity of the repository, the newest first.
    activity: Vec<Value>,
    /// The seconds that GitHub wants between two requests for the activity, if they are not a minute.
    poll_s: Option<u32>,
    /// The bodies of deliveries that have failed.
    failed: Vec<Value>,
    /// The users who see the installation of the App.
    sees_installation: Vec<&'static str>,
}

fn github() -> (Shipped, Arc<Mutex<GitHub>>) {
    let world = Shipped::start("code_hosting", "github", &["api"], "");
    world.connect("code_hosting", &["ada", "bob"]);
    let github: Arc<Mutex<GitHub>> = Arc::default();
    let (shared, made) = (Arc::clone(&github), Mutex::new((String::new(), String::new())));
    let address = world.gateway.address();
    world.service.on("*", move |seen| {
        let mut github = shared.lock();
        let failed = |body: &Value| json!({"id": body["issue"]["number"], "guid": format!("d{}", body["issue"]["number"]), "status_code": 502});
        match (seen.method.as_str(), seen.path.as_str()) {
            ("POST", path) if path.ends_with("/hooks") => {
                if let Some(status) = github.refuses {
                    return Reply::json(json!({"message": "Not for you"})).status(status);
                }
                let text = |name: &str| body_of(seen)["config"][name].as_str().unwrap_or_default().to_owned();
                if !github.is_gone && made.lock().0 == text("url") {
                    let errors = json!([{"resource": "Hook", "message": "Hook already exists on this repository"}]);
                    return Reply::json(json!({"message": "Validation Failed", "errors": errors})).status(422);
                }
                *made.lock() = (text("url"), text("secret"));
                github.is_gone = false;
                if std::mem::take(&mut github.loses) {
                    return Reply::empty(502);
                }
                Reply::json(json!({"id": 77, "active": true})).status(201)
            }
            (_, path) if github.is_gone && path.starts_with(HOOK) => {
                Reply::json(json!({"message": "Not Found"})).status(404)
            }
            ("GET", HOOKS) => {
                let hook = |id: u32, url: &str| json!({"id": id, "config": {"url": url, "secret": "********"}});
                Reply::json(json!([hook(5, "https://ci.example/hook"), hook(77, &made.lock().0)]))
            }
            ("PATCH", HOOK) if github.is_away => Reply::empty(500),
            ("PATCH", HOOK) => Reply::json(json!({"id": 77})),
            ("DELETE", HOOK) => Reply::empty(204),
            ("GET", ACTIVITY) => {
                let etag = format!("W/\"{}\"", github.activity.len());
                let is_known = seen.header("if-none-match") == etag;
                let reply = if is_known { Reply::empty(304) } else { Reply::json(json!(github.activity)) };
                let poll_s = github.poll_s.unwrap_or(60).to_string();
                reply.header("etag", &etag).header("x-poll-interval", &poll_s)
            }
            ("GET", "/api/user/installations") if github.sees_installation.contains(&user_of(seen).as_str()) => {
                let installation =
                    json!({"id": 5, "account": {"login": "octo"}, "repository_selection": "all", "suspended_at": null});
                Reply::json(json!({"total_count": 1, "installations": [installation]}))
            }
            ("GET", "/api/user/installations") => Reply::json(json!({"message": "Not of an App"})).status(403),
            // GitHub does not distinguish the case of names.
            ("GET", path) if path.eq_ignore_ascii_case("/api/repos/octo/plans") => {
                Reply::json(json!({"id": 70, "name": "plans", "owner": {"login": "octo"}}))
            }
            ("GET", DELIVERIES) => Reply::json(github.failed.iter().map(failed).collect()),
            ("POST", path) if path.starts_with(DELIVERIES) => {
                let of_path = |body: &&Value| path == format!("{DELIVERIES}/{}/attempts", body["issue"]["number"]);
                let Some(body) = github.failed.iter().find(of_path) else { return Reply::empty(404) };
                let (url, secret) = made.lock().clone();
                let signature = format!("sha256={}", hmac_hex(&secret, body.to_string().as_bytes()));
                let headers = [("X-GitHub-Event", "issues"), ("X-Hub-Signature-256", signature.as_str())];
                notify_now(&address, &url, &headers, &body.to_string());
                Reply::empty(202)
            }
            _ => Reply::empty(404),
        }
    });
    (world, github)
}

fn repository() -> Value {
    json!({"owner": "octo", "repo": "plans"})
}

fn issue(number: u32) -> Value {
    json!({
        "action": "opened", "issue": {"number": number, "title": "Found a bug"},
        "repository": {"name": "plans", "full_name": "octo/plans", "owner": {"login": "octo"}},
        "sender": {"login": "kim"},
    })
}

impl Shipped {
    /// The URL and the secret that GitHub was told.
    fn hook(&self) -> (String, String) {
        let config = body_of(self.requests("POST", HOOKS).last().unwrap())["config"].clone();
        (config["url"].as_str().unwrap().to_owned(), config["secret"].as_str().unwrap().to_owned())
    }

    /// A notification as GitHub signs it.
    fn deliver(&self, event: &str, delivery: &str, body: &str) -> Call {
        let signature = hmac_hex(&self.hook().1, body.as_bytes());
        self.deliver_signed(event, delivery, &signature).body(body.to_owned())
    }

    fn deliver_signed(&self, event: &str, delivery: &str, signature: &str) -> Call {
        let call = self.notify(&self.hook().0).header("x-github-event", event);
        call.header("x-github-delivery", delivery).header("x-hub-signature-256", &format!("sha256={signature}"))
    }
}

#[test]
fn the_types_of_a_repository_share_one_webhook_with_the_events_of_all() {
    let (world, _) = github();
    let issues = world.trigger("ada", "code_hosting.issue", &repository());
    let (url, secret) = world.hook();
    let address = url.strip_prefix("https://hooks.example/hooks/").unwrap();
    assert_eq!((address.len(), secret.len()), (22, 43));
    let config = json!({"url": url, "content_type": "json", "secret": secret, "insecure_ssl": "0"});
    let made = world.requests("POST", HOOKS);
    let expected = json!({"name": "web", "active": true, "events": ["issues"], "config": config});
    assert_eq!((made.len(), body_of(&made[0])), (1, expected));
    assert_eq!(made[0].header("authorization"), format!("Bearer {}", token_of("ada")));

    let comments = world.trigger("ada", "code_hosting.comment", &repository());
    let changed = world.requests("PATCH", HOOK);
    let events = ["commit_comment", "issue_comment", "issues", "pull_request_review_comment"];
    let expected = json!({"active": true, "events": events, "config": config});
    assert_eq!((changed.len(), body_of(&changed[0])), (1, expected));
    assert_eq!(world.requests("POST", HOOKS).len(), 1);
    world.trigger("ada", "code_hosting.push", &json!({"owner": "octo", "repo": "other"}));
    let other = body_of(&world.requests("POST", "/api/repos/octo/other/hooks")[0])["config"].clone();
    assert_ne!((other["url"].as_str().unwrap(), other["secret"].as_str().unwrap()), (url.as_str(), secret.as_str()));

    assert_eq!((world.delete(&issues), world.requests("DELETE", HOOK).len()), (Value::Null, 0));
    assert_eq!((world.delete(&comments), world.requests("DELETE", HOOK).len()), (json!(true), 1));
}

#[test]
fn a_notification_is_one_event_however_often_it_comes_and_a_forged_one_is_none() {
    let (world, _) = github();
    let issues = world.trigger("ada", "code_hosting.issue", &repository());
    let comments = world.trigger("ada", "code_hosting.comment", &repository());
    let body = issue(1).to_string();
    // The delivery's id is not signed, so a forged one must not suppress the real one.
    let forged = world.deliver_signed("issues", "d1", &hmac_hex("another secret", body.as_bytes()));
    let forged = forged.body(body.clone()).send();
    assert_eq!((forged.status, forged.text().as_str()), (401, "{}"));
    assert_eq!(world.deliver("ping", "d0", "{\"zen\": \"Keep it simple\"}").send().status, 200);
    assert_eq!(world.deliver("issues", "d1", &body).send().status, 200);
    assert_eq!(world.data(&issues), [issue(1)]);
    for delivery in ["d1", "d2"] {
        assert_eq!(world.deliver("issues", delivery, &body).send().status, 200);
    }
    let changed = world.deliver("issues", "d3", &body).body(issue(2).to_string()).send();
    assert_eq!(changed.status, 401);
    assert_eq!(world.deliver("star", "d4", &issue(3).to_string()).send().status, 200);
    assert_eq!(world.deliver("issues", "d1", &issue(4).to_string()).send().status, 200);
    assert_eq!(world.data(&issues), [issue(1), issue(4)], "the same delivery's id with another body");
    assert_eq!(world.data(&comments), Vec::<Value>::new());
    let records = records(&world.gateway, "connector=code_hosting", 8);
    let names: Vec<&str> = outcomes(&records).into_iter().map(|(outcome, _)| outcome).collect();
    let expected = ["rejected", "ignored", "stored", "duplicate", "duplicate", "rejected", "ignored", "stored"];
    assert_eq!(names, expected);
    let first = &world.events(&issues)[0];
    assert_eq!((&first["type"], &first["event"]["source"]), (&json!("code_hosting.issue"), &json!("push")));
}

#[test]
fn without_the_right_to_make_webhooks_the_activity_is_read() {
    for status in [403, 404] {
        let (world, github) = github();
        github.lock().refuses = Some(status);
        let event = |id: u32, kind: &str| {
            json!({
                "id": id.to_string(), "type": kind, "created_at": "2026-03-02T10:00:00Z", "actor": {"login": "kim"},
                "repo": {"name": "octo/plans"},
                "payload": {"action": "opened", "issue": {"number": id, "title": "Found a bug"}},
            })
        };
        github.lock().activity.push(event(1, "IssuesEvent"));
        let id = world.trigger("ada", "code_hosting.issue", &repository());
        let record = world.record(&id);
        assert_eq!((&record["mode"], &record["subscription"]), (&json!("poll"), &Value::Null));
        assert_eq!(world.requests("GET", ACTIVITY).len(), 1, "the first read finds the place");
        world.read(&id);
        github.lock().activity.insert(0, event(2, "PushEvent"));
        github.lock().activity.insert(0, event(3, "IssuesEvent"));
        world.read(&id);
        world.read(&id);
        assert_eq!(world.data(&id), [issue(3)], "an event of activity has the form of a notification");
        let known: Vec<String> =
            world.requests("GET", ACTIVITY).iter().map(|seen| seen.header("if-none-match").to_owned()).collect();
        assert_eq!(known, ["", "W/\"1\"", "W/\"1\"", "W/\"3\""]);
        assert_eq!(world.requests("POST", HOOKS).len(), 1, "the webhook is not tried at each read");
    }
}

#[test]
fn deliveries_that_failed_are_sent_again_once_on_request() {
    let (world, github) = github();
    let id = world.trigger("ada", "code_hosting.issue", &repository());
    github.lock().failed = vec![issue(5), issue(6)];
    world.read(&id);
    let mut numbers: Vec<Value> = world.data(&id).iter().map(|data| data["issue"]["number"].clone()).collect();
    numbers.sort_unstable_by_key(Value::to_string);
    assert_eq!(numbers, [5, 6]);
    let asked = world.requests("GET", DELIVERIES);
    assert_eq!((asked.len(), asked[0].query.as_str()), (1, "status=failure&per_page=100"));
    // GitHub lists them still.
    world.read(&id);
    assert_eq!(world.requests("GET", DELIVERIES).len(), 2);
    assert_eq!(world.requests("POST", &format!("{DELIVERIES}/5/attempts")).len(), 1);
    world.client().post(&format!("/triggers/{id}/read"), json!({})).problem(429, "rate-limited");
}

#[test]
fn deliveries_that_failed_are_looked_for_each_hour() {
    let (world, github) = github();
    let id = world.trigger("ada", "code_hosting.issue", &repository());
    github.lock().failed = vec![issue(5)];
    world.pass(50);
    assert_eq!(world.requests("GET", DELIVERIES).len(), 0, "it is not due yet");
    world.pass(10);
    assert_eq!(world.data(&id), [issue(5)]);
}

/// An issue in the activity of the repository.
fn activity(id: u32) -> Value {
    json!({
        "id": id.to_string(), "type": "IssuesEvent", "created_at": "2026-03-02T10:00:00Z", "repo": {"name": "octo/plans"},
        "payload": {"action": "opened", "issue": {"number": id}},
    })
}

#[test]
fn the_activity_is_not_asked_for_before_the_time_that_github_has_named() {
    let (world, github) = github();
    github.lock().refuses = Some(404);
    let id = world.trigger("ada", "code_hosting.issue", &repository());
    github.lock().poll_s = Some(3600);
    github.lock().activity.insert(0, activity(1));
    world.read(&id);
    let asked = world.requests("GET", ACTIVITY).len();
    assert_eq!((asked, world.issues(&id)), (2, vec![1]));
    github.lock().activity.insert(0, activity(2));
    for _ in 0..2 {
        world.read(&id);
    }
    assert_eq!(world.requests("GET", ACTIVITY).len(), asked, "it is to be asked in an hour");
    assert_eq!(world.issues(&id), [1]);
    assert_eq!(world.record(&id)["status"], "active");
}

#[test]
fn a_webhook_that_was_deleted_at_github_is_made_again_and_the_gap_is_told_once() {
    let (world, github) = github();
    let id = world.trigger("ada", "code_hosting.issue", &repository());
    let look = || world.work(", read_at = 0");
    look();
    assert_eq!(world.kinds(&id), [""; 0], "the webhook is there");
    github.lock().is_gone = true;
    look();
    assert_eq!(world.requests("POST", HOOKS).len(), 2);
    let record = world.record(&id);
    assert_eq!((&record["status"], &record["mode"]), (&json!("active"), &json!("push")));
    assert_eq!(world.deliver("issues", "d1", &issue(1).to_string()).send().status, 200);
    look();
    assert_eq!(world.kinds(&id), ["trigger.gap", "code_hosting.issue"]);
    let gap = &world.events(&id)[0]["data"];
    assert!(gap["from"].is_string() && gap["to"].is_string(), "{gap}");
    assert_eq!(world.requests("POST", HOOKS).len(), 2);
}

#[test]
fn a_user_who_may_not_have_webhooks_any_more_is_read_until_one_can_be_made() {
    let (world, github) = github();
    let id = world.trigger("ada", "code_hosting.issue", &repository());
    assert_eq!(world.deliver("issues", "d1", &issue(1).to_string()).send().status, 200);
    *github.lock() = GitHub { refuses: Some(404), is_gone: true, activity: vec![activity(1)], ..GitHub::default() };
    world.work(", read_at = 0");
    let record = world.record(&id);
    assert_eq!((&record["status"], &record["mode"]), (&json!("degraded"), &json!("poll")));
    assert!(record["reason"].is_string(), "{record}");
    assert_eq!(world.kinds(&id), ["code_hosting.issue", "trigger.gap", "trigger.degraded"]);
    // The webhook is perhaps there, and the user was not proven to see the repository.
    assert_eq!(world.deliver("issues", "d2", &issue(2).to_string()).send().status, 404);
    github.lock().activity.insert(0, activity(3));
    world.read(&id);
    assert_eq!(world.issues(&id), [1, 3], "what was notified is not read again");

    // It happens before the webhook is there, and is not read yet.
    github.lock().activity.insert(0, activity(4));
    github.lock().refuses = None;
    world.work(", renew_at = 0");
    let record = world.record(&id);
    assert_eq!((&record["status"], &record["mode"]), (&json!("active"), &json!("push")));
    assert_eq!(world.deliver("issues", "d5", &issue(5).to_string()).send().status, 200);
    assert_eq!(world.issues(&id), [1, 3, 4, 5]);
    assert_eq!(world.kinds(&id).iter().filter(|kind| *kind == "trigger.gap").count(), 2);
}

#[test]
fn at_the_change_from_reading_to_a_webhook_a_gap_is_told_and_no_clock_of_github_counts() {
    let (world, github) = github();
    github.lock().refuses = Some(404);
    let id = world.trigger("ada", "code_hosting.issue", &repository());
    let mut ahead = activity(3);
    ahead["created_at"] = json!("2126-03-02T10:00:00Z");
    github.lock().activity.insert(0, ahead);
    github.lock().refuses = None;
    world.work(", renew_at = 0");
    assert_eq!(world.record(&id)["mode"], "push");
    // GitHub lists it late. If it were read, an event that was notified too would come twice.
    github.lock().activity.insert(0, activity(4));
    world.work(", read_at = 0");
    assert_eq!(world.deliver("issues", "d5", &issue(5).to_string()).send().status, 200);
    assert_eq!(world.issues(&id), [3, 5]);
    assert_eq!(world.kinds(&id), ["code_hosting.issue", "trigger.gap", "code_hosting.issue"]);
    let gap = &world.events(&id)[1]["data"];
    assert!(gap["from"].is_string() && gap["to"].is_string(), "{gap}");
}

#[test]
fn the_webhook_of_the_former_account_tells_another_one_of_this_name_nothing() {
    let (world, github) = github();
    let connect = |account: &str| {
        let change = format!("UPDATE integrations SET account_id = '{account}' WHERE user_identifier = 'ada'");
        assert_eq!(world.gateway.home().sqlite(&change), 1);
    };
    connect("one");
    let id = world.trigger("ada", "code_hosting.issue", &repository());
    let (url, secret) = world.hook();
    let deliver = |number: u32| {
        let body = issue(number).to_string();
        let signature = format!("sha256={}", hmac_hex(&secret, body.as_bytes()));
        let call = world.notify(&url).header("x-github-event", "issues").header("x-hub-signature-256", &signature);
        call.body(body).send().status
    };
    assert_eq!(deliver(1), 200);
    *github.lock() = GitHub { refuses: Some(404), activity: vec![activity(1)], ..GitHub::default() };
    connect("two");
    assert_eq!(deliver(2), 404);
    world.settle();
    assert_eq!(deliver(3), 404, "it is read now");
    assert_eq!((&world.record(&id)["mode"], world.issues(&id)), (&json!("poll"), vec![1]));
    github.lock().refuses = None;
    world.work(", renew_at = 0");
    let (new_url, new_secret) = world.hook();
    assert!(new_url != url && new_secret != secret, "the former account has learned both");
    assert_eq!(world.deliver("issues", "d4", &issue(4).to_string()).send().status, 200);
    assert_eq!(deliver(5), 404);
    assert_eq!(world.issues(&id), [1, 4]);
    assert_eq!(world.requests("DELETE", HOOK).len(), 0, "this account has nothing to do with it");
}

/// The secret that the operator has given GitHub for the App.
const APP_SECRET: &str = "a secret of the App";

/// A notification of the App.
fn of_app(number: u32, installation: u32, repository: u32) -> Value {
    let mut body = issue(number);
    body["installation"] = json!({"id": installation});
    body["repository"]["id"] = json!(repository);
    body
}

impl Shipped {
    /// A notification as GitHub signs it for the App.
    fn deliver_of_app(&self, url: &str, event: &str, body: &Value) -> u16 {
        let text = body.to_string();
        let signature = format!("sha256={}", hmac_hex(APP_SECRET, text.as_bytes()));
        let call = self.notify(url).header("x-github-event", event).header("x-hub-signature-256", &signature);
        call.body(text).send().status
    }

    /// The numbers of the issues in the events of a trigger.
    fn issues(&self, id: &str) -> Vec<u64> {
        self.data(id).iter().filter_map(|data| data["issue"]["number"].as_u64()).collect()
    }
}

#[test]
fn the_app_notifies_only_accounts_that_see_its_installation() {
    let (world, github) = github();
    let (_, url) = world.inbox("code_hosting", "app", Some(APP_SECRET));
    github.lock().sees_installation = vec!["ada"];
    let early = world.trigger("ada", "code_hosting.push", &repository());
    assert_eq!(world.requests("POST", HOOKS).len(), 1, "the App's webhook may not work");
    world.client().delete(&format!("/triggers/{early}")).ok();
    assert_eq!(world.deliver_of_app(&url, "ping", &json!({"zen": "Keep it simple"})), 200);

    let ada = world.trigger("ada", "code_hosting.issue", &json!({"owner": "Octo", "repo": "PLANS"}));
    assert_eq!(world.requests("POST", HOOKS).len(), 1, "no webhook is made");
    assert_eq!(world.record(&ada)["mode"], "push");
    let bob = world.trigger("bob", "code_hosting.issue", &repository());
    assert_eq!(world.requests("POST", HOOKS).len(), 2, "bob does not see the installation");

    assert_eq!(world.deliver_of_app(&url, "issues", &of_app(1, 5, 70)), 200);
    for (installation, repository) in [(5, 71), (6, 70)] {
        assert_eq!(world.deliver_of_app(&url, "issues", &of_app(2, installation, repository)), 200);
    }
    assert_eq!(world.deliver_of_app(&url, "installation", &json!({"installation": {"id": 5}})), 200);
    assert_eq!(world.deliver("issues", "d1", &of_app(3, 5, 70).to_string()).send().status, 200, "at bob's webhook");
    assert_eq!((world.issues(&ada), world.issues(&bob)), (vec![1], vec![3]));
    world.client().post(&format!("/triggers/{ada}/read"), json!({})).problem(409, "nothing-to-read");
    assert_eq!(world.delete(&ada), Value::Null, "nothing stands at GitHub");
}

#[test]
fn an_account_that_sees_the_installation_no_more_gets_nothing_of_the_app_and_is_read() {
    let (world, github) = github();
    let (inbox, url) = world.inbox("code_hosting", "app", Some(APP_SECRET));
    assert_eq!(world.deliver_of_app(&url, "ping", &json!({"zen": "Keep it simple"})), 200);
    github.lock().sees_installation = vec!["ada"];
    let id = world.trigger("ada", "code_hosting.issue", &repository());
    let mode = || world.record(&id)["mode"].clone();
    assert_eq!(world.deliver_of_app(&url, "issues", &of_app(1, 5, 70)), 200);
    github.lock().activity.insert(0, activity(1));

    github.lock().sees_installation.clear();
    world.work(", renew_at = 0");
    assert_eq!(mode(), "poll");
    assert_eq!(world.deliver_of_app(&url, "issues", &of_app(2, 5, 70)), 200);
    assert_eq!(world.issues(&id), [1], "the account was not proven to see the second one");
    github.lock().activity.insert(0, activity(3));
    world.read(&id);
    assert_eq!(world.issues(&id), [1, 3], "the first one is not read again");

    github.lock().sees_installation = vec!["ada"];
    world.work(", renew_at = 0");
    assert_eq!(mode(), "push");
    assert_eq!(world.deliver_of_app(&url, "issues", &of_app(4, 5, 70)), 200);
    assert_eq!(world.issues(&id), [1, 3, 4]);

    world.client().delete(&format!("/admin/inboxes/{inbox}")).ok();
    world.settle();
    assert_eq!((mode(), &world.record(&id)["status"]), (json!("poll"), &json!("active")), "the App notifies no more");
}

#[test]
fn no_event_is_lost_in_silence_or_told_twice_when_the_app_begins_to_notify_and_when_it_ends() {
    let (world, github) = github();
    let (_, url) = world.inbox("code_hosting", "app", Some(APP_SECRET));
    assert_eq!(world.deliver_of_app(&url, "ping", &json!({"zen": "Keep it simple"})), 200);
    github.lock().sees_installation = vec!["ada"];
    let id = world.trigger("ada", "code_hosting.issue", &repository());
    assert_eq!(world.deliver_of_app(&url, "issues", &of_app(1, 5, 70)), 200);
    let gaps = || world.kinds(&id).iter().filter(|kind| *kind == "trigger.gap").count();

    // The App was removed at some time since the account was last proven to see it.
    github.lock().activity.insert(0, activity(1));
    github.lock().sees_installation.clear();
    world.work(", renew_at = 0");
    assert_eq!((world.issues(&id), gaps()), (vec![1], 1));
    github.lock().activity.insert(0, activity(9));
    github.lock().sees_installation = vec!["ada"];
    world.work(", renew_at = 0");
    assert_eq!(world.record(&id)["mode"], "push");
    assert_eq!((world.issues(&id), gaps()), (vec![1, 9], 2), "it has happened before");
    assert_eq!(world.deliver_of_app(&url, "issues", &of_app(10, 5, 70)), 200);
    github.lock().activity.insert(0, activity(10));
    github.lock().sees_installation.clear();
    world.work(", renew_at = 0");
    world.read(&id);
    assert_eq!((world.issues(&id), gaps()), (vec![1, 9, 10], 3));
}
