//! How users authenticate.

use std::collections::BTreeSet;

use contract_rules::address::secret_url;
use contract_rules::header;
use serde_json::{Map, Value};
use url::Url;

use crate::document::{Document, text};
use crate::operation::Operation;
use crate::server;
use crate::{Auth, LeftOut};

const NONE: &str = "Auth::None";

/// Returns `true` if requests of an operation carry a credential.
pub(crate) fn is_protected(document: &Document, operation: &Value) -> bool {
    requirements(document, operation).iter().any(|requirement| !requirement.is_empty())
}

/// How users authenticate.
pub(crate) struct Chosen {
    /// The statement `auth`.
    pub(crate) statement: String,
    /// The assumption that was made because the document says nothing, or a fact about the provider
    /// that its operator must know.
    pub(crate) assumed: Option<String>,
    /// The place of an API key in requests.
    pub(crate) key: Option<KeyPlace>,
}

/// A query parameter or a header with the credential of users.
pub(crate) struct KeyPlace {
    place: &'static str,
    name: String,
}

impl KeyPlace {
    /// The place of the key of a scheme. `None` if it is the header `Authorization`, which no
    /// parameter of a document describes.
    fn of(scheme: &Value) -> Option<Self> {
        let place = match (text(scheme, "type"), text(scheme, "in")) {
            ("apiKey", "query") => "query",
            ("apiKey", "header") => "header",
            _ => return None,
        };
        Some(Self { place, name: text(scheme, "name").to_owned() })
    }

    /// Returns `true` if a parameter is the key.
    pub(crate) fn is_at(&self, parameter: &Value) -> bool {
        let name = text(parameter, "name");
        let is_same = if self.place == "header" { name.eq_ignore_ascii_case(&self.name) } else { name == self.name };
        is_same && text(parameter, "in") == self.place
    }
}

impl Chosen {
    /// Returns `true` if requests carry a credential.
    pub(crate) fn has_credential(&self) -> bool {
        self.statement != NONE
    }
}

