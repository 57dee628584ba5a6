//! A stand-in for an OAuth 2.0 provider, on loopback: a strict one, with the peculiarities that a test asks for, which does
//! what it is told to go wrong and remembers everything.
//!
//! # Layout
//! - here: the running provider, what tests command, and what it remembers
//! - [`dialect`]: how this provider differs from others
//! - [`grants`]: codes, tokens and their families, as a state that nothing but these rules changes
//! - [`endpoints`]: requests become questions to that state
//! - [`browser`]: a person who consents or declines

pub mod browser;
pub mod dialect;
mod endpoints;
mod grants;

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard};

pub use browser::Person;
pub use dialect::{ClientAuthentication, Dialect, Errors, Revocation, Rotation};

use self::grants::Grants;
use crate::{Gate, Provider, Reply, Seen};

/// Where its API begins: what is below asks for a bearer token.
pub const API: &str = "/api";

/// A person's account at the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its identifier.
    pub id: String,
    /// Its address.
    pub email: String,
    /// What it is called.
    pub name: String,
}

impl Account {
    /// An account by its name in lower case.
    pub fn named(name: &str) -> Self {
        Self { id: format!("id-of-{name}"), email: format!("{name}@example.com"), name: name.to_uppercase() }
    }
}

/// What the provider was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// The page that asks a person for consent.
    Authorize,
    /// A code for tokens.
    Exchange,
    /// A refresh token for tokens.
    Refresh,
    /// A grant to be given back.
    Revoke,
    /// The API.
    Api,
}

/// One request, and what came of it: nothing when it succeeded, else why it was refused.
#[derive(Clone, Debug)]
pub struct Event {
    /// Where.
    pub endpoint: Endpoint,
    /// Why it was refused.
    pub refusal: Option<String>,
}

/// What the API answers to a request whose token is good.
type Resource = Arc<dyn Fn(&Seen, &Account) -> Reply + Send + Sync>;

struct Shared {
    dialect: Dialect,
    grants: Mutex<Grants>,
    commands: Mutex<Commands>,
    events: Mutex<Vec<Event>>,
    resource: Mutex<Resource>,
}

/// What the test wants to go otherwise than usual.
#[derive(Default)]
struct Commands {
    /// Answers of the token endpoint in place of its own, which then never sees the request.
    broken: Option<Reply>,
    /// The same of the endpoint that takes grants back.
    broken_revocation: Option<Reply>,
    /// Holds back what the token endpoint answers, after the request has had its effect.
    gate: Option<Gate>,
    /// What is granted, where it is not what was asked for.
    scopes: Option<Vec<String>>,
}

/// The running provider. It ends when it is dropped.
pub struct OAuthProvider {
    http: Provider,
    shared: Arc<Shared>,
}

impl OAuthProvider {
    /// Starts one. It knows its client, and any redirect address once it was [registered](Self::register).
    pub fn start(dialect: Dialect) -> Self {
        let http = Provider::start();
        let resource: Resource = Arc::new(|_, account| Reply::json(endpoints::userinfo(account)));
        let shared = Arc::new(Shared {
            grants: Mutex::new(Grants::new(dialect.rotation, dialect.lifetime_s)),
            dialect,
            commands: Mutex::default(),
            events: Mutex::default(),
            resource: Mutex::new(resource),
        });
        endpoints::serve(&http, &shared);
        Self { http, shared }
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        self.http.url()
    }

    /// The base URL of its API.
    pub fn api(&self) -> String {
        self.http.url() + API
    }

    /// Where it takes grants back, as an operator writes it down.
    pub(crate) fn revocation_url(&self) -> Option<String> {
        let path = match self.dialect().revocation? {
            Revocation::Form | Revocation::Bearer => "/revoke",
            Revocation::Delete => "/applications/{client_id}/token",
        };
        Some(self.url() + path)
    }

    /// How it differs from others.
    pub fn dialect(&self) -> &Dialect {
        &self.shared.dialect
    }

    /// Registers a redirect address of its client. All others are refused.
    pub fn register(&self, redirect_uri: &str) {
        self.grants().register(redirect_uri);
    }

