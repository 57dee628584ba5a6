//! The types of events of the product's connectors, each with a stand-in for its service.
//!
//! - [`github`]: the webhook of a repository, and its activity
//! - [`google`]: channels of Google, and what is read of its services
//! - [`gmail`]: mailboxes, with and without Pub/Sub
//! - [`microsoft`]: subscriptions of Microsoft Graph, and what is read of its services
//! - [`slack`]: the Events API
//! - [`polls`]: services that do not notify
//! - [`leaks`]: addresses and secrets, which no one sees

mod github;
mod gmail;
mod google;
mod leaks;
mod microsoft;
mod polls;
mod slack;

use support::Seen;
use support::wire::{answer, connection};

use super::*;

/// The public URL of the gateway for services. It is at no real host.
const PUBLIC: &str = "https://hooks.example";

/// A gateway with a connector of the product, and the service of the connector.
struct Shipped {
    gateway: Gateway,
    service: Upstream,
}

/// The access token of a user at all services.
fn token_of(user: &str) -> String {
    format!("access-token-of-{user}")
}

/// The user whose access token a request has. Empty for other requests.
fn user_of(seen: &Seen) -> String {
    seen.header("authorization").strip_prefix("Bearer access-token-of-").unwrap_or_default().to_owned()
}

/// The section of a connector. Each upstream is a path of the service.
fn section(connector: &str, upstreams: &[&str], service: &Upstream) -> String {
    let urls = upstreams.iter().map(|upstream| format!("upstreams.{upstream} = \"{}/{upstream}\"\n", service.url()));
    format!("[connectors.{connector}]\nallow_private_network = true\n{}", urls.collect::<String>())
}

/// The JSON body of a request.
fn body_of(seen: &Seen) -> Value {
    serde_json::from_slice(&seen.body).unwrap_or_default()
}

/// Sends a notification while the service answers another request, and returns the status and the
/// body of the answer. It needs no thread of the stand-ins, because such a one waits for it.
fn notify_now(gateway: &str, url: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    let path = url.strip_prefix(PUBLIC).unwrap_or(url);
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let request = format!("POST {path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len());
    let answered = answer(&mut connection(gateway, request.as_bytes()));
    let (head, body) = answered.split_once("\r\n\r\n").unwrap_or_default();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_default(), body.to_owned())
}

impl Shipped {
    /// Starts gateway and service. `provider` names the connector's provider, whose client is set
    /// up. `config` has further keys of the connector's section, and may begin other sections.
    fn start(connector: &str, provider: &str, upstreams: &[&str], config: &str) -> Self {
        let setup = match provider {
            "" => Setup::new(),
            provider => Setup::new().oauth_client(provider, &Dialect::of(provider)),
        };
        Self::start_as(setup, connector, upstreams, config)
    }

    /// The same, with a setup that has the client.
    fn start_as(setup: Setup, connector: &str, upstreams: &[&str], config: &str) -> Self {
        let service = Upstream::start();
        let setup = setup.shipped(connector).general(&format!("hooks.public_url = \"{PUBLIC}\""));
        let gateway = setup.config(&section(connector, upstreams, &service)).config(config).start();
        Self { gateway, service }
    }

    fn client(&self) -> Client {
        self.gateway.client()
    }

    /// Connects accounts of users, with the scopes that the connector asks for.
    #[track_caller]
    fn connect(&self, connector: &str, users: &[&str]) {
        for user in users {
            self.connect_with(connector, user, &Value::Null);
        }
    }

    /// Connects the account of a user who has granted these scopes.
    #[track_caller]
    fn connect_with(&self, connector: &str, user: &str, scopes: &Value) {
        let mut account = json!({
            "tenant": "default", "connector": connector, "user_identifier": user,
            "credentials": {"access_token": token_of(user)},
        });
        if !scopes.is_null() {
            account["scopes"] = scopes.clone();
        }
        self.import(&account);
    }

    /// Imports an account, which is a new one.
    #[track_caller]
    fn import(&self, account: &Value) {
        let call = self.client().request("POST", "/admin/integrations/import");
        let imported = call.header("content-type", "application/x-ndjson").body(account.to_string()).send();
        assert_eq!(imported.json()["status"], "created", "{}", imported.text());
    }

    /// Sends the body of a trigger: `kind` is `CONNECTOR.TYPE`. Without a user, the connector needs no
    /// account.
    fn make(&self, user: &str, kind: &str, parameters: &Value) -> Answer {
        let (connector, name) = kind.split_once('.').unwrap();
        let call = self.client().request("POST", "/triggers");
        let call = if user.is_empty() { call } else { call.header("x-user-identifier", user) };
        call.json(&json!({"connector": connector, "type": name, "parameters": parameters})).send()
    }

    /// Makes a trigger, which is active at once. Returns its id.
    #[track_caller]
    fn trigger(&self, user: &str, kind: &str, parameters: &Value) -> String {
        let made = self.make(user, kind, parameters);
        assert_eq!((made.status, &made.json()["status"]), (201, &json!("active")), "{}", made.text());
        made.json()["id"].as_str().unwrap().to_owned()
    }

