//! A visit whose requests go to two gateways in turn.

use serde_json::json;
use support::{Person, Setup, Store};

use super::{Browser, KEY_OF_USER, World, connectors, link, texts, world};
use crate::integrations::client;

#[test]
fn a_visit_may_go_to_another_gateway_with_each_request() {
    let store = Store::postgres();
    let World { gateway: one, provider, application, _service: service } = &world(&store);
    let other = connectors(Setup::new().on(&store), provider, &service.url()).start();
    provider.register(&format!("{}/connectors/mail/success-authorize-callback", other.address()));
    let body = json!({"connectors": ["mail", "keyed"], "callback_url": "http://localhost:9/done"});
    let (id, at_one) = link(application, body);
    let at_other = at_one.replace(&one.address(), &other.address());

    let mut ann = Browser::default();
    assert_eq!(ann.get(&at_one).status, 200);
    ann.post(&at_other, &[]);
    assert_eq!(Browser::default().post(&at_one, &[]).status, 403, "the link belongs to the first browser");
    let to_provider = ann.post(&at_other, &[("connector", "mail")]);
    let back = Person::named("ada").consents(to_provider.header("location"));
    // The way back goes to the gateway that did not begin.
    let to_page = ann.get(&back.replace(&other.address(), &one.address()));
    assert_eq!(to_page.status, 303, "{}", to_page.text());
    assert!(texts(&ann.get(&at_other)).contains("Connected as ada@example.com"));
    assert_eq!(ann.post(&at_one, &[("connector", "keyed"), ("api_key", KEY_OF_USER)]).status, 303);

    let application = client(&other, "acme", Some("ann"), "integrate,operate,proxy");
    assert_eq!(application.get(&format!("/connect-links/{id}")).ok()["state"], "done");
    assert_eq!(ann.post(&at_other, &[("finish", "true")]).status, 303);
    assert_eq!(ann.get(&at_one).status, 410);

    // The accounts are good at both, also for requests around the operations.
    application.call("mail/forward", json!({"path": "/me"})).ok();
    let at_one = application.at(&one.address());
    support::wait_for("the key to be known", || (at_one.get("/connectors").status == 200).then_some(()));
    for client in [&application, &at_one] {
        assert_eq!(client.get("/proxy/mail/api/me").status, 200);
    }
}
