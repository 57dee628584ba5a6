//! Forms for credentials, texts of services, and what the gateway's own address changes.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use support::oauth::Account;
use support::oauth::own_credentials::key_file;
use support::process::Process;
use support::setup::KEY;
use support::{Client, Dialect, OAuthProvider, Reply, Setup, Store, Upstream, module, wait_for};

use super::{Browser, KEY_OF_USER, World, link, texts, world};
use crate::integrations::client;

/// The connector `keyed`, whose users have a user name and a password.
fn setup(service: &Upstream) -> Setup {
    let described = json!({"identifier": "keyed", "auth": "api_key", "placement": "basic", "check": "whoami"});
    Setup::new().module("keyed", module::account(&described)).upstream("keyed", "api", &service.url())
}

/// A service that accepts one user name and password.
fn service() -> Upstream {
    let service = Upstream::start();
    let expected = format!("Basic {}", STANDARD.encode(format!("ann:{KEY_OF_USER}")));
    service.on("*", move |seen| match seen.header("authorization") == expected {
        true => Reply::json(json!({"id": "42", "email": "ann@keyed.example", "name": "Ann"})),
        false => Reply::json(json!({})).status(401),
    });
    service
}

#[test]
fn a_connector_with_user_name_and_password_shows_a_form_of_both() {
    let service = service();
    let gateway = setup(&service).start();
    let application = client(&gateway, "acme", Some("ann"), "integrate,operate");
    let (id, url) = link(&application, json!({"connectors": ["keyed"]}));
    let mut ann = Browser::default();
    let page = ann.get(&url).text();
    let input = |name: &str| {
        let from = page.find(&format!("name=\"{name}\"")).unwrap_or_else(|| panic!("no field `{name}` in {page}"));
        let begin = page[..from].rfind('<').unwrap();
        page[begin..].split_once('>').unwrap().0.to_owned()
    };
    assert!(!input("username").contains("type=\"password\"") && input("username").contains("required"));
    assert!(input("password").contains("type=\"password\""), "{}", input("password"));
    assert!(!page.contains("name=\"api_key\""), "{page}");

    let send = |ann: &mut Browser, password: &str| {
        ann.post(&url, &[("connector", "keyed"), ("username", "ann"), ("password", password)])
    };
    let refused = send(&mut ann, "another-password-of-ann");
    let page = ann.get(refused.header("location"));
    assert!(texts(&page).contains("The service does not accept this."), "{}", texts(&page));
    assert!(!page.text().contains("another-password"), "{}", page.text());
    assert_eq!(send(&mut ann, KEY_OF_USER).header("location"), url);
    let record = application.get(&format!("/connect-links/{id}")).ok();
    assert_eq!(record["connectors"][0]["connected"], true, "{record}");
    application.call("keyed/whoami", json!({})).ok();
    assert!(!gateway.lines().iter().any(|line| line.contains(KEY_OF_USER) || line.contains("another-password")));
}

#[test]
fn each_way_to_connect_an_account_has_a_form() {
    let provider = OAuthProvider::start(Dialect::strict());
    provider.add_client("robot", KEY_OF_USER);
    provider.delegate("ada@example.com");
    let additions = json!([
        {"is": "client_credentials"},
        {"is": "service_account", "subject": "required"},
        {"is": "app_installation", "upstream": "api", "path": "/app/installations/{installation_id}/access_tokens"},
    ]);
    let gateway = Setup::new().account_with("mail", &provider, &json!({"additions": additions})).start();
    let application = client(&gateway, "acme", Some("ann"), "integrate,operate");
    let send = |fields: &[(&str, &str)]| {
        let (_, url) = link(&application, json!({"connectors": ["mail"]}));
        let mut ann = Browser::default();
        let page = ann.get(&url);
        let shown = ["Sign in at the service", "With a service account", "With an installation of the application"];
        assert!(shown[1..].iter().all(|text| texts(&page).contains(text)), "{}", texts(&page));
        assert!(!texts(&page).contains(shown[0]), "the first way is open: {}", texts(&page));
        let sent = ann.post(&url, &[&[("connector", "mail")][..], fields].concat());
        let page = ann.get(sent.header("location"));
        let has_failed = sent.header("location").contains("error=");
        assert_eq!(page.text().contains("<details open>"), has_failed, "the form that was sent stays open");
        assert!(!page.text().contains("PRIVATE KEY") && !page.text().contains(KEY_OF_USER), "{}", page.text());
        texts(&page)
    };
    let way = ("auth_type", "oauth2_client_credentials");
    let page = send(&[way, ("client_id", "robot"), ("client_secret", KEY_OF_USER)]);
    assert!(page.contains("Connected as robot"), "{page}");
    let page = send(&[way, ("client_id", "robot"), ("client_secret", "another-secret")]);
    assert!(page.contains("The service does not accept this."), "{page}");
    let file = key_file(&provider.token_url()).to_string();
    let way = ("auth_type", "oauth2_service_account");
    let page = send(&[way, ("key_file", &file), ("subject", "ada@example.com")]);
    assert!(page.contains("Connected as ada@example.com"), "{page}");
    let page = send(&[way, ("key_file", "no JSON"), ("subject", "ada@example.com")]);
    assert!(page.contains("The service does not accept this."), "{page}");
    let page = send(&[("auth_type", "oauth2_app_installation"), ("installation_id", "../x")]);
    assert!(page.contains("The service does not accept this."), "{page}");
    let page = send(&[("auth_type", "oauth2_app_installation"), ("installation_id", "1")]);
    assert!(page.contains("Tell the people who run the application"), "{page}");
}

