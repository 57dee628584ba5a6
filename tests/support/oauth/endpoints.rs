//! The provider's HTTP endpoints. They check requests strictly and ask the grants.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::digest;
use serde_json::{Value, json};

use super::dialect::{ClientAuthentication, Revocation};
use super::grants::{Consent, Issued};
use super::{API, Account, Endpoint, Event, Shared, devices, own_credentials};
use crate::encoding::{pairs, percent, to_form};
use crate::{Reply, Seen, Upstream};

const CLIENT_CREDENTIALS: &str = "client_credentials";

/// The grant type of an assertion (RFC 7523).
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// The grant type of a device code (RFC 8628).
const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";

type Parameters = Vec<(String, String)>;

/// The reason why a request is refused: an error code of RFC 6749 and a sentence.
type Refusal = (&'static str, String);

/// Answers the provider's paths.
pub(super) fn serve(http: &Upstream, shared: &Arc<Shared>) {
    let on = |path: &str, handler: fn(&Shared, &Seen) -> Reply| {
        let shared = Arc::clone(shared);
        http.on(path, move |seen| handler(&shared, seen));
    };
    on("/authorize", authorize);
    on("/consent", consent);
    on("/token", token);
    on("/device", device);
    match shared.dialect.revocation {
        Some(Revocation::Form) => on("/revoke", revoke_by_form),
        Some(Revocation::Bearer) => on("/revoke", revoke_by_bearer),
        Some(Revocation::Delete) => on(&format!("/applications/{}/token", shared.dialect.client_id), revoke_by_delete),
        None => {}
    }
    on("*", |shared, seen| match own_credentials::installation(shared, seen) {
        Some(reply) => reply,
        None if seen.path.starts_with(API) => api(shared, seen),
        None => Reply::empty(404),
    });
}

impl Shared {
    pub(super) fn note(&self, endpoint: Endpoint, refusal: Option<&str>) {
        self.events.lock().push(Event { endpoint, refusal: refusal.map(str::to_owned) });
    }
}

/// The value of a parameter that must occur exactly once (RFC 6749, section 3.1).
fn single<'a>(parameters: &'a Parameters, name: &str) -> Result<&'a str, Refusal> {
    let mut values = parameters.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str());
    match (values.next(), values.next()) {
        (Some(value), None) => Ok(value),
        (None, _) => Err(("invalid_request", format!("`{name}` is missing"))),
        (Some(_), Some(_)) => Err(("invalid_request", format!("`{name}` occurs twice"))),
    }
}

/// Shows the consent page. An error in the request is shown to the person, and the browser is not
/// redirected.
fn authorize(shared: &Shared, seen: &Seen) -> Reply {
    match ask(shared, seen) {
        Ok(ticket) => {
            shared.note(Endpoint::Authorize, None);
            let form = format!(
                "<!doctype html><html lang=\"en\"><title>Provider</title><form method=\"post\" action=\"/consent\">\
                 <input type=\"hidden\" name=\"ticket\" value=\"{ticket}\"><label>Account <input name=\"account\" value=\"ada\"></label>\
                 <button name=\"decision\" value=\"allow\">Allow</button><button name=\"decision\" value=\"deny\">Deny</button></form>"
            );
            Reply::typed("text/html", form)
        }
        Err((error, description)) => {
            shared.note(Endpoint::Authorize, Some(error));
            Reply::typed("text/plain", format!("{error}: {description}")).status(400)
        }
    }
}

fn ask(shared: &Shared, seen: &Seen) -> Result<String, Refusal> {
    let dialect = &shared.dialect;
    let parameters = seen.parameters();
    let must_be = |name: &str, expected: &str| match single(&parameters, name)? {
        found if found == expected => Ok(()),
        found => Err(("invalid_request", format!("`{name}` is `{found}`, not `{expected}`"))),
    };
    must_be("response_type", "code")?;
    must_be("client_id", &dialect.client_id)?;
    let redirect_uri = single(&parameters, "redirect_uri")?;
    if !shared.grants().is_registered(redirect_uri) {
        return Err(("redirect_uri_mismatch", format!("`{redirect_uri}` is not registered")));
    }
    for (name, value) in dialect.parameters {
        must_be(name, value)?;
    }
    let challenge = match single(&parameters, "code_challenge") {
        Ok(challenge) => {
            must_be("code_challenge_method", "S256")?;
            Some(challenge.to_owned())
        }
        Err(refusal) if dialect.pkce => return Err(refusal),
        Err(_) => None,
    };
    let state = single(&parameters, "state")?.to_owned();
    let scopes = single(&parameters, dialect.scope_parameter).unwrap_or_default();
    let scopes = scopes.split(dialect.scope_separator).filter(|scope| !scope.is_empty()).map(str::to_owned).collect();
    let scopes = shared.commands.lock().scopes.clone().unwrap_or(scopes);
    Ok(shared.grants().ask(Consent { redirect_uri: redirect_uri.to_owned(), state, challenge, scopes }))
}