/// The statement `auth`: the scheme that the author chose, or the scheme of the chosen operations
/// that a table can express best.
pub(crate) fn auth(
    document: &Document,
    operations: &[Operation<'_>],
    identifier: &str,
    wanted: Option<Auth>,
    left_out: &mut LeftOut,
) -> Chosen {
    let chosen = |statement| Chosen { statement, assumed: None, key: None };
    if wanted == Some(Auth::None) {
        return chosen(NONE.to_owned());
    }
    let used: Vec<&Map<String, Value>> =
        operations.iter().flat_map(|operation| requirements(document, operation.content)).collect();
    let names: BTreeSet<&String> = used.iter().flat_map(|requirement| requirement.keys()).collect();
    let schemes = document.get("/components/securitySchemes").and_then(Value::as_object).into_iter().flatten();
    let declared = document.get("/components/securitySchemes").and_then(Value::as_object);
    for name in names.iter().filter(|name| declared.is_none_or(|declared| !declared.contains_key(**name))) {
        left_out.add(format!("the security scheme `{name}`: the document does not declare it"));
    }
    let base = server::base(document);
    let mut found: Vec<(u8, Auth, String, String)> = Vec::new();
    for (name, scheme) in schemes.filter(|(name, _)| names.contains(name) || wanted.is_some()) {
        let read =
            document.resolved(scheme).and_then(|(scheme, _)| statement(scheme, name, &used, identifier, base.as_ref()));
        match read {
            Ok((rank, kind, text)) => found.push((rank, kind, name.clone(), text)),
            Err(why) => left_out.add(format!("the security scheme `{name}`: {why}")),
        }
    }
    found.sort_by_key(|(rank, ..)| *rank);
    let best = found.iter().position(|(_, kind, ..)| wanted.is_none_or(|wanted| wanted == *kind));
    for (index, (_, _, name, _)) in found.iter().enumerate() {
        if best.is_some_and(|best| best != index) {
            left_out.add(format!("the security scheme `{name}`: a connector has one scheme"));
        }
    }
    if let Some((_, kind, name, text)) = best.and_then(|index| found.get(index)) {
        if *kind == Auth::Oauth2 && text.contains("scopes: &[]") {
            left_out.add(format!("the security scheme `{name}` has no scopes for these operations: fill in `scopes`"));
        }
        let scheme = declared.and_then(|schemes| document.resolved(schemes.get(name)?).ok()).map(|(scheme, _)| scheme);
        if *kind == Auth::Oauth2 {
            let urls = ["authorizationUrl", "tokenUrl", "refreshUrl"].into_iter();
            let missing = |key: &&str| scheme.is_some_and(|scheme| needs_url(scheme, key, base.as_ref()));
            for key in urls.filter(missing) {
                left_out.add(format!("the security scheme `{name}`: its `{key}` is no `https` URL: fill it in"));
            }
        }
        return Chosen {
            statement: text.clone(),
            assumed: scheme.and_then(|scheme| token_host(scheme, base.as_ref())),
            key: scheme.and_then(KeyPlace::of),
        };
    }
    match wanted {
        Some(Auth::ApiKey) => Chosen {
            key: None,
            statement: key("KeyPlacement::Header { name: \"Authorization\", prefix: \"Bearer \" }"),
            assumed: Some(
                "the key is sent as `Authorization: Bearer …`, because the document does not say how; if the service expects \
                 it elsewhere, change the statement `auth`"
                    .to_owned(),
            ),
        },
        Some(Auth::Oauth2) => {
            left_out.add("the document has no OAuth 2.0 provider: fill in its URLs and scopes".to_owned());
            chosen(oauth2(&format!("{identifier}_provider"), "", "", None, &BTreeSet::new()))
        }
        _ if names.is_empty() && has_schemes(document) => chosen(NONE.to_owned()),
        _ => Chosen {
            key: None,
            statement: NONE.to_owned(),
            assumed: Some(
                "users need no account, because the document has no security scheme that a connector can have; if they do, \
                 which one is it? Remove the folder and create it again with `--auth api-key` or `--auth oauth2`"
                    .to_owned(),
            ),
        },
    }
}

/// The task of an operator about a scheme whose tokens come from another site than the one where
/// users authorize. `None` if it is the same site.
fn token_host(scheme: &Value, base: Option<&Url>) -> Option<String> {
    let flow = scheme.pointer("/flows/authorizationCode")?;
    let [authorization, token] =
        ["authorizationUrl", "tokenUrl"].map(|key| flow_url(flow, key, base).unwrap_or_default());
    let [authorization, token] = [host_of(&authorization), host_of(&token)];
    let is_other = !authorization.is_empty() && !token.is_empty() && site_of(authorization) != site_of(token);
    is_other.then(|| {
        format!(
            "tokens come from `{token}`, though users authorize at another site, `{authorization}`; if this is right, an operator adds \
             the module with `--grant {token}`"
        )
    })
}

/// A URL of a flow. A relative one is relative to the server of the document. `None` if it is not
/// one that the gateway sends secrets to.
fn flow_url(flow: &Value, key: &str, base: Option<&Url>) -> Option<String> {
    let given = text(flow, key);
    if given.is_empty() {
        return None;
    }
    let is_relative = Url::parse(given) == Err(url::ParseError::RelativeUrlWithoutBase);
    let url = if is_relative { base?.join(given).ok()?.to_string() } else { given.to_owned() };
    secret_url(&url).is_ok().then_some(url)
}

/// Returns `true` if the table lacks a URL that the gateway needs, or one that the document has.
fn needs_url(scheme: &Value, key: &str, base: Option<&Url>) -> bool {
    let Some(flow) = scheme.pointer("/flows/authorizationCode") else { return false };
    let is_required = key != "refreshUrl" || !text(flow, key).is_empty();
    is_required && flow_url(flow, key, base).is_none()
}

/// The host of a URL, or an empty text.
fn host_of(url: &str) -> &str {
    url.split("://").nth(1).unwrap_or_default().split(['/', ':', '?']).next().unwrap_or_default()
}

/// The registrable domain of a host, or the host itself.
fn site_of(host: &str) -> &str {
    psl::domain_str(host).unwrap_or(host)
}

/// Returns `true` if a document has security schemes. If no operation needs one of them, the
/// document says that users need no account.
fn has_schemes(document: &Document) -> bool {
    let schemes = document.get("/components/securitySchemes").and_then(Value::as_object);
    schemes.is_some_and(|schemes| !schemes.is_empty())
}

/// The security requirements of an operation, any of which suffices. An operation without
/// requirements has the requirements of the document.
fn requirements<'a>(document: &'a Document, operation: &'a Value) -> Vec<&'a Map<String, Value>> {
    let own = operation.get("security").or_else(|| document.get("/security"));
    own.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object).collect()
}

