//! The page, as a browser without JavaScript gets it.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use support::catalogue::CONFIGURED;
use support::oauth::browser::open;
use support::{Client, Endpoint, Person, Setup, Store, module};

use super::{Browser, KEY_OF_USER, World, connectors, link, texts, world};
use crate::integrations::{client, on_each_store};

on_each_store!(a_user_connects_several_accounts_in_one_visit, a_link_belongs_to_the_browser_that_uses_it_first,);

const DONE: &str = "http://localhost:9/done?from=test";

fn a_user_connects_several_accounts_in_one_visit(store: &Store) {
    let World { gateway, provider, application, .. } = &world(store);
    let body = json!({
        "connectors": ["mail", "files", "keyed", "free"], "callback_url": DONE, "labels": {"team": "blue"},
    });
    let (id, url) = link(application, body);
    let mut ann = Browser::default();
    let page = ann.get(&url);
    assert_eq!((page.status, page.header("cache-control")), (200, "no-store"));
    assert_eq!((page.header("referrer-policy"), page.header("x-frame-options")), ("same-origin", "DENY"));
    let policy = page.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; style-src 'self';") && !policy.contains("unsafe"), "{policy}");
    assert!(policy.contains("form-action 'self' ") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!([&provider.url(), "http://localhost:9"].iter().all(|origin| policy.contains(*origin)), "{policy}");
    assert!(!page.text().contains("<script"), "{}", page.text());
    assert!(texts(&page).contains("Ready. It needs no account."), "{}", texts(&page));

    let page = ann.connects(&url, "mail", "ada");
    assert!(texts(&page).contains("Connected as ada@example.com"), "{}", texts(&page));

    // The user declines, and may try again.
    let to_provider = ann.post(&url, &[("connector", "files")]);
    let to_page = ann.get(&Person::named("ada").declines(to_provider.header("location")));
    assert_eq!(to_page.header("location"), format!("{url}?connector=files&error=access_denied"));
    let page = ann.get(to_page.header("location"));
    assert!(texts(&page).contains("You did not give access. Nothing was connected."), "{}", texts(&page));
    let page = ann.connects(&url, "files", "ada");
    assert!(!texts(&page).contains("You did not give access"), "{}", texts(&page));

    let refused = ann.post(&url, &[("connector", "keyed"), ("api_key", "another-key-of-the-user")]);
    let page = ann.get(refused.header("location"));
    assert!(texts(&page).contains("The service does not accept this."), "{}", texts(&page));
    assert!(!page.text().contains("another-key"), "a key is never shown");
    let state = |id: &str| application.get(&format!("/connect-links/{id}")).ok();
    assert_eq!(state(&id)["state"], "open");
    let accepted = ann.post(&url, &[("connector", "keyed"), ("api_key", KEY_OF_USER)]);
    assert_eq!((accepted.status, accepted.header("location")), (303, &*url));

    let record = state(&id);
    assert_eq!(record["state"], "done");
    let connected = record["connectors"].as_array().unwrap();
    assert!(connected.iter().all(|connector| connector["connected"] == true), "{record}");
    assert_eq!(connected[0]["user_identifier"], "ada@example.com");
    let finished = ann.post(&url, &[("finish", "true")]);
    assert_eq!(finished.status, 303);
    assert_eq!(finished.header("location"), format!("{DONE}&status=success&connect_link={id}"));
    assert_eq!(ann.get(&url).status, 410);

    let accounts = application.get("/integrations?label.team=blue").ok()["integrations"].clone();
    assert_eq!(accounts.as_array().unwrap().len(), 3, "{accounts}");
    application.call("mail/forward", json!({"path": "/me"})).ok();
    let entries = gateway.client().get("/admin/audit?action=integration.connected").ok()["entries"].clone();
    assert!(entries.as_array().unwrap().iter().all(|entry| entry["actor"] == "user:acme/ann"), "{entries}");
    let token = url.rsplit('/').next().unwrap();
    assert!(!gateway.lines().iter().any(|line| line.contains(token) || line.contains(KEY_OF_USER)));
}

fn a_link_belongs_to_the_browser_that_uses_it_first(store: &Store) {
    let World { provider, application, .. } = &world(store);
    let (id, url) = link(application, json!({"connectors": ["mail"]}));
    // A mail scanner opens the link.
    for method in ["HEAD", "GET", "GET"] {
        assert_eq!(Browser::default().send(method, &url, &[]).status, 200);
    }
    let (mut ann, mut eve) = (Browser::default(), Browser::default());
    let cookie = ann.post(&url, &[]).header("set-cookie").to_owned();
    assert!(cookie.contains("; HttpOnly; SameSite=Lax; ") && !cookie.contains("Secure"), "{cookie}");
    for refused in [eve.get(&url), eve.post(&url, &[("connector", "mail")]), eve.post(&url, &[("finish", "true")])] {
        assert_eq!(refused.status, 403);
        assert!(refused.text().contains("This link is open in another browser"), "{}", refused.text());
    }

    // Ann forwards the address of the provider to eve, whose account is not connected.
    let to_provider = ann.post(&url, &[("connector", "mail")]);
    let back = Person::named("eve").consents(to_provider.header("location"));
    assert_eq!(eve.get(&back).status, 403);
    assert_eq!(provider.count(Endpoint::Exchange), 0, "the code is not used");
    assert_eq!(application.get("/integrations").ok()["integrations"], json!([]));

    let page = ann.connects(&url, "mail", "ada");
    assert!(texts(&page).contains("Connected as ada@example.com"));
    let finished = ann.post(&url, &[("finish", "true")]);
    assert!(finished.status == 200 && finished.text().contains("You can close this page."), "{}", finished.text());
    assert_eq!(application.get(&format!("/connect-links/{id}")).ok()["state"], "done");
}

/// A browser drops the answer to the first form, and the cookie in it.
#[test]
fn a_button_that_is_pressed_twice_leaves_the_link_to_its_browser() {
    let World { application, .. } = &world(&Store::Sqlite);
    let (_, url) = link(application, json!({"connectors": ["mail"]}));
    let (mut ann, mut eve) = (Browser::default(), Browser::default());
    for browser in [&mut eve, &mut ann] {
        assert_eq!(browser.get(&url).status, 200);
    }
    let mut pressed_first = Browser { cookies: ann.cookies.clone() };
    assert_eq!(pressed_first.post(&url, &[("connector", "mail")]).status, 303);
    let page = ann.connects(&url, "mail", "ada");
    assert!(texts(&page).contains("Connected as ada@example.com"), "{}", texts(&page));
    // Another browser has opened the page before, which gives it nothing.
    assert_eq!((eve.get(&url).status, eve.post(&url, &[]).status), (403, 403));
}

#[test]
fn a_user_may_finish_without_the_others() {
    let World { application, .. } = &world(&Store::Sqlite);
    let (id, url) = link(application, json!({"connectors": ["mail", "files"], "callback_url": DONE}));
    let mut ann = Browser::default();
    ann.connects(&url, "mail", "ada");
    let finished = ann.post(&url, &[("finish", "true")]);
    assert_eq!(finished.header("location"), format!("{DONE}&status=incomplete&connect_link={id}"));
    let record = application.get(&format!("/connect-links/{id}")).ok();
    assert_eq!((&record["state"], &record["connectors"][1]["connected"]), (&json!("done"), &json!(false)));
}

#[test]
fn a_form_of_another_site_is_refused_and_an_unknown_connector_does_nothing() {
    let World { gateway, application, .. } = &world(&Store::Sqlite);
    let (_, url) = link(application, json!({"connectors": ["mail"]}));
    let path = url.strip_prefix(&gateway.address()).unwrap();
    let send = |name: &str, value: &str| {
        let call = gateway.anonymous().without_redirects().request("POST", path).header(name, value);
        call.header("content-type", "application/x-www-form-urlencoded").body("connector=mail").send().status
    };
    assert_eq!(send("origin", "https://evil.example"), 403);
    assert_eq!(send("sec-fetch-site", "cross-site"), 403);
    let mut ann = Browser::default();
    for fields in [&[("connector", "files")][..], &[("connector", "none")], &[("other", "x")], &[]] {
        let answer = ann.post(&url, fields);
        assert_eq!((answer.status, answer.header("location")), (303, &*url), "{fields:?}");
    }
    assert_eq!(ann.post(&url, &[("api_key", &"x".repeat(2 << 20))]).status, 413);
}

#[test]
fn no_text_of_an_account_a_provider_or_an_address_becomes_html() {
    let World { application, .. } = &world(&Store::Sqlite);
    let odd = "<img src=x onerror=alert(1)>\"'";
    let (_, url) = link(application, json!({"connectors": ["keyed", "mail"], "user_identifier": odd}));
    let mut ann = Browser::default();
    let answer = ann.post(&url, &[("connector", "keyed"), ("api_key", KEY_OF_USER)]);
    assert_eq!(answer.header("location"), url);
    let page = ann.get(&format!("{url}?connector=mail&error=<script>alert(1)</script>"));
    assert!(!page.text().contains("<img src=x") && !page.text().contains("<script"), "{}", page.text());
    assert!(page.text().contains("&#60;img src=x onerror=alert(1)&#62;"), "{}", page.text());
    assert!(texts(&page).contains("This could not be connected. Try again."), "{}", texts(&page));
}

#[test]
fn an_account_that_was_connected_before_does_not_count() {
    let World { application, .. } = &world(&Store::Sqlite);
    crate::integrations::connect(application, "mail", "ada");
    let (id, url) = link(application, json!({"connectors": ["mail"]}));
    assert!(!texts(&open(&url)).contains("Connected as"));
    assert_eq!(application.get(&format!("/connect-links/{id}")).ok()["connectors"][0]["connected"], false);
    let page = Browser::default().connects(&url, "mail", "ada");
    assert!(texts(&page).contains("Connected as ada@example.com"), "{}", texts(&page));
    assert_eq!(application.get("/integrations").ok()["integrations"].as_array().unwrap().len(), 1);
}

#[test]
fn a_connector_that_is_not_set_up_is_not_offered() {
    let provider = support::OAuthProvider::start(support::Dialect::strict());
    let free = json!({"identifier": "free", "auth": "none"});
    let gateway = Setup::new().account_without_client("mail", &provider).module("free", module::account(&free)).start();
    let (_, url) = link(&gateway.client(), json!({"connectors": ["mail"]}));
    let mut ann = Browser::default();
    let page = ann.get(&url);
    assert!(texts(&page).contains("Nothing can be connected here yet."), "{}", texts(&page));
    assert!(!page.text().contains("<button"), "there is no button: {}", page.text());
    let answer = ann.post(&url, &[("connector", "mail")]);
    let page = ann.get(answer.header("location"));
    assert!(texts(&page).contains("Nothing can be connected here yet."), "{}", texts(&page));
    // The application learns that the account is missing, also if the others are there.
    let body = json!({"connectors": ["mail", "free"], "callback_url": "http://localhost:9/done"});
    let (_, url) = link(&gateway.client(), body);
    let page = ann.get(&url);
    assert!(texts(&page).contains("Ready.") && !page.text().contains("value=\"mail\""), "{}", page.text());
    let end = ann.post(&url, &[("finish", "true")]);
    assert!(end.header("location").contains("status=incomplete"), "{}", end.header("location"));
}

#[test]
fn every_connector_that_comes_with_the_gateway_has_an_icon_and_a_title_of_its_own() {
    let providers = ["github", "google", "hr", "microsoft", "slack", "x"];
    let client = |name| format!("[oauth_clients.{name}]\nclient_id = \"id\"\nclient_secret = \"secret-of-a-client\"\n");
    let clients: String = providers.into_iter().map(client).collect();
    let gateway = Setup::new().every_shipped().config(CONFIGURED).config(&clients).start();
    let mut titles = BTreeSet::new();
    for names in module::shipped_names().chunks(10) {
        let (_, url) = link(&gateway.client(), json!({"connectors": names}));
        let page = Browser::default().get(&url);
        let rows: Vec<_> = page.text().split("<li aria-labelledby=").skip(1).map(str::to_owned).collect();
        assert_eq!(rows.len(), names.len(), "{}", texts(&page));
        for row in rows {
            assert!(row.contains("<img src=\"data:image/svg+xml;base64,"), "{row}");
            let heading = row.split("<h2").nth(1).unwrap().split('<').next().unwrap();
            let (_, title) = heading.split_once('>').unwrap();
            assert!(!title.contains('('), "{title}");
            assert!(titles.insert(title.to_owned()), "two connectors have the title {title}");
        }
    }
}

#[test]
fn the_page_names_the_application_in_the_language_of_the_browser() {
    let provider = support::OAuthProvider::start(support::Dialect::strict());
    let folder = tempfile::tempdir().unwrap();
    let logo = folder.path().join("logo.svg");
    std::fs::write(&logo, "<svg xmlns=\"http://www.w3.org/2000/svg\"/>").unwrap();
    let config = format!("[connect]\nname = \"Planner & Co\"\nlogo = {:?}", logo.display().to_string());
    let gateway = Setup::new().account("mail", &provider).config(&config).start();
    let (_, url) = link(&gateway.client(), json!({"connectors": ["mail"]}));
    let in_language = |accepted: &str| {
        let page = Client::new("").at(&url).request("GET", "").header("accept-language", accepted).send();
        assert!(page.text().contains("src=\"data:image/svg+xml;base64,PHN2ZyB"), "{}", page.text());
        let marked = page.text().contains("<ul class=\"operations\" lang=\"en\">");
        assert!(marked, "manifests are in English: {}", page.text());
        (page.text().contains("lang=\"de\""), texts(&page))
    };
    let (is_german, english) = in_language("en-GB");
    assert!(english.contains("Planner &#38; Co asks for access to these accounts."), "{english}");
    assert!(!is_german && !english.contains("Finish"), "nothing was done that could end: {english}");
    let (is_german, german) = in_language("de-AT,de;q=0.9,en;q=0.8");
    assert!(is_german && german.contains("Planner &#38; Co bittet um Zugriff auf diese Konten."), "{german}");
    assert!(german.contains("verbinden"), "{german}");
    let unknown =
        Client::new(&gateway.address()).request("GET", "/connect/none").header("accept-language", "de").send();
    assert!(texts(&unknown).contains("Dieser Link ist nicht bekannt"), "{}", texts(&unknown));
}

#[test]
fn the_page_shows_the_application_of_the_tenant() {
    let World { gateway, application, .. } = &world(&Store::Sqlite);
    let page = |application: &Client| {
        let (_, url) = link(application, json!({"connectors": ["mail"]}));
        let page = Browser::default().get(&url);
        (texts(&page), page.text().contains("class=\"logo\""))
    };
    let (of_acme, has_logo) = page(application);
    assert!(of_acme.contains("Acme Desk asks for access to these accounts.") && has_logo, "{of_acme}");
    let (of_others, has_logo) = page(&client(gateway, "globex", Some("eve"), "integrate"));
    assert!(of_others.contains("Planner asks for access to these accounts.") && !has_logo, "{of_others}");
}

#[test]
fn a_link_of_one_gateway_works_at_another() {
    let store = Store::postgres();
    let World { gateway, provider, application, _service } = &world(&store);
    let key = format!("master_key_file = {:?}", gateway.home().data().join("master.key"));
    let setup = Setup::new().on(&store).general(&key);
    let other = connectors(setup, provider, &_service.url()).start();
    let (id, url) = link(application, json!({"connectors": ["mail"]}));
    let at_other = url.replace(&gateway.address(), &other.address());
    let mut ann = Browser::default();
    assert_eq!(ann.get(&at_other).status, 200);
    let to_provider = ann.post(&at_other, &[("connector", "mail")]);
    provider.register(&format!("{}/connectors/mail/success-authorize-callback", other.address()));
    assert_eq!(to_provider.status, 303, "{}", to_provider.text());
    // The provider sends the browser to either gateway.
    let back = Person::named("ada").consents(to_provider.header("location"));
    let to_page = ann.get(&back.replace(&other.address(), &gateway.address()));
    assert_eq!(to_page.header("location"), url);
    assert_eq!(ann.get(&url).status, 200);
    let record: Value = application.get(&format!("/connect-links/{id}")).ok();
    assert_eq!(record["connectors"][0]["user_identifier"], "ada@example.com");
}
