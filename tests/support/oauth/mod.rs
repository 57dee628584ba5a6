//! A stand-in for an OAuth 2.0 provider, on loopback. It is strict, behaves like the provider that
//! a test selects, fails when a test says so, and records every request.
//!
//! # Layout
//! - here: the running provider, the commands of a test, and the recorded requests
//! - [`dialect`]: the differences between providers
//! - [`grants`]: authorization codes, tokens and grants, and the rules for them
//! - [`own_credentials`]: the credentials that accounts bring
//! - [`devices`]: codes that a person enters on another device
//! - [`endpoints`]: the HTTP endpoints
//! - [`browser`]: a person who consents or declines

pub mod browser;
mod devices;
pub mod dialect;
mod endpoints;
mod grants;
pub mod own_credentials;

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

pub use browser::Person;
pub use dialect::{ClientAuthentication, Dialect, Errors, Revocation, Rotation};
use parking_lot::{Mutex, MutexGuard};

use self::devices::Devices;
use self::grants::Grants;
use self::own_credentials::OwnCredentials;
use crate::{Gate, Reply, Seen, Upstream};

/// The path of the provider's API. Requests below it need an access token.
pub const API: &str = "/api";

/// A person's account at the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The identifier.
    pub id: String,
    /// The email address.
    pub email: String,
    /// The display name.
    pub name: String,
}

impl Account {
    /// An account by its name in lower case.
    pub fn named(name: &str) -> Self {
        Self { id: format!("id-of-{name}"), email: format!("{name}@example.com"), name: name.to_uppercase() }
    }
}

/// The purpose of a request to the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// The page that asks a person for consent.
    Authorize,
    /// The exchange of a code for tokens.
    Exchange,
    /// The exchange of a refresh token for tokens.
    Refresh,
    /// A token for the client credentials or the assertion of an account.
    Direct,
    /// A code for a person who enters it on another device.
    Device,
    /// The question if a person has decided about such a code.
    Poll,
    /// A token for an installation of an application.
    Installation,
    /// The revocation of a grant.
    Revoke,
    /// The API.
    Api,
}

/// One request and its result.
#[derive(Clone, Debug)]
pub struct Event {
    /// The purpose of the request.
    pub endpoint: Endpoint,
    /// The reason of the refusal; `None` if the request succeeded.
    pub refusal: Option<String>,
}

/// The API's answer to a request with a valid token.
type Resource = Arc<dyn Fn(&Seen, &Account) -> Reply + Send + Sync>;

struct Shared {
    dialect: Dialect,
    grants: Mutex<Grants>,
    commands: Mutex<Commands>,
    own: Mutex<OwnCredentials>,
    devices: Mutex<Devices>,
    events: Mutex<Vec<Event>>,
    resource: Mutex<Resource>,
}

/// Failures that the test has commanded.
#[derive(Default)]
struct Commands {
    /// The token endpoint's answer to every request. The request has no effect.
    broken: Option<Reply>,
    /// The revocation endpoint's answer to every request. The request has no effect.
    broken_revocation: Option<Reply>,
    /// Delays the token endpoint's answers. The request has had its effect before.
    gate: Option<Gate>,
    /// Time from the effect of a request to the token endpoint's answer.
    delay: Duration,
    /// The scopes that are granted in place of the requested ones.
    scopes: Option<Vec<String>>,
}

/// A running provider. It ends when this is dropped.
pub struct OAuthProvider {
    http: Upstream,
    shared: Arc<Shared>,
}

impl OAuthProvider {
    /// Starts a provider with one client. Redirect URIs must be [registered](Self::register).
    pub fn start(dialect: Dialect) -> Self {
        let http = Upstream::start();
        let resource: Resource = Arc::new(|_, account| Reply::json(endpoints::userinfo(account)));
        let shared = Arc::new(Shared {
            grants: Mutex::new(Grants::new(dialect.rotation, dialect.lifetime_s)),
            dialect,
            commands: Mutex::default(),
            own: Mutex::default(),
            devices: Mutex::default(),
            events: Mutex::default(),
            resource: Mutex::new(resource),
        });
        endpoints::serve(&http, &shared);
        Self { http, shared }
    }

    /// The base URL.
    pub fn url(&self) -> String {
        self.http.url()
    }

    /// The base URL of the API.
    pub fn api(&self) -> String {
        self.http.url() + API
    }

    /// The URL of the revocation endpoint, as an operator configures it.
    pub(crate) fn revocation_url(&self) -> Option<String> {
        let path = match self.dialect().revocation? {
            Revocation::Form | Revocation::Bearer => "/revoke",
            Revocation::Delete => "/applications/{client_id}/token",
        };
        Some(self.url() + path)
    }

    /// The provider's dialect.
    pub fn dialect(&self) -> &Dialect {
        &self.shared.dialect
    }

    /// Registers a redirect URI of the client. All other redirect URIs are refused.
    pub fn register(&self, redirect_uri: &str) {
        self.grants().register(redirect_uri);
    }

