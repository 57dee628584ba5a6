//! The address for services alone (`hooks.listen`).

use super::*;

#[test]
fn at_the_address_of_services_nothing_else_is_served() {
    let gateway = gateway("hooks.listen = \"127.0.0.1:0\"\nadmin_listen = \"127.0.0.1:0\"");
    let serving = gateway.wait_for_log("the addresses", |line| line["message"] == "serving");
    let address = |name: &str| format!("http://{}", serving[name].as_str().unwrap());
    let admin = gateway.client().at(&address("admin_listen"));
    let made = admin.post("/admin/inboxes", json!({"connector": "notified", "inbox": "signed"})).json();
    let (id, url) = (made["id"].as_str().unwrap().to_owned(), made["url"].as_str().unwrap().to_owned());
    assert_eq!(admin.post(&format!("/admin/inboxes/{id}/secrets"), json!({"secret": SECRET})).status, 201);
    let inbox = Inbox { id, path: url.strip_prefix(PUBLIC).unwrap().to_owned(), url };

    let services = gateway.anonymous().at(&address("hooks_listen"));
    assert_eq!(inbox.push(&services, &message("1"), 0).send().status, 200);
    let unknown = seen(&services.request("POST", "/hooks/AAAAAAAAAAAAAAAAAAAAAA").body("{}").send());
    let known = services.with_key(gateway.client().key());
    for path in ["/", "/healthz", "/readyz", "/connectors", "/metrics", "/openapi.json", "/admin/inboxes", "/hooks"] {
        assert_eq!(seen(&known.get(path)), unknown, "{path}");
    }
    assert_eq!(inbox.push(&gateway.anonymous(), &message("2"), 0).send().status, 200, "callers' address has them too");
    assert_eq!(admin.request("POST", &inbox.path).body("{}").send().status, 404);
}
