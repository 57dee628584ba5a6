//! The values of the file, of variables and of the files that they name.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use secrecy::ExposeSecret;
use tempfile::TempDir;

use super::{EXAMPLE, load};
use crate::{Config, Connector, Limits, Pacing, Triggers, read, source};
use auth::TenantOf;
use contract::ClientAuthentication;

#[test]
fn the_documented_defaults_are_those_of_the_code() {
    let mut documented = load(EXAMPLE, &[]).unwrap();
    assert_eq!(documented.connectors.remove("example"), Some(Connector::default()));
    assert!(documented.connectors.is_empty() && documented.oauth_clients.is_empty());
    assert!(documented.jwt_issuers.is_empty());
    documented.public_url_is_set = false;
    assert_eq!(format!("{documented:?}"), format!("{:?}", Config::default()));
}

#[test]
fn the_documented_pacing_is_that_of_the_code() {
    let (_, pacing) = EXAMPLE.split_once("# [connectors.example.pacing]").unwrap();
    let config = load(&format!("[connectors.example.pacing]{}", pacing.replace("\n# ", "\n")), &[]).unwrap();
    assert_eq!(config.connector("example").pacing, Some(Pacing::default()));
}

#[test]
fn every_key_is_documented() {
    let source = source::Source::new(Path::new("example"), EXAMPLE, &BTreeMap::new()).unwrap();
    let (_, _, known) = read::read_known(source);
    assert!(known.contains(&"connectors.example.limits.download_mb".to_owned()));
    for key in known {
        let name = key.rsplit('.').next().unwrap();
        let is_documented = EXAMPLE
            .lines()
            .map(|line| line.trim_start_matches("# "))
            .any(|line| line.starts_with(&format!("{name} = ")) || line == format!("[{key}]"));
        assert!(
            is_documented
                || [
                    "connect.tenants",
                    "connectors",
                    "console",
                    "jwt_issuers",
                    "oauth_clients",
                    "trust",
                    "trust.publishers"
                ]
                .contains(&key.as_str()),
            "{key}"
        );
    }
}

