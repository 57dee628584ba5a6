//! Credentials that accounts bring: OAuth clients, service accounts that sign assertions, and
//! installations of an application. The provider checks them as real ones do.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use serde_json::{Value, json};

use super::grants::Issued;
use super::{API, Account, Endpoint, OAuthProvider, Shared};
use crate::{Reply, Seen};

/// The keys that accounts have. RSA keys cannot be made quickly.
const KEYS: [&[u8]; 2] = [include_bytes!("service_account.pk8"), include_bytes!("other.pk8")];

/// The longest life of an assertion.
const LONGEST_ASSERTION_S: u64 = 3600;

/// The longest life of an application's JWT.
const LONGEST_APP_TOKEN_S: u64 = 600;

/// The provider's knowledge of its accounts' credentials.
#[derive(Default)]
pub(super) struct OwnCredentials {
    /// Clients, with their secrets.
    clients: HashMap<String, String>,
    /// The users for whom the service account may act. Empty for itself.
    subjects: HashSet<String>,
    /// Installations of the application.
    installations: HashSet<String>,
    /// The claims of the JWTs that were accepted.
    claims: Vec<Value>,
}

impl OwnCredentials {
    /// Returns `true` for the id and the secret of a client.
    pub(super) fn is_client(&self, (id, secret): &(String, String)) -> bool {
        self.clients.get(id) == Some(secret)
    }
}

/// The name of the service account.
pub const SERVICE_ACCOUNT: &str = "robot@project.example";

/// The id of the service account's key.
pub const KEY_ID: &str = "key-1";

/// The id of the application.
pub const APP_ID: &str = "4711";

/// A private key in PEM: the key of the service account and of the application (0), or another (1).
pub fn private_key(number: usize) -> String {
    let text = STANDARD.encode(KEYS[number]);
    let lines: Vec<_> = text.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines.join("\n"))
}

/// The key file of the service account, as a provider writes it, for a token URL.
pub fn key_file(token_url: &str) -> Value {
    json!({
        "type": "service_account", "project_id": "project", "private_key_id": KEY_ID, "private_key": private_key(0),
        "client_email": SERVICE_ACCOUNT, "client_id": "1", "token_uri": token_url,
    })
}

impl OAuthProvider {
    /// Registers a client that may use the grant `client_credentials`.
    pub fn add_client(&self, id: &str, secret: &str) {
        self.own().clients.insert(id.to_owned(), secret.to_owned());
    }

    /// Lets the service account act for a user, or with the empty name for itself.
    pub fn delegate(&self, subject: &str) {
        self.own().subjects.insert(subject.to_owned());
    }

    /// Installs the application.
    pub fn install(&self, installation: &str) {
        self.own().installations.insert(installation.to_owned());
    }

    /// Ends every client, delegation and installation.
    pub fn end_credentials(&self) {
        *self.own() = OwnCredentials::default();
    }

    /// The token URL.
    pub fn token_url(&self) -> String {
        self.url() + "/token"
    }

    /// The claims of the JWTs that were accepted, oldest first.
    pub fn accepted_claims(&self) -> Vec<Value> {
        self.own().claims.clone()
    }

    fn own(&self) -> parking_lot::MutexGuard<'_, OwnCredentials> {
        self.shared.own.lock()
    }
}

