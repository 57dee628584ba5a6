//! The page on which an end user connects accounts. This file has the world that the tests share,
//! each other file one subject.

mod browser;
mod endings;
mod forms;
mod gateways;
mod links;
mod visit;

use serde_json::{Value, json};
use support::{Answer, Client, Gateway, OAuthProvider, Reply, Setup, Store, Upstream, encoding, module};

use crate::integrations::client;

/// The key that the service of the connector `keyed` accepts.
const KEY_OF_USER: &str = "key-of-the-user-0123456789";

/// A gateway with five connectors: `mail` and `files`, whose users have accounts at the provider;
/// `coded`, whose users may connect them in further ways, as with a code; `keyed`, whose users have
/// a key; and `free`, which needs no account.
struct World {
    gateway: Gateway,
    provider: OAuthProvider,
    /// The application, which speaks for ann. Her tenant has its own name and logo.
    application: Client,
    _service: Upstream,
}

fn world(store: &Store) -> World {
    let provider = OAuthProvider::start(support::Dialect::strict());
    let service = Upstream::start();
    service.on("*", |seen| match seen.header("x-api-key").ends_with(KEY_OF_USER) {
        true => Reply::json(json!({"id": "42", "email": "ann@keyed.example", "name": "Ann"})),
        false => Reply::json(json!({})).status(401),
    });
    let logo = module::root().canonicalize().unwrap().join("host/operators/src/console/web/icon.svg");
    let setup = Setup::new().on(store).config(&format!(
        "[connect]\nname = \"Planner\"\n[connect.tenants.acme]\nname = \"Acme Desk\"\nlogo = {:?}",
        logo.display().to_string()
    ));
    let gateway = connectors(setup, &provider, &service.url()).start();
    for connector in ["mail", "files"] {
        provider.register(&format!("{}/connectors/{connector}/success-authorize-callback", gateway.address()));
    }
    let application = client(&gateway, "acme", Some("ann"), "integrate,operate");
    World { gateway, provider, application, _service: service }
}

/// Adds the five connectors.
fn connectors(setup: Setup, provider: &OAuthProvider, service: &str) -> Setup {
    let keyed = json!({"identifier": "keyed", "auth": "api_key", "placement": "header", "check": "whoami"});
    let ways = json!({"additions": [
        {"is": "device_code", "url": ""}, {"is": "client_credentials"}, {"is": "service_account", "subject": "required"},
    ]});
    let free = json!({"identifier": "free", "auth": "none"});
    setup
        .account("mail", provider)
        .account("files", provider)
        .account_with("coded", provider, &ways)
        .config(&format!("oauth.device_authorization_url = \"{}\"", provider.device_url()))
        .module("keyed", module::account(&keyed))
        .upstream("keyed", "api", service)
        .module("free", module::account(&free))
        .upstream("free", "api", service)
}

/// Makes a link, and returns its id and its URL.
#[track_caller]
fn link(application: &Client, body: Value) -> (String, String) {
    let made = application.post("/connect-links", body);
    assert_eq!(made.status, 201, "{}", made.text());
    let text = |name: &str| made.json()[name].as_str().unwrap().to_owned();
    (text("id"), text("url"))
}

/// A browser without JavaScript: it keeps cookies and sends forms.
#[derive(Default)]
pub(crate) struct Browser {
    cookies: Vec<String>,
}

impl Browser {
    fn get(&mut self, url: &str) -> Answer {
        self.send("GET", url, &[])
    }

    fn post(&mut self, url: &str, fields: &[(&str, &str)]) -> Answer {
        self.send("POST", url, fields)
    }

    fn send(&mut self, method: &str, url: &str, fields: &[(&str, &str)]) -> Answer {
        let mut call = Client::new("").without_redirects().at(url).request(method, "");
        if !self.cookies.is_empty() {
            call = call.header("cookie", &self.cookies.join("; "));
        }
        if method == "POST" {
            call = call.header("content-type", "application/x-www-form-urlencoded").body(encoding::to_form(fields));
        }
        let answer = call.send();
        for cookie in answer.headers.get_all("set-cookie") {
            let cookie = cookie.to_str().unwrap().split(';').next().unwrap().to_owned();
            if !self.cookies.contains(&cookie) {
                self.cookies.push(cookie);
            }
        }
        answer
    }

    /// Sends the form of a connector, consents at the provider, and comes back to the page.
    #[track_caller]
    pub(crate) fn connects(&mut self, url: &str, connector: &str, person: &str) -> Answer {
        let to_provider = self.post(url, &[("connector", connector)]);
        assert_eq!(to_provider.status, 303, "{}", to_provider.text());
        let back = support::Person::named(person).consents(to_provider.header("location"));
        let to_page = self.get(&back);
        assert_eq!((to_page.status, to_page.header("location")), (303, url), "{}", to_page.text());
        self.get(url)
    }
}

/// The texts of a page, without its elements.
fn texts(page: &Answer) -> String {
    let html = page.text();
    let mut texts = String::new();
    for part in html.split('<').skip(1) {
        texts.push_str(part.split_once('>').map_or("", |(_, text)| text));
        texts.push(' ');
    }
    texts.split_whitespace().collect::<Vec<_>>().join(" ")
}