#[test]
fn the_values_of_a_file_are_read() {
    let config = load(
        r#"
        listen = "0.0.0.0:9000"
        allowed_callback_origins = ["https://app.example.com"]
        drain_s = 5
        log = "warn,registry=debug"
        [oauth_clients.acme]
        client_id = "id"
        client_secret = "s3cret"
        [connectors.calendar]
        upstreams.api = "http://127.0.0.1:9000/calendar/v3"
        link_hosts.api = ["127.0.0.1:9001", "*.acme.com"]
        oauth.token_url = "http://127.0.0.1:9000/token"
        oauth.scopes = ["a", "b"]
        oauth.client_authentication = "basic"
        oauth.authorization_parameters = { audience = "calendar", prompt = "" }
        allow_private_network = true
        settings = { default_organization = "acme", nested = { list = [1, 2.5, true] } }
        limits = { memory_mb = 64 }
        pacing = { interval_ms = 3000 }
        "#,
        &[],
    )
    .unwrap();
    assert_eq!(config.public_url.as_str(), "http://127.0.0.1:9000/");
    assert_eq!(config.drain, Duration::from_secs(5));
    assert_eq!(config.allowed_callback_origins[0].ascii_serialization(), "https://app.example.com");
    let connector = config.connector("calendar");
    assert_eq!(connector.upstreams["api"].as_str(), "http://127.0.0.1:9000/calendar/v3");
    assert_eq!(connector.oauth.token_url.as_ref().unwrap().path(), "/token");
    assert_eq!(connector.oauth.scopes.as_deref(), Some(&["a".to_owned(), "b".to_owned()][..]));
    assert_eq!(connector.oauth.client_authentication, Some(ClientAuthentication::Basic));
    assert_eq!(connector.oauth.authorization_parameters["audience"], "calendar");
    assert_eq!(connector.oauth.authorization_parameters["prompt"], "");
    assert!(connector.allow_private_network);
    assert_eq!(connector.settings["default_organization"].value, "acme");
    assert_eq!(connector.settings["nested"].value.to_string(), r#"{"list":[1,2.5,true]}"#);
    assert_eq!(connector.link_hosts["api"], ["127.0.0.1:9001", "*.acme.com"]);
    assert_eq!(connector.limits, Limits { memory_mb: 64, ..Limits::default() });
    assert_eq!(connector.pacing, Some(Pacing { interval_ms: 3000, ..Pacing::default() }));
    assert_eq!(config.largest_memory_mb(), 64);
    assert_eq!(config.connector("other"), &Connector::default());
}

#[test]
fn the_memory_of_an_instance_follows_the_size_of_responses() {
    for (text, expected) in [
        ("", 32),
        ("response_mb = 8", 32),
        ("response_mb = 33", 66),
        ("response_mb = 64", 128),
        ("response_mb = 4096", 4096),
        ("response_mb = 64\nmemory_mb = 40", 40),
        ("memory_mb = 16", 16),
    ] {
        let config = load(&format!("[connectors.demo.limits]\n{text}"), &[]).unwrap();
        assert_eq!(config.connector("demo").limits.instance_mb(), expected, "{text}");
        assert_eq!(config.largest_memory_mb(), expected.max(32), "{text}");
    }
}

#[test]
fn variables_replace_values_of_the_file_and_are_merged_into_its_sections() {
    let text = "listen = \"127.0.0.1:1\"\n[connectors.calendar]\nlimits = { cpu_ms = 7, memory_mb = 8 }";
    let variables = [
        ("GATEWAY__LISTEN", "127.0.0.1:2"),
        ("GATEWAY__CONNECTORS__CALENDAR__UPSTREAMS__API", "http://127.0.0.1:9/v3"),
        ("GATEWAY__CONNECTORS__CALENDAR__LIMITS__MEMORY_MB", "16"),
        ("GATEWAY__CONNECTORS__CALENDAR__SETTINGS", "{ a = [1] }"),
        ("GATEWAY__ALLOWED_CALLBACK_ORIGINS", "[\"http://a.example\"]"),
        ("PATH", "/bin"),
    ];
    let config = load(text, &variables).unwrap();
    assert_eq!(config.listen.port(), 2);
    let connector = config.connector("calendar");
    assert_eq!(connector.upstreams["api"].as_str(), "http://127.0.0.1:9/v3");
    assert_eq!((connector.limits.cpu_ms, connector.limits.memory_mb), (7, 16));
    assert_eq!(connector.settings["a"].value.to_string(), "[1]");
    assert_eq!(config.allowed_callback_origins.len(), 1);
}

#[test]
fn a_secret_in_a_variable_stays_text_even_if_it_looks_like_a_number() {
    let variables =
        [("GATEWAY__OAUTH_CLIENTS__ACME__CLIENT_ID", "007"), ("GATEWAY__OAUTH_CLIENTS__ACME__CLIENT_SECRET", "1e5")];
    let config = load("", &variables).unwrap();
    let client = config.oauth_client("calendar", "acme").unwrap();
    assert_eq!(client.client_id, "007");
    assert_eq!(client.client_secret.as_ref().unwrap().expose_secret(), "1e5");
}

#[test]
fn the_token_of_an_application_needs_no_registration_of_an_oauth_client() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("token");
    fs::write(&path, "xapp-1\n").unwrap();
    for text in ["app_token = \"xapp-1\"".to_owned(), format!("app_token_file = {path:?}")] {
        let config = load(&format!("[oauth_clients.acme]\n{text}"), &[]).unwrap();
        assert_eq!(config.app_token("chat", "acme").unwrap().expose_secret(), "xapp-1");
        assert!(config.oauth_client("chat", "acme").is_none() && config.oauth_app("chat", "acme").is_none());
        assert!(config.app_token("chat", "other").is_none());
        assert!(!format!("{config:?}").contains("xapp-1"));
    }
    let own = "[oauth_clients]\nacme.app_token = \"provider\"\nchat.app_token = \"own\"";
    assert_eq!(load(own, &[]).unwrap().app_token("chat", "acme").unwrap().expose_secret(), "own");
}

#[test]
fn services_reach_the_gateway_at_its_public_url_unless_they_have_another_one() {
    let config = load("public_url = \"http://gateway.example\"", &[]).unwrap();
    assert_eq!(config.hooks_url().as_str(), "http://gateway.example/");
    assert!(!config.can_be_notified());
    let text = "public_url = \"http://gateway.example\"\nhooks.public_url = \"https://hooks.example/in\"";
    let config = load(text, &[]).unwrap();
    assert_eq!(config.hooks_url().as_str(), "https://hooks.example/in");
    assert!(config.can_be_notified());
    assert_eq!(config.public_url.as_str(), "http://gateway.example/");
}

