//! A webhook that was made for an account of which the gateway did not know whose it was.

use super::*;

#[test]
fn an_account_that_is_known_only_now_gets_another_webhook_and_one_gap() {
    let (world, _) = github();
    let id = world.trigger("ada", "code_hosting.issue", &repository());
    let (url, _) = world.hook();
    assert_eq!(world.deliver("issues", "d1", &issue(1).to_string()).send().status, 200);
    let change = "UPDATE integrations SET account_id = 'one' WHERE user_identifier = 'ada'";
    assert_eq!(world.gateway.home().sqlite(change), 1);
    world.settle();
    assert_ne!(world.hook().0, url);
    assert_eq!(world.notify(&url).body("{}").send().status, 404, "it may be the webhook of another account");
    assert_eq!(world.deliver("issues", "d2", &issue(2).to_string()).send().status, 200);
    assert_eq!(world.kinds(&id), ["code_hosting.issue", "trigger.gap", "code_hosting.issue"]);
    assert_eq!(world.record(&id)["status"], "active");
}