/// The statement for a scheme, with its rank: the lowest is best.
fn statement(
    scheme: &Value,
    name: &str,
    used: &[&Map<String, Value>],
    identifier: &str,
    base: Option<&Url>,
) -> Result<(u8, Auth, String), String> {
    let given = text(scheme, "name");
    match (text(scheme, "type"), text(scheme, "scheme").to_ascii_lowercase().as_str(), text(scheme, "in")) {
        ("oauth2", ..) => {
            let flow = scheme.pointer("/flows/authorizationCode");
            let flow = flow.ok_or("it has no authorization code flow, which is the one of the gateway")?;
            let scopes = used.iter().filter_map(|requirement| requirement.get(name)?.as_array()).flatten();
            let known = |scope: &&str| {
                flow.pointer("/scopes")
                    .is_none_or(|scopes| scopes.get(*scope).is_some() || scopes.as_object().is_some_and(Map::is_empty))
            };
            let scopes: BTreeSet<&str> = scopes.filter_map(Value::as_str).filter(known).collect();
            let url = |key: &str| flow_url(flow, key, base);
            let authorization = url("authorizationUrl").unwrap_or_default();
            let provider = provider(&authorization, identifier);
            let token = url("tokenUrl").unwrap_or_default();
            let refresh = url("refreshUrl");
            Ok((0, Auth::Oauth2, oauth2(&provider, &authorization, &token, refresh.as_deref(), &scopes)))
        }
        ("apiKey", _, "header") if header::key(given).is_ok() => {
            let placement = format!("KeyPlacement::Header {{ name: {given:?}, prefix: \"\" }}");
            Ok((1, Auth::ApiKey, key(&placement)))
        }
        ("apiKey", _, "query") if !given.is_empty() => {
            Ok((2, Auth::ApiKey, key(&format!("KeyPlacement::Query({given:?})"))))
        }
        ("http", "bearer", _) => {
            Ok((1, Auth::ApiKey, key("KeyPlacement::Header { name: \"Authorization\", prefix: \"Bearer \" }")))
        }
        ("http", "basic", _) => Ok((3, Auth::ApiKey, key("KeyPlacement::Basic"))),
        (kind, ..) => Err(format!("the gateway has no scheme for its kind, `{kind}`")),
    }
}

/// A name for the provider: the registrable domain of its URL, without the public suffix.
fn provider(authorization_url: &str, identifier: &str) -> String {
    let domain = psl::domain_str(host_of(authorization_url)).unwrap_or_default();
    let site = domain.split('.').next().unwrap_or_default().to_ascii_lowercase().replace('-', "_");
    if site.is_empty() || site == identifier { format!("{identifier}_provider") } else { site }
}

fn key(placement: &str) -> String {
    format!("Auth::ApiKey(ApiKey {{\n    placement: {placement},\n    form_field: None,\n    check: None,\n}})")
}

fn oauth2(provider: &str, authorization: &str, token: &str, refresh: Option<&str>, scopes: &BTreeSet<&str>) -> String {
    let scopes: Vec<String> = scopes.iter().map(|scope| format!("{scope:?}")).collect();
    let refresh = refresh.map(|url| format!("    refresh_url: Some({url:?}),\n")).unwrap_or_default();
    format!(
        "Auth::OAuth2(OAuth2 {{\n    provider: {provider:?},\n    authorization_url: {authorization:?},\n    token_url: {token:?},\n\
         {refresh}    scopes: &[{}],\n    ..OAuth2::STANDARD\n}})",
        scopes.join(", ")
    )
}
