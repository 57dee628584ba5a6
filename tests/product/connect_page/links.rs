//! The routes of applications: making, reading and ending links. The list of operators.

use serde_json::json;
use support::oauth::browser::open;
use support::{Client, Store};

use super::{Browser, link, world};
use crate::integrations::{client, on_each_store};
use crate::operator::{pages, printed, run};

on_each_store!(
    an_application_makes_reads_and_ends_a_link,
    an_operator_lists_the_links_of_a_user_with_their_state_and_expiry,
);

fn an_application_makes_reads_and_ends_a_link(store: &Store) {
    let world = world(store);
    let application = &world.application;
    let body = json!({"connectors": ["mail", "free"], "expires_in_s": 600});
    let made = application.request("POST", "/connect-links").header("idempotency-key", "one").json(&body).send();
    assert_eq!((made.status, made.header("cache-control")), (201, "no-store"));
    let again = application.request("POST", "/connect-links").header("idempotency-key", "one").json(&body).send();
    assert_eq!((again.json(), again.header("idempotent-replayed")), (made.json(), "true"));
    // The URL is a secret, and the link ends with the key that made it.
    let other_key = client(&world.gateway, "acme", Some("ann"), "integrate");
    let refused = other_key.request("POST", "/connect-links").header("idempotency-key", "one").json(&body).send();
    refused.problem(422, "idempotency-key-reused");
    let (id, url) = (made.json()["id"].as_str().unwrap().to_owned(), made.json()["url"].as_str().unwrap().to_owned());
    assert!(url.starts_with(&format!("{}/connect/", world.gateway.address())), "{url}");

    let path = format!("/connect-links/{id}");
    let record = application.get(&path).ok();
    let connectors = json!([
        {"connector": "mail", "connected": false, "user_identifier": null},
        {"connector": "free", "connected": true, "user_identifier": null},
    ]);
    assert_eq!((&record["state"], &record["connectors"]), (&json!("open"), &connectors));
    assert!(record["expires_at"].is_string() && !record.to_string().contains(url.rsplit('/').next().unwrap()));
    // Another tenant and another user have no such link.
    for (tenant, subject) in [("acme", Some("bob")), ("acme", None), ("other", Some("ann"))] {
        let other = client(&world.gateway, tenant, subject, "integrate");
        other.get(&path).problem(404, "unknown-link");
        other.delete(&path).problem(404, "unknown-link");
    }
    client(&world.gateway, "acme", Some("ann"), "operate").get(&path).problem(403, "missing-scope");

    assert_eq!(application.delete(&path).ok(), json!({"deleted": true}));
    assert_eq!(application.delete(&path).ok(), json!({"deleted": false}));
    assert_eq!(application.get(&path).ok()["state"], "expired");
    let ended = open(&url);
    assert_eq!(ended.status, 410, "{}", ended.text());
    assert_eq!(Browser::default().post(&url, &[("connector", "mail")]).status, 410);
    let entries = world.gateway.client().get(&format!("/admin/audit?target={id}")).ok()["entries"].clone();
    let actions: Vec<_> = entries.as_array().unwrap().iter().map(|entry| &entry["action"]).collect();
    assert_eq!(actions, ["connect_link.deleted", "connect_link.created"]);
    assert!(!store.dump().contains(url.rsplit('/').next().unwrap()), "the secret part is not stored");
}