/// Redirects the browser to the client with the person's decision.
fn consent(shared: &Shared, seen: &Seen) -> Reply {
    let form = pairs(&seen.body);
    let field = |name| single(&form, name).unwrap_or_default().to_owned();
    let mut grants = shared.grants();
    let Some(consent) = grants.asked(&field("ticket")) else {
        return Reply::typed("text/plain", "this form was sent before").status(400);
    };
    let (redirect_uri, state) = (consent.redirect_uri.clone(), consent.state.clone());
    let answer = if field("decision") == "allow" {
        let code = grants.consented(consent, Account::named(&field("account")));
        to_form(&[("code", &code), ("state", &state)])
    } else {
        to_form(&[("error", "access_denied"), ("error_description", "The person declined"), ("state", &state)])
    };
    Reply::redirect(&format!("{redirect_uri}?{answer}"))
}

fn token(shared: &Shared, seen: &Seen) -> Reply {
    let form = pairs(&seen.body);
    let endpoint = match single(&form, "grant_type") {
        Ok("refresh_token") => Endpoint::Refresh,
        Ok(CLIENT_CREDENTIALS | JWT_BEARER) => Endpoint::Direct,
        Ok(DEVICE_CODE) => Endpoint::Poll,
        _ => Endpoint::Exchange,
    };
    if let Some(reply) = shared.commands.lock().broken.clone() {
        shared.note(endpoint, Some("broken"));
        return reply;
    }
    let (status, document) = match issue(shared, seen, &form) {
        Ok(issued) => {
            shared.note(endpoint, None);
            (200, answer(shared, &issued, endpoint))
        }
        Err((error, description)) => {
            shared.note(endpoint, Some(&format!("{error}: {description}")));
            shared.dialect.refusal(error, &description)
        }
    };
    let is_form = shared.dialect.json_on_demand && !seen.header("accept").contains("application/json");
    let reply = if is_form {
        Reply::typed("application/x-www-form-urlencoded", form_of(&document))
    } else {
        Reply::json(document)
    };
    let reply = reply.status(status).header("cache-control", "no-store");
    let commands = shared.commands.lock();
    let reply = reply.after(commands.delay);
    match &commands.gate {
        Some(gate) => reply.behind(gate),
        None => reply,
    }
}

/// Gives a client a code for a person.
fn device(shared: &Shared, seen: &Seen) -> Reply {
    let form = pairs(&seen.body);
    match check_form(seen).and_then(|()| check_client(shared, seen, &form)) {
        Ok(()) => {
            let scopes = single(&form, shared.dialect.scope_parameter).unwrap_or_default();
            let scopes = scopes.split(shared.dialect.scope_separator).filter(|scope| !scope.is_empty());
            devices::begin(shared, seen, scopes.map(str::to_owned).collect())
        }
        Err((error, description)) => {
            shared.note(Endpoint::Device, Some(&format!("{error}: {description}")));
            let (status, document) = shared.dialect.refusal(error, &description);
            Reply::json(document).status(status)
        }
    }
}

