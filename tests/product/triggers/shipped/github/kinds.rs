//! A webhook that lacks the kinds of a trigger that was added to it.

use super::*;

#[test]
fn a_webhook_that_github_does_not_change_is_asked_for_again_at_the_next_attempt_and_not_before() {
    let (world, github) = github();
    let issues = world.trigger("ada", "code_hosting.issue", &repository());
    github.lock().is_away = true;
    let made = world.make("ada", "code_hosting.push", &repository());
    assert_eq!((made.status, &made.json()["status"]), (201, &json!("pending")), "{}", made.text());
    let pushes = made.json()["id"].as_str().unwrap().to_owned();
    world.settle();
    assert_eq!(world.gateway.home().sqlite("UPDATE subscriptions SET renew_at = renew_at + 3600000"), 1);
    let asked = world.requests("PATCH", HOOK).len();
    assert!(asked > 0);

    world.work("");
    assert_eq!(world.requests("PATCH", HOOK).len(), asked, "the time of the next attempt holds");
    let record = world.record(&pushes);
    assert_eq!(record["status"], "pending", "GitHub does not send its events yet");
    assert!(record["reason"].is_string(), "{record}");
    assert_eq!(world.record(&issues)["status"], "active");

    github.lock().is_away = false;
    world.work(", renew_at = 0");
    let events = body_of(world.requests("PATCH", HOOK).last().unwrap())["events"].clone();
    assert_eq!((&world.record(&pushes)["status"], events), (&json!("active"), json!(["issues", "push"])));
}
