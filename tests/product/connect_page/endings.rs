//! A link, an authorization or a device code that has ended while the user was at the provider or
//! the service was asked. It connects no one.

use serde_json::{Value, json};
use support::{
    Client, Dialect, Endpoint, Gate, OAuthProvider, Person, Reply, Setup, Store, Upstream, module, wait_for,
};

use super::{Browser, KEY_OF_USER, World, link, texts, world};
use crate::integrations::{begin, client};

/// Revokes the keys of the tenant `acme`.
fn revoke_keys(operator: &Client) {
    let keys = operator.get("/admin/keys").ok()["keys"].clone();
    let of_acme = keys.as_array().unwrap().iter().filter(|key| key["tenant"] == "acme");
    let ids: Vec<_> = of_acme.map(|key| key["id"].as_str().unwrap().to_owned()).collect();
    assert!(!ids.is_empty(), "{keys}");
    for id in ids {
        operator.delete(&format!("/admin/keys/{id}")).ok();
    }
}

fn accounts(operator: &Client) -> Value {
    operator.get("/admin/integrations").ok()["integrations"].clone()
}

#[test]
fn a_user_who_comes_back_to_a_link_that_has_ended_connects_nothing() {
    type End = fn(&World, &str, &str, &mut Browser);
    let ends: [(&str, End); 3] = [
        ("deleted", |world, id, _, _| drop(world.application.delete(&format!("/connect-links/{id}")).ok())),
        ("finished", |_, _, url, browser| assert_eq!(browser.post(url, &[("finish", "true")]).status, 200)),
        ("its key is revoked", |world, _, _, _| revoke_keys(&world.gateway.client())),
    ];
    for (name, end) in ends {
        let world = world(&Store::Sqlite);
        let (id, url) = link(&world.application, json!({"connectors": ["mail", "files"]}));
        let mut ann = Browser::default();
        let to_provider = ann.post(&url, &[("connector", "mail")]);
        let back = Person::named("ada").consents(to_provider.header("location"));
        end(&world, &id, &url, &mut ann);
        let page = ann.get(&back);
        assert_eq!(page.status, 400, "{name}: {}", texts(&page));
        assert!(texts(&page).contains("Nothing was connected."), "{name}: {}", texts(&page));
        assert_eq!(ann.get(&url).status, 410, "{name}");
        assert_eq!(accounts(&world.gateway.client()), json!([]), "{name}");
        assert_eq!(world.provider.count(Endpoint::Exchange), 0, "{name}: the code is not used");
    }
}

/// The browser has dropped the cookie of the link, and is no other browser because of that.
#[test]
fn a_user_who_comes_back_after_the_time_of_a_link_is_told_that_it_is_over() {
    let world = world(&Store::Sqlite);
    let (_, url) = link(&world.application, json!({"connectors": ["mail"]}));
    let to_provider = Browser::default().post(&url, &[("connector", "mail")]);
    let back = Person::named("ada").consents(to_provider.header("location"));
    assert_eq!(world.gateway.home().sqlite("UPDATE connect_links SET expires_at = 1"), 1);
    let page = Browser::default().get(&back);
    assert_eq!((page.status, accounts(&world.gateway.client())), (410, json!([])), "{}", texts(&page));
}

#[test]
fn a_link_that_ends_while_the_code_is_exchanged_connects_nothing() {
    let world = world(&Store::Sqlite);
    let World { gateway, provider, application, .. } = &world;
    let (id, url) = link(application, json!({"connectors": ["mail"]}));
    let mut ann = Browser::default();
    let to_provider = ann.post(&url, &[("connector", "mail")]);
    let back = Person::named("ada").consents(to_provider.header("location"));
    let gate = Gate::default();
    provider.hold_tokens(&gate);
    let coming_back = std::thread::spawn(move || ann.get(&back).status);
    provider.wait_for(Endpoint::Exchange, 1);
    application.delete(&format!("/connect-links/{id}")).ok();
    gate.open();
    assert_eq!(coming_back.join().unwrap(), 303);
    assert_eq!(accounts(&gateway.client()), json!([]));
    wait_for("the tokens to be revoked", || (provider.live_grants() == 0).then_some(()));
}

#[test]
fn a_link_that_ends_while_a_key_is_tried_connects_nothing() {
    let service = Upstream::start();
    let gate = Gate::default();
    let identity = json!({"id": "42", "email": "ann@keyed.example", "name": "Ann"});
    service.reply("*", Reply::json(identity).behind(&gate));
    let keyed = json!({"identifier": "keyed", "auth": "api_key", "placement": "header", "check": "whoami"});
    let setup = Setup::new().module("keyed", module::account(&keyed)).upstream("keyed", "api", &service.url());
    let gateway = setup.start();
    let application = client(&gateway, "acme", Some("ann"), "integrate");
    let (id, url) = link(&application, json!({"connectors": ["keyed"]}));
    let sending = std::thread::spawn(move || {
        Browser::default().post(&url, &[("connector", "keyed"), ("api_key", KEY_OF_USER)]).status
    });
    wait_for("the key to be tried", || (!service.seen().is_empty()).then_some(()));
    application.delete(&format!("/connect-links/{id}")).ok();
    gate.open();
    assert_eq!(sending.join().unwrap(), 303);
    assert_eq!(accounts(&gateway.client()), json!([]));
}

#[test]
fn an_authorization_ends_with_the_key_that_began_it() {
    let world = world(&Store::Sqlite);
    let World { gateway, provider, application, .. } = &world;
    let back = Person::named("ada").consents(&begin(application, "mail"));
    revoke_keys(&gateway.client());
    let page = Browser::default().get(&back);
    assert_eq!(page.status, 400);
    assert!(texts(&page).contains("This link has expired"), "{}", texts(&page));
    assert_eq!(accounts(&gateway.client()), json!([]));
    assert_eq!(provider.count(Endpoint::Exchange), 0);
}

#[test]
fn a_device_code_ends_with_the_key_that_began_it() {
    let provider = OAuthProvider::start(Dialect::strict());
    let additions = json!({"additions": [{"is": "device_code", "url": ""}]});
    let setup = Setup::new().account_with("mail", &provider, &additions);
    let gateway = setup.config(&format!("oauth.device_authorization_url = \"{}\"", provider.device_url())).start();
    let first = client(&gateway, "acme", Some("ann"), "integrate");
    let begun = first.post("/connectors/mail/integrations", json!({"auth_type": "oauth2_device_code"})).ok();
    revoke_keys(&gateway.client());
    provider.enter_code(begun["user_code"].as_str().unwrap(), &support::oauth::Account::named("ann"));
    let next = client(&gateway, "acme", Some("ann"), "integrate");
    let path = format!("/connectors/mail/authorizations/{}", begun["authorization_id"].as_str().unwrap());
    let ended = wait_for("the end of the code", || {
        Some(next.get(&path).ok()).filter(|progress| progress["status"] != "pending")
    });
    assert_eq!((&ended["status"], &ended["error"]), (&json!("failed"), &json!("withdrawn")), "{ended}");
    assert_eq!(accounts(&gateway.client()), json!([]));
}
