//! A user connects an account. Programs call the service as the user, over a refresh of the token,
//! until the account is disconnected.

use serde_json::{Value, json};
use support::oauth::{Account, browser};
use support::{Client, Dialect, Endpoint, OAuthProvider, Person, Reply, Seen, Setup};

use url::form_urlencoded;

use crate::{Step, promise, show};

/// The application's callback URL.
const CALLBACK_URL: &str = "http://127.0.0.1:3000/connected";

const CALENDARS: &str = "workspace_calendar/calendarlist_list";

/// Shows the life of an account, from connecting to disconnecting it.
pub(crate) fn walk() -> Step {
    let provider = OAuthProvider::start(Dialect::google());
    provider.on_api(calendar_service);
    let gateway = Setup::new()
        .shipped("workspace_calendar")
        .provider("workspace_calendar", &provider, &[("api", "/calendar/v3"), ("oauth2", "/oauth2/v2")])
        .start();
    provider.register(&format!("{}/connectors/workspace_calendar/success-authorize-callback", gateway.address()));
    let client = gateway.client();
    connect(&client)?;
    call_as_the_user(&client, &provider)?;
    outlive_a_token(&client, &provider)?;
    disconnect(&client, &provider)
}

/// The service's answers: the account's identity, and two calendars.
fn calendar_service(seen: &Seen, account: &Account) -> Reply {
    Reply::json(if seen.path.ends_with("/userinfo") {
        json!({"id": account.id, "email": account.email, "name": account.name})
    } else {
        let calendar = |id: &str, summary: &str| json!({"id": id, "summary": summary, "timeZone": "Europe/Berlin"});
        json!({"kind": "calendar#calendarList", "items": [calendar(&account.email, "Mine"), calendar("team", "The team")]})
    })
}

fn connect(client: &Client) -> Step {
    show::heading(9, "Connect an account");
    show::say(
        "A second gateway has a connector whose users have accounts at an OAuth provider, which is a stand-in too.\n",
    );
    let refused = show::call(client, CALENDARS, &json!({}));
    promise(refused.status == 424, "without an account the answer says which route connects one")?;
    println!();
    let body = json!({"auth_type": "oauth2", "callback_url": CALLBACK_URL});
    let begun = show::post(client, "/connectors/workspace_calendar/integrations", &body);
    show::say(
        "The user's browser opens this URL, and the user consents (here a script does). The provider redirects the browser:",
    );
    let callback = Person::named("ada").consents(begun.json()["authorization_url"].as_str().unwrap_or_default());
    show::command(&format!("GET {}", masked(&callback)));
    let done = browser::open(&callback);
    show::say(&format!("HTTP {} to {}\n", done.status, done.header("location")));
    let record = show::get(client, "/connectors/workspace_calendar/integrations/ada%40example.com");
    show::document(&record);
    promise(record.json()["status"] == "active", "the account is connected, and no answer showed a token")
}

/// A callback URL without the values of its parameters. The code in it is valid once, but is not
/// shown anyway.
fn masked(callback: &str) -> String {
    let (address, query) = callback.split_once('?').unwrap_or((callback, ""));
    let names: Vec<String> = form_urlencoded::parse(query.as_bytes()).map(|(name, _)| format!("{name}=…")).collect();
    format!("{address}?{}", names.join("&"))
}

fn call_as_the_user(client: &Client, provider: &OAuthProvider) -> Step {
    show::heading(10, "Call the service as the user");
    let answer = show::call(client, CALENDARS, &json!({"response_fields": ["items.summary"]}));
    promise(answer.json() == calendars(), "the answer has the calendars of the account")?;
    let token = provider.access_tokens().pop().unwrap_or_default();
    let sent = provider.api_calls().pop().is_some_and(|seen| seen.header("authorization") == format!("Bearer {token}"));
    promise(sent, "the gateway added the token outside of the sandbox")
}

fn calendars() -> Value {
    json!({"items": [{"summary": "Mine"}, {"summary": "The team"}]})
}

fn outlive_a_token(client: &Client, provider: &OAuthProvider) -> Step {
    show::heading(11, "Let the token expire, and make a hundred calls in parallel");
    provider.expire();
    let body = json!({"response_fields": ["items.summary"]});
    show::command(&format!("seq 100 | xargs -P 100 -I _ curl -s $GATEWAY/connectors/{CALENDARS} … -d '{body}'"));
    let calls: Vec<_> = (0..100).map(|_| client.begin(&format!("/connectors/{CALENDARS}"), body.clone())).collect();
    let answers: Vec<Value> = calls.into_iter().map(|call| call.wait().json()).collect();
    let good = answers.iter().filter(|answer| **answer == calendars()).count();
    let refreshed = provider.count(Endpoint::Refresh);
    show::say(&format!("{good} calls answered as before, {refreshed} refresh of the token"));
    promise(good == answers.len() && refreshed == 1, "every call succeeded, and the provider was called once")
}

fn disconnect(client: &Client, provider: &OAuthProvider) -> Step {
    show::heading(12, "Disconnect the account");
    let answer = show::delete(client, "/connectors/workspace_calendar/integrations/ada%40example.com");
    promise(answer.json()["revoked"] == true && provider.live_grants() == 0, "the provider revoked the grant")?;
    println!();
    let refused = show::call(client, CALENDARS, &json!({}));
    promise(refused.status == 424, "the gateway has deleted the account")
}
