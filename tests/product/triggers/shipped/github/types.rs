//! The events of each type.

use super::*;

/// The types with GitHub's names of their events.
const TYPES: [(&str, &[&str]); 5] = [
    ("issue", &["issues"]),
    ("pull_request", &["pull_request"]),
    ("push", &["push"]),
    ("release", &["release"]),
    ("comment", &["issue_comment", "pull_request_review_comment", "commit_comment"]),
];

#[test]
fn each_type_of_a_repository_gets_its_events_and_no_others() {
    let (world, _) = github();
    let triggers = TYPES.map(|(kind, _)| world.trigger("ada", &format!("code_hosting.{kind}"), &repository()));
    let listed = world.client().get("/trigger-types?connector=code_hosting").ok()["trigger_types"].clone();
    let example = |kind: &str| {
        let declared = listed.as_array().unwrap().iter().find(|declared| declared["type"] == kind);
        declared.unwrap()["example"].clone()
    };
    let sent = TYPES.map(|(kind, events)| {
        let bodies = events.iter().map(|event| {
            let mut body = example(kind);
            // The same body would be the same event.
            body["test"] = json!(event);
            assert_eq!(world.deliver(event, event, &body.to_string()).send().status, 200, "{event}");
            body
        });
        bodies.collect::<Vec<Value>>()
    });
    for (((kind, _), id), sent) in TYPES.iter().zip(&triggers).zip(&sent) {
        assert_eq!(world.data(id), *sent, "{kind}");
        assert!(world.kinds(id).iter().all(|told| *told == format!("code_hosting.{kind}")), "{kind}");
    }
    assert_eq!(world.requests("POST", HOOKS).len(), 1, "one webhook for all types");
}
