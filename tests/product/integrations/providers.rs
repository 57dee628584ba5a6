//! The authorization URLs of the shipped connectors. They are the provider's own unless the
//! operator configures others.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use support::{Dialect, Setup};
use url::Url;

use super::{callback_url, init};

/// A connector, and its provider's URLs and parameters from the provider's documentation.
struct Row {
    connector: &'static str,
    provider: &'static str,
    authorization_url: &'static str,
    token_url: &'static str,
    scope_parameter: &'static str,
    scope_separator: &'static str,
    scopes: &'static [&'static str],
    pkce: bool,
    parameters: &'static [(&'static str, &'static str)],
}

const GOOGLE: Row = Row {
    connector: "workspace_identity",
    provider: "google",
    authorization_url: "https://accounts.google.com/o/oauth2/v2/auth",
    token_url: "https://oauth2.googleapis.com/token",
    scope_parameter: "scope",
    scope_separator: " ",
    scopes: &[
        "openid",
        "https://www.googleapis.com/auth/userinfo.email",
        "https://www.googleapis.com/auth/userinfo.profile",
    ],
    pkce: true,
    // Without these parameters Google issues no refresh token.
    parameters: &[("access_type", "offline"), ("prompt", "consent")],
};

const ROWS: [Row; 5] = [
    GOOGLE,
    Row {
        connector: "workspace_calendar",
        scopes: &[
            "openid",
            "https://www.googleapis.com/auth/userinfo.email",
            "https://www.googleapis.com/auth/userinfo.profile",
            "https://www.googleapis.com/auth/calendar.calendars.readonly",
            "https://www.googleapis.com/auth/calendar.calendarlist.readonly",
            "https://www.googleapis.com/auth/calendar.freebusy",
            "https://www.googleapis.com/auth/calendar.events",
        ],
        ..GOOGLE
    },
    Row {
        connector: "team_chat",
        provider: "slack",
        authorization_url: "https://slack.com/oauth/v2/authorize",
        token_url: "https://slack.com/api/oauth.v2.access",
        // These are the scopes of the user's token, not of the bot's.
        scope_parameter: "user_scope",
        scope_separator: ",",
        scopes: &[
            "channels:read",
            "groups:read",
            "im:read",
            "mpim:read",
            "channels:history",
            "groups:history",
            "im:history",
            "mpim:history",
            "channels:write",
            "groups:write",
            "chat:write",
            "users:read",
            "users:read.email",
        ],
        pkce: false,
        parameters: &[],
    },
    Row {
        connector: "code_hosting",
        provider: "github",
        authorization_url: "https://github.com/login/oauth/authorize",
        token_url: "https://github.com/login/oauth/access_token",
        scope_parameter: "scope",
        scope_separator: " ",
        scopes: &["repo", "read:user"],
        pkce: true,
        parameters: &[],
    },
    Row {
        connector: "office_calendar",
        provider: "microsoft",
        authorization_url: "https://login.microsoftonline.com/common/oauth2/v2.0/authorize",
        token_url: "https://login.microsoftonline.com/common/oauth2/v2.0/token",
        scope_parameter: "scope",
        scope_separator: " ",
        // Without the scope `offline_access` Microsoft issues no refresh token.
        scopes: &["offline_access", "User.Read", "Calendars.ReadWrite"],
        pkce: true,
        parameters: &[("response_mode", "query")],
    },
];

/// Takes a parameter whose value differs in every request.
#[track_caller]
fn take(parameters: &mut BTreeMap<String, String>, name: &str) -> String {
    parameters.remove(name).unwrap_or_else(|| panic!("{name} in {parameters:?}"))
}

#[test]
fn users_are_sent_to_the_providers_own_url_with_the_parameters_that_it_requires() {
    let clients = [
        ("google", Dialect::google()),
        ("slack", Dialect::slack()),
        ("github", Dialect::github()),
        ("microsoft", Dialect::microsoft()),
    ];
    let mut setup = Setup::new();
    for (name, dialect) in &clients {
        setup = setup.oauth_client(name, dialect);
    }
    let gateway = ROWS.iter().fold(setup, |setup, row| setup.shipped(row.connector)).start();
    let client = gateway.client();
    for row in ROWS {
        let Row { connector, .. } = row;
        let schema = client.get(&format!("/connectors/{connector}/auth-schema")).ok();
        let way = &schema["auth_types"][0];
        assert_eq!((&way["auth_type"], &schema["required"]), (&json!("oauth2"), &json!(true)), "{connector}");
        assert_eq!(way["authorization_url"], row.authorization_url, "{connector}");
        assert_eq!(way["token_url"], row.token_url, "{connector}");
        assert_eq!(way["scopes"], json!(row.scopes), "{connector}");
        assert_eq!(way["pkce"], if row.pkce { json!("S256") } else { Value::Null }, "{connector}");

        let begun = client.post(&format!("/connectors/{connector}/integrations"), init()).ok();
        let url = Url::parse(begun["authorization_url"].as_str().unwrap()).unwrap();
        assert_eq!(url.as_str().split('?').next(), Some(row.authorization_url));
        let mut parameters: BTreeMap<String, String> = url.query_pairs().into_owned().collect();
        assert_eq!(parameters.len(), url.query_pairs().count(), "no parameter occurs twice: {url}");
        assert_eq!(take(&mut parameters, "state"), begun["state"].as_str().unwrap());
        if row.pkce {
            assert_eq!(take(&mut parameters, "code_challenge").len(), 43, "SHA-256 in base64url");
        }
        let client_id = &clients.iter().find(|(name, _)| *name == row.provider).unwrap().1.client_id;
        let (scopes, redirect_uri) = (row.scopes.join(row.scope_separator), callback_url(&gateway, connector));
        let standard = [
            ("response_type", "code"),
            ("client_id", client_id),
            ("redirect_uri", &redirect_uri),
            (row.scope_parameter, &scopes),
        ];
        let method = row.pkce.then_some(("code_challenge_method", "S256"));
        let expected = standard.into_iter().chain(method).chain(row.parameters.iter().copied());
        let expected: BTreeMap<_, _> = expected.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        assert_eq!(parameters, expected, "{connector}");
    }
}
