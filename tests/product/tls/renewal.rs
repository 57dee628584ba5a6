//! A certificate that is renewed while the gateway serves.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use support::tls::Issued;
use support::{Answer, Authority, Gateway, Load, wait_for};

use super::{assert_serves, presented, setup};

/// Replaces a file as programs that renew certificates do: by a rename.
fn replace(path: &Path, text: &str) {
    let aside = path.with_extension("new");
    fs::write(&aside, text).unwrap();
    // The key stays private.
    fs::set_permissions(&aside, fs::metadata(path).unwrap().permissions()).unwrap();
    fs::rename(aside, path).unwrap();
}

/// Replaces both files. The gateway stands still meanwhile, so that it never finds one of them
/// without the other.
fn renew(gateway: &Gateway, issued: &Issued) {
    let (certificate, key) = gateway.home().pair();
    gateway.stand_still();
    replace(&certificate, &issued.certificate);
    replace(&key, &issued.key);
    gateway.go_on();
}

/// The lines of the log about changed files that are not used.
fn complaints(gateway: &Gateway) -> Vec<Value> {
    let is_complaint = |line: &Value| line["message"].as_str().is_some_and(|text| text.contains("are not used"));
    gateway.log().into_iter().filter(is_complaint).collect()
}

fn wait_for_complaints(gateway: &Gateway, count: usize) -> String {
    let found =
        wait_for("a line about the files", || Some(complaints(gateway)).filter(|complaints| complaints.len() >= count));
    assert_eq!(found.len(), count, "{found:?}");
    found[count - 1]["error"].as_str().unwrap().to_owned()
}

fn is_ok(answer: &Answer) -> Result<(), String> {
    if answer.status == 200 { Ok(()) } else { Err(format!("{} {}", answer.status, answer.text())) }
}

#[test]
fn a_renewed_certificate_serves_new_connections_and_no_call_fails() {
    let authority = Authority::new();
    let gateway = setup(&authority).start();
    let first = presented(&gateway, &authority);
    // Each call of these has its own connection, and the others keep theirs.
    let mut settings = authority.client();
    settings.alpn_protocols.clear();
    let (closing, keeping) = (gateway.client().over_tls(settings), gateway.client());
    let call =
        move || closing.request("POST", "/connectors/liar/version").header("connection", "close").json(&json!({}));
    let loads = [
        Load::start(call, is_ok),
        Load::start(move || keeping.request("POST", "/connectors/liar/version").json(&json!({})), is_ok),
    ];
    for _ in 0..2 {
        let renewed = authority.issue();
        renew(&gateway, &renewed);
        wait_for("the renewed certificate", || (presented(&gateway, &authority) == renewed.der()).then_some(()));
        loads.iter().for_each(|load| load.wait_for_more(50));
    }
    assert_ne!(presented(&gateway, &authority), first);
    for load in loads {
        assert_eq!(load.stop().failures, Vec::<String>::new());
    }
    assert_eq!(complaints(&gateway), Vec::<Value>::new());
}

#[test]
fn files_that_cannot_be_used_are_logged_once_and_the_previous_certificate_serves() {
    let authority = Authority::new();
    let gateway = setup(&authority).start();
    let first = presented(&gateway, &authority);
    let (certificate, key) = gateway.home().pair();

    let renewed = authority.issue();
    replace(&certificate, &renewed.certificate);
    let complaint = wait_for_complaints(&gateway, 1);
    assert!(complaint.contains("`tls.key`") && complaint.contains("not the key"), "{complaint}");
    assert_eq!(presented(&gateway, &authority), first);

    replace(&key, "half of a k");
    let complaint = wait_for_complaints(&gateway, 2);
    assert!(complaint.contains("no private key") && !complaint.contains("half"), "{complaint}");

    fs::remove_file(&key).unwrap();
    let complaint = wait_for_complaints(&gateway, 3);
    assert!(complaint.contains("cannot be read"), "{complaint}");

    let expired = authority.issue_until((2020, 1, 1));
    gateway.stand_still();
    expired.write(&certificate, &key);
    gateway.go_on();
    let complaint = wait_for_complaints(&gateway, 4);
    assert!(complaint.contains("has expired at 2020-01-01"), "{complaint}");
    assert_eq!(presented(&gateway, &authority), first);
    assert_serves(&gateway.client());

    gateway.stand_still();
    renewed.write(&certificate, &key);
    gateway.go_on();
    wait_for("the renewed certificate", || (presented(&gateway, &authority) == renewed.der()).then_some(()));
    assert_eq!(complaints(&gateway).len(), 4);
    assert_serves(&gateway.client());
}
