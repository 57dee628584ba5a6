//! A check for the tests of connectors of Microsoft Graph.

use connector_sdk::Outcome;
use connector_sdk::auth::Auth;
use connector_sdk::table::Connector;
use connector_sdk::testing::{Answer, Gateway, invoke};

/// Checks that a table has what every connector of Graph has: the scopes for a refresh token and
/// for the identity, the operation `userinfo`, and the header of searches and counts.
///
/// # Panics
/// If the table lacks one of them, or declares it in another way.
pub fn check(connector: &Connector) {
    let scopes = ["offline_access", "User.Read"];
    assert!(
        matches!(&connector.auth, Auth::OAuth2(client) if client.provider == "microsoft" && client.scopes.starts_with(&scopes)),
        "the first scopes of Microsoft's client are {scopes:?}"
    );

    let gateway = Gateway::new().answer(Answer::json(200, r#"{"id":"48d31887","mail":"ada@acme.test"}"#));
    let outcome = invoke(connector, "userinfo", "{}");
    let shape = r#"{"data":{"id":"48d31887","email":"ada@acme.test""#;
    assert!(matches!(&outcome, Ok(Outcome::Reply(text)) if text.starts_with(shape)), "{outcome:?}");
    assert!(gateway.requests().iter().all(|request| request.upstream == "graph" && request.path.starts_with("/me?")));

    let triggers = connector
        .headers
        .iter()
        .filter(|header| header.name == "ConsistencyLevel")
        .flat_map(|header| header.when.iter());
    let triggers: Vec<_> = triggers.map(|trigger| (trigger.parameter.as_ref(), trigger.unless.as_deref())).collect();
    assert_eq!(triggers, [("$search", None), ("$count", Some("false"))], "the header `ConsistencyLevel`");
}