    /// Answers requests to the API by a function from now on, if their token is valid. Before, the
    /// API answers with the account.
    ///
    /// # Panics
    /// When such a function panicked before.
    pub fn on_api(&self, resource: impl Fn(&Seen, &Account) -> Reply + Send + Sync + 'static) {
        *self.shared.resource.lock() = Arc::new(resource);
    }

    /// The API shows the access token that it was called with, in every form that services are
    /// known to show one in.
    pub fn echo_tokens(&self) {
        self.on_api(endpoints::echo);
    }

    /// Sets the lifetime of new access tokens in seconds; `None` if the answer shall not tell.
    pub fn set_lifetime(&self, seconds: Option<u64>) {
        self.grants().lifetime_s = seconds;
    }

    /// Expires every access token so far.
    pub fn expire(&self) {
        self.grants().expire();
    }

    /// Revokes every grant so far, as when users remove the application from their accounts.
    pub fn withdraw(&self) {
        self.grants().withdraw();
    }

    /// The token endpoint returns `reply` until [`Self::repair`]. Requests have no effect.
    pub fn break_tokens(&self, reply: Reply) {
        self.commands().broken = Some(reply);
    }

    /// The revocation endpoint returns `reply` until [`Self::repair`]. Requests have no effect.
    pub fn break_revocation(&self, reply: Reply) {
        self.commands().broken_revocation = Some(reply);
    }

    /// Ends all failures and delays.
    pub fn repair(&self) {
        *self.commands() = Commands::default();
    }

    /// The token endpoint answers once the gate is open. Requests have their effect before.
    pub fn hold_tokens(&self, gate: &Gate) {
        self.commands().gate = Some(gate.clone());
    }

    /// The token endpoint takes this long for each answer. Requests have their effect before.
    pub fn slow_tokens(&self, delay: Duration) {
        self.commands().delay = delay;
    }

    /// From now on, all consents of an account give the same access token, and no refresh token.
    pub fn give_one_token(&self) {
        self.grants().one_token_per_account = true;
    }

    /// Grants these scopes in place of the requested ones.
    pub fn grant_only(&self, scopes: &[&str]) {
        self.commands().scopes = Some(scopes.iter().map(|&scope| scope.to_owned()).collect());
    }

    /// All requests so far with their results, in order.
    ///
    /// # Panics
    /// When a handler panicked before.
    pub fn events(&self) -> Vec<Event> {
        self.shared.events.lock().clone()
    }

    /// Number of requests of this purpose.
    pub fn count(&self, endpoint: Endpoint) -> usize {
        self.shared.events.lock().iter().filter(|event| event.endpoint == endpoint).count()
    }

    /// The reasons of all refusals of requests of this purpose.
    pub fn refusals(&self, endpoint: Endpoint) -> Vec<String> {
        self.events().into_iter().filter(|event| event.endpoint == endpoint).filter_map(|event| event.refusal).collect()
    }

    /// Number of requests with a code or a refresh token that had been used before.
    pub fn reuses(&self) -> usize {
        self.grants().reuses
    }

    /// Number of grants that are not revoked.
    pub fn live_grants(&self) -> usize {
        self.grants().live()
    }

    /// Every access token that was ever issued, oldest first.
    pub fn access_tokens(&self) -> Vec<String> {
        self.grants().access_tokens()
    }

    /// The access token that was issued last, and the refresh token of its grant.
    ///
    /// # Panics
    /// When no tokens were issued, or when the grant has no refresh token.
    pub fn newest_tokens(&self) -> [String; 2] {
        self.grants().newest_tokens()
    }

    /// Every secret that was ever issued: the client's, codes, device codes, and tokens of both kinds.
    pub fn secrets(&self) -> Vec<String> {
        let mut secrets = self.grants().secrets();
        secrets.push(self.dialect().client_secret.clone());
        secrets.extend(self.shared.devices.lock().secrets());
        secrets
    }

    /// All recorded requests.
    pub fn seen(&self) -> Vec<Seen> {
        self.http.seen()
    }

    /// The recorded requests to the API.
    pub fn api_calls(&self) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| seen.path.starts_with(API)).collect()
    }

    /// Waits until this many requests of this purpose have come.
    ///
    /// # Panics
    /// When they do not come within four minutes.
    #[track_caller]
    pub fn wait_for(&self, endpoint: Endpoint, count: usize) {
        crate::wait_for(&format!("{count} requests of {endpoint:?}"), || (self.count(endpoint) >= count).then_some(()));
    }

    fn grants(&self) -> MutexGuard<'_, Grants> {
        self.shared.grants()
    }

    fn commands(&self) -> MutexGuard<'_, Commands> {
        self.shared.commands.lock()
    }
}

impl Shared {
    fn grants(&self) -> MutexGuard<'_, Grants> {
        self.grants.lock()
    }
}

/// Random text of hexadecimal digits, which is different on every call.
pub(crate) fn unique() -> String {
    let number = || RandomState::new().hash_one(0_u8);
    format!("{:016x}{:016x}", number(), number())
}
