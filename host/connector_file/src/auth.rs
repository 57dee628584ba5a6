//! How users authenticate: `auth = "none"`, `[auth.oauth2]` or `[auth.api_key]`, and the further
//! ways in `[auth_additions]`.

use contract::{
    ApiKey, AppInstallation, AuthAdditions, AuthScheme, ClientAuthentication, DeviceCode, Identity, KeyHeader,
    KeyPlacement, Oauth2, Revocation, ServiceAccount,
};

use crate::node::{Mistakes, Table, TableEntry};
use crate::places::Places;

const FORM: &str = "`auth = \"none\"`, or the section `[auth.oauth2]` or `[auth.api_key]`";

/// The keys of `[auth.oauth2]` that rules of the manifest name, each after its name there.
const OAUTH2: [(&str, &str); 11] = [
    ("auth", "identity"),
    ("auth.form-field", "form_field"),
    ("oauth2.provider", "provider"),
    ("oauth2.authorization-url", "authorization_url"),
    ("oauth2.token-url", "token_url"),
    ("oauth2.refresh-url", "refresh_url"),
    ("oauth2.revocation", "revocation"),
    ("oauth2.scope-separator", "scope_separator"),
    ("oauth2.scope-parameter", "scope_parameter"),
    ("oauth2.token-pointer", "token_pointer"),
    ("scope", "scopes"),
];

/// The same for `[auth.api_key]`.
const API_KEY: [(&str, &str); 5] = [
    ("auth", "check"),
    ("auth.form-field", "form_field"),
    ("api-key, header", "header"),
    ("api-key, header prefix", "prefix"),
    ("api-key, query", "query"),
];

/// The same for `[auth_additions]`.
const ADDITIONS: [(&str, &str); 8] = [
    ("auth-additions, `client-credentials`", "client_credentials"),
    ("auth-additions, `service-account`", "service_account"),
    ("auth-additions, audience of `service-account`", "service_account"),
    ("auth-additions, `app-installation`", "app_installation"),
    ("auth-additions, path", "app_installation"),
    ("auth-additions, `device-code`", "device_code"),
    ("auth-additions, device-authorization-url", "device_code"),
    ("auth-additions, `ended-codes`", "ended_codes"),
];

pub(crate) fn scheme(entry: TableEntry<'_>, places: &mut Places, mistakes: &mut Mistakes) -> Option<AuthScheme> {
    if entry.node.value.as_str() == Some("none") {
        return Some(AuthScheme::None);
    }
    let mut schemes = entry.node.table(FORM, mistakes)?;
    let oauth2 = schemes.take("oauth2");
    let api_key = schemes.take("api_key");
    schemes.end("scheme", mistakes);
    match (oauth2, api_key) {
        (Some(scheme), None) => {
            let table = scheme.node.table(FORM, mistakes)?;
            for (part, key) in OAUTH2 {
                places.note(part, &table, key);
            }
            self::oauth2(table, entry.at, mistakes).map(AuthScheme::Oauth2)
        }
        (None, Some(scheme)) => {
            let table = scheme.node.table(FORM, mistakes)?;
            for (part, key) in API_KEY {
                places.note(part, &table, key);
            }
            self::api_key(table, entry.at, mistakes).map(AuthScheme::ApiKey)
        }
        _ => {
            mistakes.at(entry.at, format!("expected {FORM}"));
            None
        }
    }
}

/// A client of a provider that follows the standard, except for what is written.
fn oauth2(mut table: Table<'_>, at: usize, mistakes: &mut Mistakes) -> Option<Oauth2> {
    let text = |table: &mut Table<'_>, name, mistakes: &mut Mistakes| table.text(name, mistakes).unwrap_or_default();
    let pairs = |table: &mut Table<'_>, name, mistakes: &mut Mistakes| {
        let entries = table.inner(name, &format!("texts: `{name} = {{ name = \"value\" }}`"), mistakes);
        let pair = |entry: TableEntry<'_>| {
            Some((entry.name.to_owned(), entry.node.text("a text: `name = \"value\"`", mistakes)?.to_owned()))
        };
        entries.into_iter().filter_map(pair).collect()
    };
    let provider = text(&mut table, "provider", mistakes);
    if provider.is_empty() {
        mistakes.at(at, "say in `provider` of `[auth.oauth2]` the name of the provider");
    }
    let client = Oauth2 {
        provider,
        authorization_url: text(&mut table, "authorization_url", mistakes),
        token_url: text(&mut table, "token_url", mistakes),
        refresh_url: table.text("refresh_url", mistakes),
        revocation: table.take("revocation").and_then(|entry| revocation(entry, mistakes)),
        scopes: table.texts("scopes", mistakes).unwrap_or_default(),
        scope_separator: table.text("scope_separator", mistakes).unwrap_or_else(|| " ".to_owned()),
        scope_parameter: table.text("scope_parameter", mistakes).unwrap_or_else(|| "scope".to_owned()),
        authorization_parameters: pairs(&mut table, "authorization_parameters", mistakes),
        token_parameters: pairs(&mut table, "token_parameters", mistakes),
        pkce: table.choice("pkce", mistakes).unwrap_or(true),
        client_authentication: match table.take("client_authentication").map(|entry| entry.node) {
            None => ClientAuthentication::Body,
            Some(node) => match node.value.as_str() {
                Some("body") => ClientAuthentication::Body,
                Some("basic") => ClientAuthentication::Basic,
                _ => node.expected("`body` or `basic`", mistakes)?,
            },
        },
        token_pointer: text(&mut table, "token_pointer", mistakes),
        default_lifetime_seconds: table.number("default_lifetime_seconds", mistakes),
        form_field: table.text("form_field", mistakes),
        revokes_replaced_grants: table.choice("revokes_replaced_grants", mistakes).unwrap_or(true),
        identity: table.take("identity").and_then(|entry| identity(entry, mistakes)),
    };
    table.end("key", mistakes);
    Some(client)
}