type Refusal = (&'static str, String);

/// Issues a token to a client with its own credentials.
pub(super) fn of_client(shared: &Shared, client: &(String, String), scopes: &str) -> Result<Issued, Refusal> {
    if !shared.own.lock().is_client(client) {
        return Err(("invalid_client", "no such client, or a wrong secret".to_owned()));
    }
    let scopes = words(scopes, shared.dialect.scope_separator);
    Ok(shared.grants().issue_directly(account(&client.0), scopes))
}

/// Issues a token for an assertion of the service account (RFC 7523, section 3).
pub(super) fn of_assertion(shared: &Shared, seen: &Seen, assertion: &str) -> Result<Issued, Refusal> {
    let refused = |why: &str| ("invalid_grant", why.to_owned());
    let claims = verified(assertion, Some(KEY_ID), LONGEST_ASSERTION_S).map_err(|why| refused(&why))?;
    let text = |name: &str| claims[name].as_str().unwrap_or_default();
    if text("iss") != SERVICE_ACCOUNT {
        return Err(refused("the issuer is no service account"));
    }
    if text("aud") != format!("http://{}/token", seen.header("host")) {
        return Err(refused("the audience is not the token URL"));
    }
    if text("scope").is_empty() {
        return Err(("invalid_scope", "the claim `scope` is missing".to_owned()));
    }
    if !shared.own.lock().subjects.contains(text("sub")) {
        let why = "Client is unauthorized to retrieve access tokens using this method";
        return Err(("unauthorized_client", why.to_owned()));
    }
    shared.own.lock().claims.push(claims.clone());
    let subject = if text("sub").is_empty() { SERVICE_ACCOUNT } else { text("sub") };
    Ok(shared.grants().issue_directly(account(subject), words(text("scope"), " ")))
}

/// Answers `POST {api}/app/installations/{id}/access_tokens`. `None` for other requests.
pub(super) fn installation(shared: &Shared, seen: &Seen) -> Option<Reply> {
    let path = seen.path.strip_prefix(API)?;
    let id = path.strip_prefix("/app/installations/")?.strip_suffix("/access_tokens")?;
    let refusal = |status: u16, why: &str| {
        shared.note(Endpoint::Installation, Some(why));
        Some(Reply::json(json!({"message": why, "documentation_url": "https://docs.example"})).status(status))
    };
    if let Some(reply) = shared.commands.lock().broken.clone() {
        shared.note(Endpoint::Installation, Some("broken"));
        return Some(reply);
    }
    if seen.method != "POST" || !seen.body.is_empty() {
        return refusal(422, "not a POST without a body");
    }
    let token = seen.header("authorization").strip_prefix("Bearer ").unwrap_or_default();
    let claims = match verified(token, None, LONGEST_APP_TOKEN_S) {
        Ok(claims) if claims["iss"] == APP_ID => claims,
        Ok(_) => return refusal(401, "'Issuer' claim ('iss') must be an application"),
        Err(why) => return refusal(401, &format!("A JSON web token could not be decoded: {why}")),
    };
    if !shared.own.lock().installations.contains(id) {
        return refusal(404, "Not Found");
    }
    shared.own.lock().claims.push(claims);
    shared.note(Endpoint::Installation, None);
    let issued = shared.grants().issue_directly(account(id), Vec::new());
    let life = Duration::from_secs(issued.lifetime_s.unwrap_or(3600));
    let expires_at = humantime::format_rfc3339_seconds(SystemTime::now() + life).to_string();
    let commands = shared.commands.lock();
    let reply = Reply::json(json!({"token": issued.access, "expires_at": expires_at, "permissions": {}}));
    let reply = reply.status(201).after(commands.delay);
    Some(match &commands.gate {
        Some(gate) => reply.behind(gate),
        None => reply,
    })
}

/// The claims of a JWT, if the key has signed it, and its times are sound.
fn verified(token: &str, key_id: Option<&str>, longest_s: u64) -> Result<Value, String> {
    let parts: Vec<_> = token.split('.').collect();
    let [header, claims, signature] = parts[..] else { return Err("it has not three parts".to_owned()) };
    let json = |part: &str| -> Result<Value, String> {
        let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|error| error.to_string())?;
        serde_json::from_slice(&bytes).map_err(|error| error.to_string())
    };
    let (head, found) = (json(header)?, json(claims)?);
    if head["alg"] != "RS256" || head["kid"].as_str() != key_id {
        return Err(format!("the header is {head}"));
    }
    let pair = RsaKeyPair::from_pkcs8(KEYS[0]).map_err(|error| error.to_string())?;
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|error| error.to_string())?;
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key().as_ref())
        .verify(format!("{header}.{claims}").as_bytes(), &signature)
        .map_err(|_| "Invalid JWT Signature".to_owned())?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let (issued, end) = (found["iat"].as_u64().unwrap_or(u64::MAX), found["exp"].as_u64().unwrap_or_default());
    if issued > now || end <= now || end - issued > longest_s {
        return Err(format!("it is from {issued} to {end}, and now is {now}"));
    }
    Ok(found)
}

/// The account of credentials.
fn account(name: &str) -> Account {
    Account { id: name.to_owned(), email: format!("{name} at the provider"), name: name.to_owned() }
}

fn words(text: &str, separator: &str) -> Vec<String> {
    text.split(separator).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