fn an_operator_lists_the_links_of_a_user_with_their_state_and_expiry(store: &Store) {
    let world = world(store);
    let application = &world.application;
    let make = |application: &Client, expires_in_s: u64| {
        link(application, json!({"connectors": ["mail", "free"], "expires_in_s": expires_in_s}))
    };
    let (first, (second, url), (third, _)) =
        (make(application, 600).0, make(application, 1200), make(application, 1800));
    let (tenants, _) = make(&client(&world.gateway, "acme", None, "integrate"), 900);
    Browser::default().connects(&url, "mail", "ada");
    application.delete(&format!("/connect-links/{third}")).ok();

    let operator = world.gateway.client();
    let of_ann = operator.get("/admin/connect-links?tenant=acme&subject=ann").ok();
    let links = of_ann["connect_links"].as_array().unwrap();
    let states: Vec<_> =
        links.iter().map(|link| (link["id"].as_str().unwrap(), link["state"].as_str().unwrap())).collect();
    assert_eq!(states, [(&*third, "expired"), (&*second, "done"), (&*first, "open")]);
    let shown = application.get(&format!("/connect-links/{second}")).ok();
    for (member, value) in shown.as_object().unwrap() {
        assert_eq!(&links[1][member], value, "the operator sees what the application sees");
    }
    assert_eq!((&links[1]["tenant"], &links[1]["subject"]), (&json!("acme"), &json!("ann")));
    let maker = links[1]["key_id"].as_str().unwrap();
    assert_eq!(operator.get(&format!("/admin/keys/{maker}")).ok()["subject"], "ann");
    assert!(!of_ann.to_string().contains(url.rsplit('/').next().unwrap()), "the secret part is shown only once");

    let listed = pages(&operator, "/admin/connect-links", "connect_links");
    let ids: Vec<_> = listed.iter().map(|link| &link["id"]).collect();
    assert_eq!(ids, [&*third, &*second, &*tenants, &*first]);
    let of_tenant = operator.get("/admin/connect-links?subject=").ok();
    assert_eq!(
        (&of_tenant["connect_links"][0]["id"], &of_tenant["connect_links"][0]["subject"]),
        (&json!(tenants), &json!(null))
    );
    assert_eq!(operator.get("/admin/connect-links?tenant=other").ok()["connect_links"], json!([]));
    assert_eq!(operator.get("/admin/connect-links?state=open").violations()[0].0, "/state");
    application.get("/admin/connect-links").problem(403, "missing-scope");

    let arguments = ["integrations", "links", "--subject", "ann"];
    assert_eq!(printed(&world.gateway, &arguments)["connect_links"], of_ann["connect_links"]);
    let table = run(&world.gateway, &arguments).stdout;
    assert!(table.contains(&first) && table.contains("mail free"), "{table}");
}

#[test]
fn a_link_that_cannot_work_is_refused() {
    let world = world(&Store::Sqlite);
    let refused = |body: serde_json::Value| {
        let answer = world.application.post("/connect-links", body);
        answer.problem(422, "validation");
        answer.violations().into_iter().map(|(pointer, _)| pointer).collect::<Vec<_>>().join(" ")
    };
    for (body, pointers) in [
        (json!({}), "/connectors"),
        (json!({"connectors": []}), "/connectors"),
        (json!({"connectors": ["mail", "mial"]}), "/connectors/1"),
        (json!({"connectors": ["mail", "mail"]}), "/connectors"),
        (json!({"connectors": ["free"]}), "/connectors"),
        (json!({"connectors": ["mail"], "expires_in_s": 59}), "/expires_in_s"),
        (json!({"connectors": ["mail"], "expires_in_s": 86401}), "/expires_in_s"),
        (json!({"connectors": ["mail"], "callback_url": "https://evil.example/"}), "/callback_url"),
        (json!({"connectors": ["mail"], "callback_url": "javascript:alert(1)"}), "/callback_url"),
        (json!({"connectors": ["mail"], "user_identifier": " a"}), "/user_identifier"),
        (json!({"connectors": ["mail"], "labels": {"a b": "c"}}), "/labels"),
        (json!({"connectors": ["mail"], "other": 1}), "/other"),
    ] {
        assert_eq!(refused(body.clone()), pointers, "{body}");
    }
    assert_eq!(open(&format!("{}/connect/none", world.gateway.address())).status, 404);
}

#[test]
fn a_link_expires() {
    let store = Store::postgres();
    let world = world(&store);
    let (id, url) = link(&world.application, json!({"connectors": ["mail"], "expires_in_s": 60}));
    store.database().sql(&format!("UPDATE connect_links SET expires_at = 1 WHERE id = '{id}'"));
    let page = open(&url);
    assert_eq!(page.status, 410);
    assert!(page.text().contains("This link has ended"), "{}", page.text());
    assert_eq!(world.application.get(&format!("/connect-links/{id}")).ok()["state"], "expired");
}
