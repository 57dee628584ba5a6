//! The gateway with the connectors of all documents, a stand-in for the service of each, and an
//! account for those whose users have accounts.

use std::collections::HashMap;

use serde_json::{Value, json};
use support::accounts::registered;
use support::description::inlined;
use support::oauth::browser;
use support::{Answer, Client, Dialect, Gateway, OAuthProvider, Person, Reply, Seen, Setup, Upstream};

use super::project::Project;
use crate::lanes::init;

/// The key of the user's account, and their name for HTTP Basic.
pub(super) const KEY: &str = "key-of-the-user";
pub(super) const NAME: &str = "ada";

/// The running parts. They end when this is dropped.
pub(super) struct World {
    services: HashMap<&'static str, Upstream>,
    client: Client,
    /// The description of the API.
    description: Value,
    _gateway: Gateway,
    _provider: OAuthProvider,
}

impl World {
    pub(super) fn start(projects: &[Project]) -> Self {
        let provider = OAuthProvider::start(Dialect::strict());
        let mut setup = Setup::new();
        let mut services = HashMap::new();
        for project in projects {
            let service = Upstream::start();
            service.on("*", |_| Reply::json(json!({"done": true})));
            let identifier = project.identifier;
            setup = setup.module(identifier, project.module.clone());
            setup = match project.auth.contains("OAuth2") {
                true => setup.provider(identifier, &provider, &[]),
                false => setup.config(&format!("[connectors.{identifier}]\nallow_private_network = true")),
            };
            for (name, url) in &project.upstreams {
                setup = setup.config(&format!("upstreams.{name} = \"{}/{url}\"", service.url()));
            }
            services.insert(identifier, service);
        }
        let gateway = setup.start();
        let refused = &gateway.client().get("/connectors").ok()["refused"];
        assert_eq!(refused, &json!([]), "every connector is live");
        let gateway = registered(gateway, &provider);
        let client = gateway.client();
        projects.iter().for_each(|project| connect(&client, project));
        services.values().for_each(|service| drop(service.take_seen()));
        let description = inlined(client.get("/openapi.json").ok());
        Self { services, client, description, _gateway: gateway, _provider: provider }
    }

    /// Calls an operation. Returns the answer and the requests to the service.
    pub(super) fn call(&self, project: &Project, operation: &str, input: &Value) -> (Answer, Vec<Seen>) {
        let answer = self.client.call(&format!("{}/{operation}", project.identifier), input.clone());
        (answer, self.services[project.identifier].take_seen())
    }

    /// The schema of the input of an operation.
    pub(super) fn schema(&self, project: &Project, operation: &str) -> &Value {
        let path = format!("/connectors/{}/{operation}", project.identifier);
        &self.description["paths"][&path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    }
}

/// Connects an account, if users of the connector have accounts.
fn connect(client: &Client, project: &Project) {
    let path = format!("/connectors/{}/integrations", project.identifier);
    let credentials = match project.auth.as_str() {
        auth if auth.contains("OAuth2") => {
            let mut init = init();
            init["user_identifier"] = json!(NAME);
            let begun = client.post(&path, init).ok();
            let end = browser::open(&Person::named(NAME).consents(begun["authorization_url"].as_str().unwrap()));
            assert!(end.header("location").contains("status=success"), "{}", end.header("location"));
            return;
        }
        auth if auth.contains("Basic") => json!({"username": NAME, "password": KEY}),
        auth if auth.contains("ApiKey") => json!({"api_key": KEY}),
        _ => return,
    };
    client.post(&path, json!({"auth_type": "api_key", "credentials": credentials, "user_identifier": NAME})).ok();
}