    /// What its API answers from now on where a token is good. Otherwise it tells whose it is.
    ///
    /// # Panics
    /// When a resource has.
    pub fn on_api(&self, resource: impl Fn(&Seen, &Account) -> Reply + Send + Sync + 'static) {
        *self.shared.resource.lock().unwrap() = Arc::new(resource);
    }

    /// Its API shows the token that it was called with, in every form in which services have been seen to show one.
    pub fn echo_tokens(&self) {
        self.on_api(endpoints::echo);
    }

    /// How long access tokens live from now on, in seconds; none when it does not say.
    pub fn set_lifetime(&self, seconds: Option<u64>) {
        self.grants().lifetime_s = seconds;
    }

    /// Every access token so far has expired.
    pub fn expire(&self) {
        self.grants().expire();
    }

    /// Every grant so far is withdrawn, as when people remove the application from their accounts.
    pub fn withdraw(&self) {
        self.grants().withdraw();
    }

    /// The token endpoint answers this until it is [repaired](Self::repair), and does nothing.
    pub fn break_tokens(&self, reply: Reply) {
        self.commands().broken = Some(reply);
    }

    /// The endpoint that takes grants back answers this until it is [repaired](Self::repair), and does nothing.
    pub fn break_revocation(&self, reply: Reply) {
        self.commands().broken_revocation = Some(reply);
    }

    /// Everything works again, and at once.
    pub fn repair(&self) {
        *self.commands() = Commands::default();
    }

    /// The token endpoint answers only once the gate is open; what was asked for is done before.
    pub fn hold_tokens(&self, gate: &Gate) {
        self.commands().gate = Some(gate.clone());
    }

    /// Grants these scopes, whatever is asked for.
    pub fn grant_only(&self, scopes: &[&str]) {
        self.commands().scopes = Some(scopes.iter().map(|&scope| scope.to_owned()).collect());
    }

    /// What was asked so far, in this order.
    ///
    /// # Panics
    /// When a handler has.
    pub fn events(&self) -> Vec<Event> {
        self.shared.events.lock().unwrap().clone()
    }

    /// How often an endpoint was asked.
    pub fn count(&self, endpoint: Endpoint) -> usize {
        self.events().iter().filter(|event| event.endpoint == endpoint).count()
    }

    /// Why an endpoint refused what it refused.
    pub fn refusals(&self, endpoint: Endpoint) -> Vec<String> {
        self.events().into_iter().filter(|event| event.endpoint == endpoint).filter_map(|event| event.refusal).collect()
    }

    /// How often a code or a refresh token was presented that had been used before.
    pub fn reuses(&self) -> usize {
        self.grants().reuses
    }

    /// How many grants are good.
    pub fn live_grants(&self) -> usize {
        self.grants().live()
    }

    /// Every access token there ever was, oldest first.
    pub fn access_tokens(&self) -> Vec<String> {
        self.grants().access_tokens()
    }

    /// Every secret there ever was: its client's, codes, and tokens of both kinds.
    pub fn secrets(&self) -> Vec<String> {
        let mut secrets = self.grants().secrets();
        secrets.push(self.dialect().client_secret.clone());
        secrets
    }

    /// All requests so far, as they came.
    pub fn seen(&self) -> Vec<Seen> {
        self.http.seen()
    }

    /// The requests to its API so far.
    pub fn api_calls(&self) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| seen.path.starts_with(API)).collect()
    }

    /// Waits until an endpoint was asked this often.
    ///
    /// # Panics
    /// When it is not.
    #[track_caller]
    pub fn wait_for(&self, endpoint: Endpoint, count: usize) {
        crate::wait_for(&format!("{endpoint:?} to be asked"), || (self.count(endpoint) >= count).then_some(()));
    }

    fn grants(&self) -> MutexGuard<'_, Grants> {
        self.shared.grants()
    }

    fn commands(&self) -> MutexGuard<'_, Commands> {
        self.shared.commands.lock().unwrap()
    }
}

impl Shared {
    fn grants(&self) -> MutexGuard<'_, Grants> {
        self.grants.lock().unwrap()
    }
}

/// Text that nobody has used before, of letters and digits.
pub(crate) fn unique() -> String {
    let number = || RandomState::new().hash_one(0_u8);
    format!("{:016x}{:016x}", number(), number())
}