/// `{ form = "https://…" }`, `{ bearer = … }` or `{ delete = … }`
fn revocation(entry: TableEntry<'_>, mistakes: &mut Mistakes) -> Option<Revocation> {
    const FORM: &str = "one of `form`, `bearer` and `delete`: `revocation = { form = \"https://…\" }`";
    let mut table = entry.node.table(FORM, mistakes)?;
    let found = [
        table.text("form", mistakes).map(Revocation::Form),
        table.text("bearer", mistakes).map(Revocation::Bearer),
        table.text("delete", mistakes).map(Revocation::Delete),
    ];
    table.end("form of a revocation", mistakes);
    let mut found = found.into_iter().flatten();
    match (found.next(), found.next()) {
        (Some(revocation), None) => Some(revocation),
        _ => entry.node.expected(FORM, mistakes),
    }
}

fn identity(entry: TableEntry<'_>, mistakes: &mut Mistakes) -> Option<Identity> {
    const FORM: &str = "an operation and pointers: `identity = { operation = \"me\", id = \"/id\" }`";
    let mut table = entry.node.table(FORM, mistakes)?;
    let (operation, id) = (table.text("operation", mistakes), table.text("id", mistakes));
    let (email, name) = (table.text("email", mistakes), table.text("name", mistakes));
    table.end("key", mistakes);
    match (operation, id) {
        (Some(operation), Some(id)) => Some(Identity { operation, id, email, name }),
        _ => entry.node.expected(FORM, mistakes),
    }
}

fn api_key(mut table: Table<'_>, at: usize, mistakes: &mut Mistakes) -> Option<ApiKey> {
    let header = table.text("header", mistakes);
    let prefix = table.text("prefix", mistakes).unwrap_or_default();
    let query = table.text("query", mistakes);
    let basic = table.flag("basic", mistakes);
    let form_field = table.text("form_field", mistakes);
    let check = table.text("check", mistakes);
    table.end("key", mistakes);
    let placement = match (header, query, basic) {
        (Some(name), None, false) => KeyPlacement::Header(KeyHeader { name, prefix }),
        (None, Some(name), false) => KeyPlacement::Query(name),
        (None, None, true) => KeyPlacement::Basic,
        _ => {
            mistakes.at(at, "`[auth.api_key]` has one of `header`, `query` and `basic`");
            return None;
        }
    };
    Some(ApiKey { placement, form_field, check })
}

/// The further ways in which accounts get access tokens.
pub(crate) fn additions(entry: TableEntry<'_>, places: &mut Places, mistakes: &mut Mistakes) -> Option<AuthAdditions> {
    let mut table = entry.node.table("the section `[auth_additions]`", mistakes)?;
    for (part, key) in ADDITIONS {
        places.note(part, &table, key);
    }
    let client_credentials = table.flag("client_credentials", mistakes);
    let service_account = table.take("service_account").and_then(|entry| service_account(entry, mistakes));
    let app_installation = table.take("app_installation").and_then(|entry| {
        const FORM: &str = "`app_installation = { upstream = \"api\", path = \"/…/{installation_id}/…\" }`";
        let mut table = entry.node.table(FORM, mistakes)?;
        let (upstream, path) = (table.text("upstream", mistakes), table.text("path", mistakes));
        table.end("key", mistakes);
        match (upstream, path) {
            (Some(upstream), Some(path)) => Some(AppInstallation { upstream, path }),
            _ => entry.node.expected(FORM, mistakes),
        }
    });
    let device_code = table.take("device_code").and_then(|entry| {
        const FORM: &str = "`device_code = { device_authorization_url = \"https://…\" }`";
        let mut table = entry.node.table(FORM, mistakes)?;
        let url = table.text("device_authorization_url", mistakes);
        table.end("key", mistakes);
        match url {
            Some(device_authorization_url) => Some(DeviceCode { device_authorization_url }),
            None => entry.node.expected(FORM, mistakes),
        }
    });
    let ended_codes = table.texts("ended_codes", mistakes).unwrap_or_default();
    table.end("way", mistakes);
    Some(AuthAdditions {
        client_credentials,
        service_account,
        app_installation,
        device_code,
        signature: None,
        ended_codes,
    })
}

fn service_account(entry: TableEntry<'_>, mistakes: &mut Mistakes) -> Option<ServiceAccount> {
    const FORM: &str = "`service_account = { subject = \"required\" }` or `{ subject = \"optional\" }`";
    let mut table = entry.node.table(FORM, mistakes)?;
    let audience = table.text("audience", mistakes);
    let subject = table.text("subject", mistakes);
    table.end("key", mistakes);
    let needs_subject = match subject.as_deref() {
        Some("required") => true,
        Some("optional") => false,
        _ => return entry.node.expected(FORM, mistakes),
    };
    Some(ServiceAccount { audience, needs_subject })
}
