//! Every key is listed, and no secret is shown.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;

use super::*;
use crate::{read, source};

/// Every key, with a secret where one can be.
const TEXT: &str = r#"
        public_url = "https://gateway.example/base"
        database_url = "postgres://gateway:hidden@db.example/gateway"
        drain_s = 5
        [oauth_clients.acme]
        client_id = "id"
        client_secret = "hidden"
        app_token = "hidden"
        [jwt_issuers.acme]
        issuer = "https://id.example"
        audience = "gateway"
        jwks_url = "https://id.example/keys?key=hidden"
        [console.oidc]
        issuer = "https://id.example"
        client_id = "console"
        client_secret = "hidden"
        claim = "groups"
        value = "operators"
        [trust.publishers.acme]
        key = "RWQWtoTgWPERH+jDmReQBvZveyUVnkDgIv8mhh+95ttNUzCFm156NyDN"
        [connect.tenants.acme]
        name = "Acme"
        [callbacks]
        events_url = "https://events.example/in?key=hidden"
        [telemetry.headers]
        authorization = "hidden"
        [connectors.mail]
        upstreams.api = "https://api.example/v1"
        link_hosts.api = ["files.example"]
        oauth.token_url = "https://id.example/token?key=hidden"
        hooks.jwks_url = "https://id.example/keys?key=hidden"
        oauth.authorization_parameters.audience = "mail"
        settings.organization = "hidden"
        [connectors.mail.pacing]
    "#;

fn named(setting: &EffectiveSetting) -> String {
    match setting.section.as_str() {
        "" => setting.key.clone(),
        section => format!("{section}.{}", setting.key),
    }
}

#[test]
fn every_key_is_listed_and_no_secret_is_shown() {
    let source = source::Source::new(Path::new("gateway.toml"), TEXT, &BTreeMap::new()).unwrap();
    let (config, problems, known) = read::read_known(source);
    assert_eq!(problems, []);
    let settings = effective(&config);
    assert!(!format!("{settings:?}").contains("hidden"), "{settings:#?}");
    let listed: BTreeSet<String> = settings.iter().map(named).collect();
    // A section is the beginning of other keys. The file with a secret is read at the start.
    let is_key = |key: &&String| {
        !known.iter().any(|other| other.starts_with(&format!("{key}.")))
            && !key.ends_with(".client_secret_file")
            && !key.ends_with(".private_key_file")
            && !key.ends_with(".app_token_file")
    };
    let read: BTreeSet<String> = known.iter().filter(is_key).cloned().collect();
    let unread: Vec<_> = listed.difference(&read).collect();
    assert_eq!(unread, ["GATEWAY_BOOTSTRAP_KEY"]);
    assert_eq!(read.difference(&listed).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_setting_that_is_not_the_default_is_marked() {
    let config = Config::of_text(TEXT).unwrap();
    let settings = effective(&config);
    let of = |name: &str| settings.iter().find(|setting| named(setting) == name).unwrap();
    assert_eq!((&of("drain_s").value, of("drain_s").changed), (&json!(5), true));
    assert_eq!((&of("listen").value, of("listen").changed), (&json!("127.0.0.1:8080"), false));
    assert_eq!((of("database_url").secret_is_set, of("database_url").changed), (Some(true), true));
    assert_eq!(of("callbacks.events_url").value, json!("https://events.example/in?…"));
    assert!(of("connectors.mail.settings.organization").changed);
    assert!(!of("connectors.mail.limits.timeout_s").changed);
    assert!(effective(&Config::default()).iter().all(|setting| !setting.changed));
}
