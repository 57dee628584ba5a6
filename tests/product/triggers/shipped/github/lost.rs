//! A webhook about which GitHub's answer was lost. GitHub keeps it until someone deletes it.

use super::*;

/// Makes a trigger whose webhook GitHub has made without an answer.
fn unanswered() -> (Shipped, String) {
    let (world, github) = github();
    github.lock().loses = true;
    let made = world.make("ada", "code_hosting.issue", &repository());
    assert_eq!((made.status, &made.json()["status"]), (201, &json!("pending")), "{}", made.text());
    let id = made.json()["id"].as_str().unwrap().to_owned();
    (world, id)
}

#[test]
fn a_webhook_without_an_answer_is_found_by_its_address_and_used() {
    let (world, id) = unanswered();
    let first = world.hook();
    world.work(", renew_at = 0");
    assert_eq!(world.record(&id)["status"], "active");
    assert_eq!(world.hook(), first, "GitHub was asked for the same one");
    assert_eq!(world.requests("PATCH", HOOK).len(), 1);
    assert_eq!(world.deliver("issues", "d1", &issue(1).to_string()).send().status, 200);
    assert_eq!(world.data(&id), [issue(1)]);
    assert_eq!((world.delete(&id), world.requests("DELETE", HOOK).len()), (json!(true), 1));
}

#[test]
fn a_trigger_that_is_deleted_leaves_no_webhook_without_an_answer() {
    let (world, id) = unanswered();
    assert_eq!((world.delete(&id), world.requests("DELETE", HOOK).len()), (json!(true), 1));
}
