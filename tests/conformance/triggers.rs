//! The requests that connectors send for types of events: they subscribe, and read before and
//! after that. A trigger of each type is made in a running gateway, and every request is compared
//! with the methods of its provider.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use support::oauth::browser;
use support::{Client, Dialect, Gateway, OAuthProvider, Person, Reply, Seen, Setup, wait_for};

use crate::check::{validator, violations};
use crate::lanes::init;
use crate::operations::Connector;
use crate::specifications::{Method, Specifications};
use crate::upstream::{shown, url};

/// The account of every connector.
const ACCOUNT: &str = "ada";

/// Services reach the gateway at this address, as far as it knows.
const CONFIG: &str = r#"
[hooks]
public_url = "https://hooks.example.com"
[connectors.workspace_mail.settings]
pubsub_topic = "projects/p/topics/gmail"
pubsub_service_account = "push@p.iam.gserviceaccount.com"
"#;

/// The parameters of types that need some.
const PARAMETERS: [(&str, &str); 7] = [
    ("code_hosting/", r#"{"owner": "o", "repo": "r"}"#),
    ("microblog/post_of_user", r#"{"id": "7", "exclude": ["replies"]}"#),
    ("office_teamchat/channel_message", r#"{"team_id": "t", "channel_id": "c"}"#),
    ("office_teamchat/chat_message", r#"{"chat_id": "c"}"#),
    ("workspace_calendar/", r#"{"calendar_id": "primary"}"#),
    ("workspace_chat/", r#"{"space_id": "s"}"#),
    ("workspace_mail/message_received", r#"{"label_id": "INBOX"}"#),
];

/// Methods that the specifications lack, each as the connector, the verb and the end of the URL.
const UNSPECIFIED: [(&str, &str, &str); 6] = [
    ("code_hosting", "POST", "/repos/o/r/hooks"),
    ("code_hosting", "PATCH", "/repos/o/r/hooks/1"),
    ("office_calendar", "POST", "/subscriptions"),
    ("office_drive", "POST", "/subscriptions"),
    ("office_mail", "POST", "/subscriptions"),
    ("office_teamchat", "POST", "/subscriptions"),
];

/// Known differences that are right: the connector, the part of the request, and why it is right.
const DEVIATIONS: [(&str, &str, &str); 5] = [
    ("office_calendar", "/query/$deltatoken", TOKEN),
    ("office_drive", "/query/$deltatoken", TOKEN),
    ("office_drive", "/query/token", "the specification has it as the argument of a function"),
    ("office_mail", "/query/$deltatoken", TOKEN),
    ("office_teamchat", "/query/$deltatoken", TOKEN),
];

const TOKEN: &str = "the service puts this parameter into the link to the next changes";

/// A request, and what is wrong with it.
type Wrong = (String, String);

/// Makes a trigger of each type. Returns what is wrong, each as a sentence.
pub(crate) fn wrong(connectors: &[Connector], specifications: &Specifications) -> Vec<String> {
    let checked: Vec<(&Connector, &[Method])> = connectors
        .iter()
        .filter(|connector| connector.has_accounts)
        .filter_map(|connector| Some((connector, specifications.of(&connector.provider)?)))
        .collect();
    let mut setup = Setup::new().config(CONFIG);
    let mut providers = Vec::new();
    for (connector, _) in &checked {
        let provider = OAuthProvider::start(Dialect::of(&connector.provider));
        let paths: Vec<(&str, String)> =
            connector.upstreams.iter().map(|(name, url)| (name.as_str(), format!("/{url}"))).collect();
        let paths: Vec<(&str, &str)> = paths.iter().map(|(name, path)| (*name, path.as_str())).collect();
        setup = setup.shipped(&connector.id).provider(&connector.id, &provider, &paths);
        providers.push(provider);
    }
    let gateway = setup.start();
    let client = gateway.client();
    client.post("/admin/inboxes", json!({"connector": "workspace_mail", "inbox": "pubsub"}));
    let types = client.get("/trigger-types?limit=200").ok();
    let mut wrong = Vec::new();
    let mut unspecified = BTreeSet::new();
    for ((connector, methods), provider) in checked.iter().zip(&providers) {
        let types: Vec<&str> = types["trigger_types"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|kind| kind["connector"] == connector.id.as_str() && kind["poll_s"].is_number())
            .map(|kind| kind["type"].as_str().unwrap())
            .collect();
        let requests = requests(&gateway, &client, connector, provider, &types, &mut wrong);
        for request in &requests {
            match differences(methods, request) {
                Some(found) => wrong.extend(unknown(connector, found)),
                None => {
                    let known = UNSPECIFIED.iter().find(|(id, verb, end)| {
                        *id == connector.id && *verb == request.method && url(request).ends_with(end)
                    });
                    match known {
                        Some(known) => drop(unspecified.insert(known)),
                        None => wrong.push(format!("{}: no such method: {}", connector.id, shown(request))),
                    }
                }
            }
        }
    }
    let gone = UNSPECIFIED.iter().filter(|known| !unspecified.contains(known));
    wrong.extend(gone.map(|(id, verb, end)| format!("{id}: {verb} {end} was not sent, or it is specified")));
    wrong
}

/// The requests that triggers of these types lead to.
fn requests(
    gateway: &Gateway,
    client: &Client,
    connector: &Connector,
    provider: &OAuthProvider,
    types: &[&str],
    wrong: &mut Vec<String>,
) -> Vec<Seen> {
    if types.is_empty() {
        return Vec::new();
    }
    let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
    let recorded = Arc::clone(&seen);
    provider.on_api(move |seen, _| {
        recorded.lock().push(seen.clone());
        answer(seen)
    });
    connect(gateway, client, connector, provider);
    for kind in types {
        let name = format!("{}/{kind}", connector.id);
        let parameters = PARAMETERS.iter().find(|(start, _)| name.starts_with(start)).map_or("{}", |(_, given)| given);
        let parameters: Value = serde_json::from_str(parameters).unwrap();
        let body = json!({"connector": connector.id, "type": kind, "parameters": parameters});
        let made = client.request("POST", "/triggers").json(&body).header("x-user-identifier", ACCOUNT).send();
        if made.status != 201 {
            wrong.push(format!("{name}: {} {}", made.status, made.text()));
            continue;
        }
        let path = format!("/triggers/{}", made.json()["id"].as_str().unwrap());
        let record = wait_for("a trigger that is not pending", || {
            Some(client.get(&path).ok()).filter(|record| record["status"] != "pending")
        });
        if record["status"] != "active" {
            wrong.push(format!("{name}: {} {}", record["status"], record["reason"]));
        }
    }
    let seen = seen.lock();
    seen.clone()
}

/// Connects the account of a connector.
fn connect(gateway: &Gateway, client: &Client, connector: &Connector, provider: &OAuthProvider) {
    let path = format!("/connectors/{}", connector.id);
    provider.register(&format!("{}{path}/success-authorize-callback", gateway.address()));
    let mut init = init();
    init["user_identifier"] = json!(ACCOUNT);
    let begun = client.post(&format!("{path}/integrations"), init).ok();
    let callback = Person::named(ACCOUNT).consents(begun["authorization_url"].as_str().unwrap());
    assert_eq!(browser::open(&callback).status, 302, "{}", connector.id);
}

/// An answer to every request. It is an empty list whose next page is known, and also the answer to
/// a request for a subscription.
fn answer(seen: &Seen) -> Reply {
    if url(seen).starts_with("api.github.com/repos") && seen.method == "GET" {
        return Reply::json(json!([]));
    }
    let link = format!("https://{}?$deltatoken=d", url(seen));
    Reply::json(json!({
        "id": "1", "email": "ada@example.com", "login": "ada", "data": {"id": "7", "username": "ada"}, "meta": {},
        "historyId": "7", "startPageToken": "7", "newStartPageToken": "8", "nextSyncToken": "s",
        "resourceId": "r", "expiration": "4102444800000", "expirationDateTime": "2099-01-01T00:00:00Z",
        "value": [], "@odata.deltaLink": link,
    }))
}

/// The differences from the method that a request is most like. `None` if no method has its URL.
fn differences(methods: &[Method], request: &Seen) -> Option<Vec<Wrong>> {
    let read = methods.iter().filter_map(|method| {
        let document = method.read(url(request), request)?;
        Some(violations(&document, &validator(method)))
    });
    let found = read.min_by_key(Vec::len)?;
    Some(found.into_iter().map(|(place, detail)| (place, format!("{detail} in {}", shown(request)))).collect())
}

fn unknown(connector: &Connector, found: Vec<Wrong>) -> Vec<String> {
    let is_known = |place: &str| DEVIATIONS.iter().any(|(id, known, _)| *id == connector.id && *known == place);
    let unknown = found.into_iter().filter(|(place, _)| !is_known(place));
    unknown.map(|(place, detail)| format!("{} {place}: {detail}", connector.id)).collect()
}