fn issue(shared: &Shared, seen: &Seen, form: &Parameters) -> Result<Issued, Refusal> {
    check_form(seen)?;
    match single(form, "grant_type")? {
        CLIENT_CREDENTIALS => {
            let client = client_of(shared, seen, form)?;
            let scopes = single(form, shared.dialect.scope_parameter).unwrap_or_default();
            return own_credentials::of_client(shared, &client, scopes);
        }
        JWT_BEARER if single(form, "client_id").is_ok() || !seen.header("authorization").is_empty() => {
            return Err(("invalid_request", "an assertion comes with client credentials".to_owned()));
        }
        JWT_BEARER => return own_credentials::of_assertion(shared, seen, single(form, "assertion")?),
        _ => check_client(shared, seen, form)?,
    }
    let refused = |why: &'static str| ("invalid_grant", why.to_owned());
    match single(form, "grant_type")? {
        "authorization_code" => {
            let (code, redirect_uri) = (single(form, "code")?, single(form, "redirect_uri")?);
            let verifier = single(form, "code_verifier").ok();
            let proves = |challenge: Option<&str>| match (challenge, verifier) {
                (None, None) => true,
                (Some(challenge), Some(verifier)) => {
                    let digest = digest::digest(&digest::SHA256, verifier.as_bytes());
                    (43..=128).contains(&verifier.len()) && URL_SAFE_NO_PAD.encode(digest) == challenge
                }
                _ => false,
            };
            shared.grants().exchange(code, redirect_uri, proves).map_err(refused)
        }
        DEVICE_CODE => devices::ask(shared, single(form, "device_code")?),
        "refresh_token" => shared.grants().refresh(single(form, "refresh_token")?).map_err(refused),
        other => Err(("unsupported_grant_type", format!("`{other}`"))),
    }
}

/// Refuses a body other than a form, and any query: queries end up in logs.
fn check_form(seen: &Seen) -> Result<(), Refusal> {
    if seen.method != "POST" || !seen.header("content-type").starts_with("application/x-www-form-urlencoded") {
        return Err(("invalid_request", format!("{} of {}", seen.method, seen.header("content-type"))));
    }
    if !seen.query.is_empty() {
        return Err(("invalid_request", "a query is not allowed".to_owned()));
    }
    Ok(())
}

/// Checks the client's credentials.
fn check_client(shared: &Shared, seen: &Seen, form: &Parameters) -> Result<(), Refusal> {
    let dialect = &shared.dialect;
    if client_of(shared, seen, form)? != (dialect.client_id.clone(), dialect.client_secret.clone()) {
        return Err(("invalid_client", "no such client, or a wrong secret".to_owned()));
    }
    Ok(())
}

/// The client's id and secret. They must come in the way of the dialect, and in no second way.
fn client_of(shared: &Shared, seen: &Seen, form: &Parameters) -> Result<(String, String), Refusal> {
    let refused = |why: &str| ("invalid_client", why.to_owned());
    Ok(match shared.dialect.client_authentication {
        ClientAuthentication::Body if !seen.header("authorization").is_empty() => {
            return Err(refused("credentials in the header and in the body"));
        }
        ClientAuthentication::Body => {
            (single(form, "client_id")?.to_owned(), single(form, "client_secret")?.to_owned())
        }
        ClientAuthentication::Basic if single(form, "client_secret").is_ok() => {
            return Err(refused("credentials in the header and in the body"));
        }
        ClientAuthentication::Basic => {
            let (user, password) = basic(seen).ok_or_else(|| refused("no HTTP Basic credentials"))?;
            // Both are form-encoded inside of HTTP Basic (RFC 6749, section 2.3.1).
            (form_decoded(&user), form_decoded(&password))
        }
    })
}

fn form_decoded(text: &str) -> String {
    pairs(text.as_bytes()).into_iter().map(|(name, _)| name).collect()
}

/// The user and the password of HTTP Basic authentication, `None` if the request has no such
/// header.
fn basic(seen: &Seen) -> Option<(String, String)> {
    let encoded = seen.header("authorization").strip_prefix("Basic ")?;
    let decoded = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
    decoded.split_once(':').map(|(user, password)| (user.to_owned(), password.to_owned()))
}

fn answer(shared: &Shared, issued: &Issued, endpoint: Endpoint) -> Value {
    let dialect = &shared.dialect;
    let mut tokens = json!({
        "access_token": issued.access,
        "token_type": "Bearer",
        "scope": issued.scopes.join(dialect.answer_separator),
    });
    if let Some(refresh) = &issued.refresh {
        tokens["refresh_token"] = json!(refresh);
    }
    if let Some(seconds) = issued.lifetime_s {
        tokens["expires_in"] = json!(seconds);
    }
    if dialect.token_member.is_empty() || !matches!(endpoint, Endpoint::Exchange | Endpoint::Poll) {
        return tokens;
    }
    tokens["id"] = json!(issued.account.id);
    json!({"ok": true, "app_id": "A1", "team": {"id": "T1"}, dialect.token_member: tokens})
}

fn form_of(document: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let fields: Vec<_> =
        document.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), text(value))).collect();
    to_form(&fields.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>())
}