    /// Deletes a trigger. Returns `true` if its subscription has ended, and `null` if nothing had to
    /// end at the service.
    #[track_caller]
    fn delete(&self, id: &str) -> Value {
        self.client().delete(&format!("/triggers/{id}")).ok()["unsubscribed"].clone()
    }

    #[track_caller]
    fn record(&self, id: &str) -> Value {
        self.client().get(&format!("/triggers/{id}")).ok()
    }

    /// The events of a trigger, the oldest first.
    #[track_caller]
    fn events(&self, id: &str) -> Vec<Value> {
        let page = self.client().get(&format!("/triggers/{id}/events?limit=100")).ok();
        page["events"].as_array().unwrap().clone()
    }

    /// The data of all events after the work that is due is done.
    #[track_caller]
    fn data(&self, id: &str) -> Vec<Value> {
        self.settle();
        self.events(id).iter().map(|event| event["data"].clone()).collect()
    }

    /// A member of the data of all events after the work that is due is done.
    #[track_caller]
    fn told(&self, id: &str, member: &str) -> Vec<String> {
        let told = self.data(id);
        told.iter().map(|data| data.pointer(member).and_then(Value::as_str).unwrap_or_default().to_owned()).collect()
    }

    /// The types of all events after the work that is due is done.
    #[track_caller]
    fn kinds(&self, id: &str) -> Vec<String> {
        self.settle();
        self.events(id).iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until no work on subscriptions is due or in progress.
    #[track_caller]
    fn settle(&self) {
        let is_busy = "UPDATE subscriptions SET rung = rung
             WHERE leased_until IS NOT NULL OR due_at <= unixepoch('subsec') * 1000";
        wait_for("all work to be done", || (self.gateway.home().sqlite(is_busy) == 0).then_some(()));
    }

    /// Lets work on all subscriptions be due, and waits until it is done.
    #[track_caller]
    fn work(&self, change: &str) {
        self.settle();
        assert!(self.gateway.home().sqlite(&format!("UPDATE subscriptions SET due_at = 0{change}")) > 0);
        self.settle();
    }

    /// Lets so many minutes pass for reads, and waits until the work is done that is due then.
    #[track_caller]
    fn pass(&self, minutes: u64) {
        self.work(&format!(", read_at = read_at - {}", minutes * 60_000));
    }

    /// Requests a read of a trigger. Callers may do so ten seconds after the last read, so the last
    /// read becomes an earlier one.
    fn request_read(&self, id: &str) -> Answer {
        self.gateway.home().sqlite("UPDATE subscriptions SET last_read_at = last_read_at - 20000, tried_at = NULL");
        self.client().post(&format!("/triggers/{id}/read"), json!({}))
    }

    /// Reads a trigger, and waits until that is done.
    #[track_caller]
    fn read(&self, id: &str) {
        self.settle();
        let answer = self.request_read(id);
        assert_eq!(answer.status, 202, "{}", answer.text());
        self.settle();
    }

    /// Checks that the events of a trigger that is only read begin with its first read, and that each
    /// comes once. `happens` lets something with this id happen at the service.
    #[track_caller]
    fn check_reads(&self, id: &str, member: &str, happens: impl Fn(&str)) {
        assert_eq!(self.told(id, member), [""; 0], "the first read has no events");
        happens("new-1");
        happens("new-2");
        self.read(id);
        assert_eq!(self.told(id, member), ["new-1", "new-2"]);
        self.read(id);
        assert_eq!(self.told(id, member), ["new-1", "new-2"], "a second read of the same");
        happens("new-3");
        self.read(id);
        assert_eq!(self.told(id, member), ["new-1", "new-2", "new-3"]);
        assert_eq!(self.record(id)["status"], "active");
    }

    /// The requests to a path of the service, in their order.
    fn requests(&self, method: &str, path: &str) -> Vec<Seen> {
        self.service.seen().into_iter().filter(|seen| seen.method == method && seen.path == path).collect()
    }

    /// A request to an address that the service was told.
    fn notify(&self, url: &str) -> Call {
        self.gateway.anonymous().request("POST", url.strip_prefix(PUBLIC).unwrap())
    }

    /// Makes an inbox of an application. Returns its id and its URL.
    #[track_caller]
    fn inbox(&self, connector: &str, name: &str, secret: Option<&str>) -> (String, String) {
        let made = self.client().post("/admin/inboxes", json!({"connector": connector, "inbox": name}));
        assert_eq!(made.status, 201, "{}", made.text());
        let text = |name: &str| made.json()[name].as_str().unwrap().to_owned();
        if let Some(secret) = secret {
            let path = format!("/admin/inboxes/{}/secrets", text("id"));
            assert_eq!(self.client().post(&path, json!({"secret": secret})).status, 201);
        }
        (text("id"), text("url"))
    }
}