#[test]
fn events_are_kept_for_parts_of_an_hour_too() {
    let text = "[triggers]\nkeep_h = 0.5\ndedupe_h = 1\nreaders = 2\nmax_pending_per_tenant = 3\nmax_per_tenant = 4\n\
                [connectors.mail]\nhooks.jwks_url = \"https://id.example/keys\"";
    let config = load(text, &[]).unwrap();
    let (keep, dedupe) = (Duration::from_secs(1800), Duration::from_secs(3600));
    let expected = Triggers { keep, dedupe, readers: 2, max_pending_per_tenant: 3, max_per_tenant: 4 };
    assert_eq!(config.triggers, expected);
    assert_eq!(config.connector("mail").hooks.jwks_url.as_ref().unwrap().as_str(), "https://id.example/keys");
    let error = load("triggers.keep_h = 0", &[]).unwrap_err();
    assert!(error.contains("`triggers.keep_h` must be a number of hours above 0"), "{error}");
}

#[test]
fn a_connectors_registration_is_preferred_to_its_providers() {
    let text = "[oauth_clients]\nacme.client_id = \"provider\"\nmail.client_id = \"own\"";
    let config = load(text, &[]).unwrap();
    assert_eq!(config.oauth_client("mail", "acme").unwrap().client_id, "own");
    assert_eq!(config.oauth_client("chat", "acme").unwrap().client_id, "provider");
    assert!(config.oauth_client("people", "other").is_none());
}

#[test]
fn an_issuer_needs_three_values_and_has_defaults_for_the_rest() {
    let text = "[jwt_issuers.acme]\nissuer = \"https://id.acme.example\"\naudience = \"gateway\"\njwks_url = \"https://id.acme.example/keys\"";
    let issuer = load(text, &[]).unwrap().jwt_issuers.remove("acme").unwrap();
    assert_eq!((issuer.issuer.as_str(), issuer.audience.as_str()), ("https://id.acme.example", "gateway"));
    assert_eq!(issuer.tenant, TenantOf::Issuer("default".to_owned()));
    assert_eq!(issuer.scopes.to_string(), "operate integrate");
    assert!(!issuer.allow_private_network);
    let more = format!("{text}\ntenant_claim = \"org\"\nscopes = [\"operate\"]");
    let issuer = load(&more, &[]).unwrap().jwt_issuers.remove("acme").unwrap();
    assert_eq!((issuer.tenant, issuer.scopes.to_string()), (TenantOf::Claim("org".to_owned()), "operate".to_owned()));
}

#[test]
fn publishers_are_read_with_their_keys() {
    let key = "RWQWtoTgWPERH+jDmReQBvZveyUVnkDgIv8mhh+95ttNUzCFm156NyDN";
    let text = format!("[trust.publishers.acme]\nkey = \"{key}\"\nconnectors = [\"words\", \"acme_*\"]");
    let publisher = load(&text, &[]).unwrap().trust.publishers.remove("acme").unwrap();
    assert_eq!(publisher.key_id, "1F11F158E084B616");
    for (identifier, may) in
        [("words", true), ("acme_mail", true), ("acme", false), ("word", false), ("words_2", false)]
    {
        assert_eq!(publisher.may_publish(identifier), may, "{identifier}");
    }
    let by_variable = load("", &[("GATEWAY__TRUST__PUBLISHERS__ACME__KEY", key)]).unwrap();
    assert!(by_variable.trust.publishers["acme"].may_publish("anything"));
}

#[test]
fn a_secret_in_a_variable_loses_what_shells_and_editors_add() {
    let text = "[oauth_clients.acme]\nclient_id = \"id\"";
    for value in ["s3cret\n", "\u{feff}s3cret\r\n", " s3cret\t"] {
        let config = load(text, &[("GATEWAY__OAUTH_CLIENTS__ACME__CLIENT_SECRET", value)]).unwrap();
        assert_eq!(
            config.oauth_client("acme", "acme").unwrap().client_secret.as_ref().unwrap().expose_secret(),
            "s3cret"
        );
    }
    let config = load("", &[("GATEWAY_BOOTSTRAP_KEY", "key\n"), ("GATEWAY__DATABASE_URL", "postgres://a@b/c\n")]);
    let config = config.unwrap();
    assert_eq!(config.bootstrap_key.as_ref().unwrap().expose_secret(), "key");
    assert_eq!(config.database_url.as_ref().unwrap().expose_secret(), "postgres://a@b/c");
    assert!(load("", &[("GATEWAY_BOOTSTRAP_KEY", "\n")]).unwrap().bootstrap_key.is_none());
}