fn revoke_by_form(shared: &Shared, seen: &Seen) -> Reply {
    let form = pairs(&seen.body);
    let is_client = || {
        let client = client_of(shared, seen, &form)?;
        if shared.own.lock().is_client(&client) { Ok(()) } else { check_client(shared, seen, &form) }
    };
    let token = check_form(seen).and_then(|()| is_client()).and_then(|()| single(&form, "token"));
    revoked(shared, token.map_err(|(error, _)| error), Reply::json(json!({})))
}

fn revoke_by_bearer(shared: &Shared, seen: &Seen) -> Reply {
    let token = seen.header("authorization").strip_prefix("Bearer ").ok_or("not_authed");
    // A token that has expired authenticates nothing.
    let token = token.and_then(|token| shared.grants().owner(token).map(|_| token).map_err(|_| "token_expired"));
    revoked(shared, token, Reply::json(json!({"ok": true, "revoked": true})))
}

fn revoke_by_delete(shared: &Shared, seen: &Seen) -> Reply {
    let dialect = &shared.dialect;
    let client = basic(seen).is_some_and(|client| client == (dialect.client_id.clone(), dialect.client_secret.clone()));
    let body: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
    let token = match body["access_token"].as_str() {
        Some(token) if client && seen.method == "DELETE" => Ok(token),
        Some(_) => Err("invalid_client"),
        None => Err("invalid_request"),
    };
    revoked(shared, token, Reply::empty(204))
}

fn revoked(shared: &Shared, token: Result<&str, &str>, done: Reply) -> Reply {
    if let Some(reply) = shared.commands.lock().broken_revocation.clone() {
        shared.note(Endpoint::Revoke, Some("broken"));
        return reply;
    }
    shared.note(Endpoint::Revoke, token.err());
    match token {
        Ok(token) => {
            shared.grants().revoke(token, shared.dialect.one_grant_per_account);
            done
        }
        Err(error) => Reply::json(json!({"ok": false, "error": error})).status(400),
    }
}

/// Answers requests to the API, which need a valid access token.
fn api(shared: &Shared, seen: &Seen) -> Reply {
    let owner = match bearer(seen) {
        Some(token) => shared.grants().owner(&token),
        None => Err("the request has no bearer token"),
    };
    shared.note(Endpoint::Api, owner.as_ref().err().copied());
    match owner {
        Ok(account) => {
            let resource = Arc::clone(&shared.resource.lock());
            resource(seen, &account)
        }
        Err(why) => Reply::json(json!({"error": "invalid_token", "why": why}))
            .status(401)
            .header("www-authenticate", "Bearer error=\"invalid_token\""),
    }
}

/// The access token of a request: from the header, or from a form, because some services want it
/// there.
fn bearer(seen: &Seen) -> Option<String> {
    if let Some(token) = seen.header("authorization").strip_prefix("Bearer ") {
        return Some(token.to_owned());
    }
    let form = pairs(&seen.body);
    let names = ["access_token", "token"];
    form.into_iter().find(|(name, _)| names.contains(&name.as_str())).map(|(_, value)| value)
}

/// The API's answer about an account.
pub(super) fn userinfo(account: &Account) -> Value {
    json!({"id": account.id, "email": account.email, "name": account.name})
}

/// Shows the access token of the request in headers and body: plain, escaped, and in the encodings
/// that services use.
pub(super) fn echo(seen: &Seen, account: &Account) -> Reply {
    let token = bearer(seen).unwrap_or_default();
    let hex = |upper: bool| -> String {
        token.bytes().map(|byte| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") }).collect()
    };
    let escaped: String = token.chars().map(|character| format!("\\u{:04x}", u32::from(character))).collect();
    let document = json!({
        "who": userinfo(account),
        "plain": token,
        "in_text": format!("Authorization: Bearer {token}, thank you"),
        "percent": percent(&token),
        "base64": [STANDARD.encode(&token), STANDARD.encode(format!("a{token}")), STANDARD.encode(format!("ab{token}"))],
        "base64url": URL_SAFE_NO_PAD.encode(&token),
        "hex": [hex(false), hex(true)],
        token.as_str(): "as a name",
    });
    // In one member every character is escaped, in another every slash: a JSON parser reads the
    // token from both.
    let mut text = document.to_string();
    text.truncate(text.len() - 1);
    let slashed = token.replace('/', "\\/");
    let text = format!("{text},\"escaped\":\"{escaped}\",\"slashed\":\"{slashed}\"}}");
    Reply::typed("application/json", text)
        .header("x-echo", &token)
        .header("x-request-token", &format!("Bearer {token}"))
}
