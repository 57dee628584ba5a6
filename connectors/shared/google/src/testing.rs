//! A test that the connectors of Google's services share.

use connector_sdk::Outcome;
use connector_sdk::table::Connector;
use connector_sdk::testing::{Answer, Gateway, invoke};

/// Checks that the operation `userinfo` of a connector gets the account from Google, and returns it
/// in the common shape.
///
/// # Panics
/// If the operation does anything else.
pub fn check_userinfo(connector: &Connector) {
    let gateway = Gateway::new().answer(Answer::json(200, r#"{"id":"110","email":"ada@acme.test"}"#));
    let outcome = invoke(connector, "userinfo", "{}");
    assert!(
        matches!(&outcome, Ok(Outcome::Reply(text)) if text.starts_with(r#"{"data":{"id":"110","email":"ada@acme.test""#)),
        "{outcome:?}"
    );
    let requests = gateway.requests();
    let sent: Vec<_> = requests.iter().map(|request| (request.upstream.as_str(), request.path.as_str())).collect();
    assert_eq!(sent, [("userinfo", "")]);
}
