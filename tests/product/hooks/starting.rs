//! A gateway that has begun to serve and has not loaded all connectors yet.

use support::module;
use support::process::Process;

use super::*;

/// Makes the compilation of the bomb take longer than a test waits for anything.
const SLOW: &str = "compile.cpu_s = 600";

#[test]
fn while_a_connector_is_not_loaded_its_service_is_told_to_come_again() {
    let mut gateway = setup().cold().config(SLOW).start();
    let inbox = Inbox::signed(&gateway);
    assert_eq!(inbox.push(&gateway.anonymous(), &message("1"), 0).send().status, 200);
    gateway.stop();
    gateway.home().put("notified", &module::compile_bomb("", 8000, 3000));
    let mut process = Process::start(&mut gateway.home().command(&["serve"]));
    let client = Client::new(&process.logged_address());
    let answer = inbox.push(&client, &message("2"), 0).send();
    assert_eq!((answer.status, answer.text().as_str()), (503, "{}"), "it would take the address for dead");
    assert!(!answer.header("retry-after").is_empty());
    let other = client.request("POST", "/hooks/AAAAAAAAAAAAAAAAAAAAAA").body("{}").send();
    assert_eq!(other.status, 404, "no one has this address");
    process.ask_to_end();
    assert!(process.wait().success());
}