#[test]
fn a_byte_order_mark_before_the_file_is_no_part_of_it() {
    assert_eq!(load("\u{feff}max_body_mb = 3\n", &[]).unwrap().max_body_mb, 3);
}

#[test]
fn a_secret_is_read_from_a_file_without_the_line_break_at_its_end() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("secret");
    fs::write(&path, "s3cret\n").unwrap();
    let text = format!("[oauth_clients.acme]\nclient_id = \"id\"\nclient_secret_file = {:?}", path);
    let config = load(&text, &[]).unwrap();
    assert_eq!(config.oauth_client("acme", "acme").unwrap().client_secret.as_ref().unwrap().expose_secret(), "s3cret");
    fs::remove_file(&path).unwrap();
    let error = load(&text, &[]).unwrap_err();
    assert!(error.contains("gateway.toml:3: `oauth_clients.acme.client_secret_file` names"), "{error}");
}

#[test]
fn the_public_url_follows_the_bound_address_unless_it_is_set() {
    let bound: SocketAddr = "127.0.0.1:4711".parse().unwrap();
    let mut config = load("listen = \"127.0.0.1:0\"", &[]).unwrap();
    config.listening_on(bound);
    assert_eq!(config.public_url.as_str(), "http://127.0.0.1:4711/");
    let mut config = load("public_url = \"https://gateway.example/api\"", &[]).unwrap();
    config.listening_on(bound);
    assert_eq!(config.public_url.as_str(), "https://gateway.example/api");
    config = load("listen = \"[::]:80\"", &[]).unwrap();
    assert_eq!(config.public_url.as_str(), "http://[::1]/");
}

#[test]
fn a_variable_that_is_more_than_one_toml_value_is_text() {
    for text in ["5 # five", "true\nlisten = 3", "\"a\"#b"] {
        let config = load("", &[("GATEWAY__CONNECTORS__DEMO__SETTINGS__X", text)]).unwrap();
        assert_eq!(config.connector("demo").settings["x"].value, text);
    }
}

proptest! {
    #[test]
    fn no_text_makes_reading_panic(text in "[a-z_.=\\[\\]{}\"' \n0-9-]{0,80}", value in any::<String>()) {
        let _ = load(&text, &[("GATEWAY__CONNECTORS__DEMO__SETTINGS__X", &value)]);
    }

    #[test]
    fn a_setting_in_a_variable_may_be_any_text(text in "[a-zA-Z][ -~]{0,40}[a-zA-Z]") {
        prop_assume!(!["true", "false", "inf", "nan"].contains(&text.as_str()));
        let config = load("", &[("GATEWAY__CONNECTORS__DEMO__SETTINGS__X", &text)]).unwrap();
        prop_assert_eq!(&config.connector("demo").settings["x"].value, &serde_json::Value::from(text));
    }
}

#[test]
fn the_headers_for_the_collector_are_read_and_are_secret() {
    let text =
        "[telemetry]\nendpoint = \"http://127.0.0.1:4318/otlp\"\nsampling_ratio = 0\nheaders.x-key = \"hunter2\"";
    let telemetry = load(text, &[]).unwrap().telemetry;
    assert_eq!(telemetry.headers["x-key"], "hunter2");
    assert!(!format!("{telemetry:?}").contains("hunter2"));
    let variable = ("GATEWAY__TELEMETRY__HEADERS__AUTHORIZATION", "Bearer 1");
    assert_eq!(load(text, &[variable]).unwrap().telemetry.headers["authorization"], "Bearer 1");
    for (wrong, expected) in [
        ("headers.\"a b\" = \"x\"", "is not the name of a header"),
        ("headers.a = \"hunter2\\nx\"", "`telemetry.headers.a` has a character that headers cannot have"),
        ("sampling_ratio = 1.5", "must be a number from 0 to 1"),
        ("service_name = \" \"", "must be a name"),
        ("endpoint = \"127.0.0.1:4318\"", "`telemetry.endpoint` must be an absolute http or https URL"),
    ] {
        let error = load(&format!("[telemetry]\n{wrong}"), &[]).unwrap_err();
        assert!(error.contains(expected) && !error.contains("hunter2"), "{error}");
    }
}