#[test]
fn the_page_shows_the_code_of_an_authorization_on_another_device() {
    let provider = OAuthProvider::start(Dialect::strict());
    let additions = json!({"additions": [{"is": "device_code", "url": ""}]});
    let setup = Setup::new().account_with("mail", &provider, &additions);
    let gateway = setup.config(&format!("oauth.device_authorization_url = \"{}\"", provider.device_url())).start();
    let application = client(&gateway, "acme", Some("ann"), "integrate,operate");
    let (id, url) = link(&application, json!({"connectors": ["mail"]}));
    let mut ann = Browser::default();
    let page = ann.get(&url);
    assert!(texts(&page).contains("With a code, on this or another device"), "{}", texts(&page));
    let page = ann.post(&url, &[("connector", "mail"), ("auth_type", "oauth2_device_code")]);
    assert_eq!(page.status, 200);
    let html = page.text();
    let code = html.split("class=\"code\">").nth(1).and_then(|rest| rest.split('<').next()).unwrap();
    let target = format!("{}/activate?user_code={code}", provider.url());
    let link = format!("<a href=\"{target}\" target=\"_blank\" rel=\"noopener noreferrer\">{target}</a>");
    assert!(html.contains(&link), "the text of the link is its target: {html}");
    assert!(html.contains(&format!("href=\"{url}\"")), "the way back: {html}");
    assert!(provider.secrets().iter().all(|secret| !html.contains(secret)), "{html}");
    provider.enter_code(code, &Account::named("ann"));
    wait_for("the account", || texts(&ann.get(&url)).contains("Connected as ann@example.com").then_some(()));
    let shown = application.get(&format!("/connect-links/{id}")).ok();
    assert_eq!(shown["connectors"][0]["user_identifier"], "ann@example.com");
}

#[test]
fn no_text_that_a_provider_says_about_an_account_becomes_html() {
    let World { application, .. } = &world(&Store::Sqlite);
    let (_, url) = link(application, json!({"connectors": ["mail"]}));
    let page = Browser::default().connects(&url, "mail", "<script>alert(1)</script>\"'").text();
    assert!(page.contains("&#60;script&#62;alert(1)&#60;/script&#62;&#34;&#39;@example.com"), "{page}");
    assert!(!page.contains("<script"), "{page}");
}

#[test]
fn the_cookie_is_secure_where_the_gateway_is_reached_by_https() {
    const PUBLIC: &str = "https://gateway.example";
    let service = service();
    let home = setup(&service).general(&format!("public_url = \"{PUBLIC}\"")).prepare();
    let gateway = Process::start(&mut home.command(&["serve"]));
    let listen = wait_for("the gateway to serve", || {
        let lines = gateway.lines();
        let serving = lines.iter().find(|line| line.contains("\"serving\""))?;
        serde_json::from_str::<Value>(serving).ok()?["listen"].as_str().map(str::to_owned)
    });
    let client = Client::new(&format!("http://{listen}")).with_key(KEY);
    wait_for("the connector", || (client.get("/readyz").status == 200).then_some(()));
    let (_, url) = link(&client, json!({"connectors": ["keyed"]}));
    let path = url.strip_prefix(PUBLIC).unwrap();
    let call = client.without_redirects().request("POST", path).header("origin", PUBLIC);
    let answer = call.header("content-type", "application/x-www-form-urlencoded").body("").send();
    let cookie = answer.header("set-cookie");
    assert_eq!(answer.status, 303, "{}", answer.text());
    for attribute in ["; Secure", "; HttpOnly", "; SameSite=Lax"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
}

#[test]
fn a_link_lives_for_a_quarter_of_an_hour_unless_its_maker_says_otherwise() {
    let service = service();
    let gateway = setup(&service).start();
    let lifetime = |body: Value| {
        let before = SystemTime::now();
        let made = gateway.client().post("/connect-links", body).json();
        let expires_at = humantime::parse_rfc3339(made["expires_at"].as_str().unwrap()).unwrap();
        // The time is written in whole milliseconds.
        let most = SystemTime::now().duration_since(before).unwrap() + Duration::from_millis(1);
        (expires_at.duration_since(before).unwrap() + Duration::from_millis(1), most)
    };
    for (body, seconds) in [
        (json!({"connectors": ["keyed"]}), 900),
        (json!({"connectors": ["keyed"], "expires_in_s": 60}), 60),
        (json!({"connectors": ["keyed"], "expires_in_s": 86_400}), 86_400),
    ] {
        let (lives, most) = lifetime(body);
        let expected = Duration::from_secs(seconds);
        assert!(lives >= expected && lives <= expected + most + Duration::from_millis(1), "{lives:?}");
    }
    for wrong in [59, 86_401] {
        let body = json!({"connectors": ["keyed"], "expires_in_s": wrong});
        assert_eq!(gateway.client().post("/connect-links", body).violations()[0].0, "/expires_in_s");
    }
}
