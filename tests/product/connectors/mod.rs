//! The product's connectors, one file each. This file has the helpers that the tests of connectors
//! with accounts share: a gateway with one connector and its service, and tables of operations with
//! the requests that the service must get.

mod code_hosting;
mod dex_market_data;
mod hr_platform;
mod memory;
mod microblog;
mod office_calendar;
mod office_drive;
mod office_sites;
mod preprint_archive;
mod team_chat;
mod workspace_calendar;
mod workspace_docs;
mod workspace_identity;
mod workspace_mail;
mod workspace_user_management;

use serde_json::{Value, json};
use support::oauth::{Account, browser};
use support::{Client, Dialect, Gateway, OAuthProvider, Person, Reply, Seen, Setup};

use crate::integrations::{begin, ended, registered};

/// An operation of a connector, and the one request that it sends.
pub(crate) struct Row {
    pub(crate) operation: &'static str,
    pub(crate) input: Value,
    /// Method and target, as `GET /path?name=value`. Names and values of the query are decoded.
    pub(crate) request: &'static str,
    /// The JSON body of the request; null if it has no body.
    pub(crate) body: Value,
}

/// A row of a table.
pub(crate) fn row(operation: &'static str, input: Value, request: &'static str, body: Value) -> Row {
    Row { operation, input, request, body }
}

/// A gateway with a connector, its service, and the account of ada.
pub(crate) struct Connected {
    pub(crate) provider: OAuthProvider,
    pub(crate) gateway: Gateway,
    pub(crate) client: Client,
    connector: &'static str,
}

impl Connected {
    /// Starts gateway and service and connects the account. `upstreams` has the path of each
    /// upstream below the provider's API, and `config` has further keys of the connector's section.
    /// `identity` answers requests while the account is connected.
    #[track_caller]
    pub(crate) fn start(
        connector: &'static str,
        dialect: Dialect,
        upstreams: &[(&str, &str)],
        config: &str,
        identity: impl Fn(&Seen, &Account) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let provider = OAuthProvider::start(dialect);
        provider.on_api(identity);
        let setup = Setup::new().shipped(connector).provider(connector, &provider, upstreams).config(config);
        let gateway = registered(setup.start(), &provider);
        let client = gateway.client();
        let callback = Person::named("ada").consents(&begin(&client, connector));
        let end = ended(&browser::open(&callback));
        assert!(end.contains(&("status".to_owned(), "success".to_owned())), "{end:?}");
        Self { provider, gateway, client, connector }
    }

    /// Calls one of the connector's operations.
    pub(crate) fn call(&self, operation: &str, input: Value) -> support::Answer {
        self.client.call(&format!("{}/{operation}", self.connector), input)
    }

    /// The record of the only integration.
    pub(crate) fn record(&self) -> Value {
        self.client.get("/integrations").ok()["integrations"][0].clone()
    }

    /// Calls every operation of a table. The service answers with `answer`, and the caller must get
    /// the same. The stand-in checks the user's token in every request.
    #[track_caller]
    pub(crate) fn check(&self, rows: &[Row], answer: &Value) {
        let reply = answer.clone();
        self.provider.on_api(move |_, _| Reply::json(reply.clone()));
        for Row { operation, input, request, body } in rows {
            let before = self.provider.api_calls().len();
            let answered = self.call(operation, input.clone());
            assert_eq!((answered.status, answered.json()), (200, answer.clone()), "{operation}");
            let [seen] = &self.provider.api_calls()[before..] else { panic!("{operation} makes one request") };
            assert_eq!(shown(seen), sorted(request), "{operation}");
            let sent: Value =
                if seen.body.is_empty() { Value::Null } else { serde_json::from_slice(&seen.body).unwrap() };
            assert_eq!(sent, *body, "{operation}");
            assert_eq!(seen.header("authorization").split(' ').next(), Some("Bearer"), "{operation}");
        }
    }

    /// Checks that every operation of the connector is in a table, or in the list of those that
    /// have their own tests.
    #[track_caller]
    pub(crate) fn check_complete(&self, rows: &[Row], others: &[&str]) {
        let listed = self.gateway.connector(self.connector).unwrap();
        let operations = listed["operations"].as_array().unwrap().iter();
        let mut offered: Vec<&str> =
            operations.map(|operation| operation["path"].as_str().or_else(|| operation.as_str()).unwrap()).collect();
        let mut tried: Vec<&str> = rows.iter().map(|row| row.operation).chain(others.iter().copied()).collect();
        offered.sort_unstable();
        tried.sort_unstable();
        tried.dedup();
        assert_eq!(tried, offered);
    }
}

/// A request to the API in the form of a table, with a sorted query.
fn shown(seen: &Seen) -> (String, Vec<String>) {
    let path = seen.path.strip_prefix(support::oauth::API).unwrap_or(&seen.path);
    let mut query: Vec<String> = seen.parameters().into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    query.sort_unstable();
    (format!("{} {path}", seen.method), query)
}

fn sorted(request: &str) -> (String, Vec<String>) {
    let (target, query) = request.split_once('?').unwrap_or((request, ""));
    let mut query: Vec<String> = query.split('&').filter(|pair| !pair.is_empty()).map(str::to_owned).collect();
    query.sort_unstable();
    (target.to_owned(), query)
}

/// An answer that shows whether a connector passes the service's answer on unchanged.
pub(crate) fn anything() -> Value {
    json!({"kind": "example", "items": [{"id": "1", "amount": 1.0}], "more": null})
}

/// Google's answer to a userinfo request.
pub(crate) fn google_claims(_: &Seen, account: &Account) -> Reply {
    Reply::json(
        json!({"id": account.id, "email": account.email, "verified_email": true, "name": account.name, "hd": "example.com"}),
    )
}

/// Microsoft's answer to a request for the user.
pub(crate) fn microsoft_user(_: &Seen, account: &Account) -> Reply {
    Reply::json(json!({
        "id": account.id, "displayName": account.name, "mail": account.email, "userPrincipalName": account.email,
    }))
}
