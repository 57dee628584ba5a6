use proptest::prelude::*;
use secrecy::{ExposeSecret, SecretString};
use tempfile::TempDir;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use hyper::header::HeaderValue;
use tokio::time::Instant;

use super::authenticator::{POLL, bearer_token};
use super::caller::MissingScope;
use super::*;
use store::{KeyId, ShownOnce, Store};

/// A key of the documented form that no store has.
const UNKNOWN: &str = "cgw_0123456789012345678901234567890123456789abcaMGu04";

/// Time for which keys are accepted that cannot be read again.
const MAX_AGE: Duration = Duration::from_secs(60);

async fn authenticator(store: &Store) -> Authenticator {
    Authenticator::new(store.clone(), Arc::default(), MAX_AGE).await.unwrap()
}

struct Fixture {
    store: Store,
    authenticator: Arc<Authenticator>,
    folder: TempDir,
}

impl Fixture {
    async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let authenticator = Arc::new(authenticator(&store).await);
        Self { store, authenticator, folder }
    }

    /// Makes a key like another process would.
    async fn create(&self) -> (KeyId, String) {
        let scopes = [Scope::Operate].into_iter().collect();
        let (stored, key) = make_key("test", "acme", Some("ann"), scopes).unwrap();
        let id = stored.id.clone();
        Store::open(self.folder.path()).await.unwrap().keys().create(stored).await.unwrap();
        (id, key.expose_secret().to_owned())
    }

    async fn authenticate(&self, authorization: &str) -> Result<Arc<Caller>, AuthError> {
        self.authenticator.authenticate(Some(&HeaderValue::from_str(authorization).unwrap())).await
    }
}

#[tokio::test]
async fn a_key_made_by_another_process_is_accepted_at_once() {
    let gateway = Fixture::new().await;
    let (id, key) = gateway.create().await;
    let caller = gateway.authenticate(&format!("Bearer {key}")).await.unwrap();
    assert_eq!((caller.tenant.as_str(), caller.subject.as_deref(), &caller.key_id), ("acme", Some("ann"), &Some(id)));
    assert!(gateway.authenticate(&format!("bearer   {key}")).await.is_ok());
}

#[tokio::test]
async fn a_key_revoked_by_another_process_is_refused_within_two_seconds() {
    let gateway = Fixture::new().await;
    let (id, key) = gateway.create().await;
    let authenticator = Arc::clone(&gateway.authenticator);
    let watching = tokio::spawn(async move { authenticator.watch().await });
    let authorization = format!("Bearer {key}");
    gateway.authenticate(&authorization).await.unwrap();
    Store::open(gateway.folder.path()).await.unwrap().keys().revoke(&id).await.unwrap();
    // A busy machine may take longer than the time between two looks.
    assert!(POLL < Duration::from_secs(2), "{POLL:?}");
    let revoked = Instant::now();
    while gateway.authenticate(&authorization).await.is_ok() {
        assert!(revoked.elapsed() < MAX_AGE / 2, "the key is still accepted");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(matches!(gateway.authenticate(&authorization).await, Err(AuthError::Revoked)));
    watching.abort();
}

#[tokio::test]
async fn a_header_without_a_key_and_an_unknown_key_are_different_errors() {
    let gateway = Fixture::new().await;
    assert!(matches!(gateway.authenticator.authenticate(None).await, Err(AuthError::Missing)));
    for malformed in ["", "Bearer", "Bearer ", "Basic YTpi", "Bearer a b", "cgw_x", "Bearer cgw_x"] {
        let error = gateway.authenticate(malformed).await.unwrap_err();
        assert!(matches!(error, AuthError::Malformed), "{malformed}: {error:?}");
    }
    let (_, unknown) = make_key("test", "acme", None, Scopes::of_first_key()).unwrap();
    for unknown in [unknown.expose_secret(), "eyJhbGciOiJIUzI1NiJ9.e30.x"] {
        let error = gateway.authenticate(&format!("Bearer {unknown}")).await.unwrap_err();
        assert!(matches!(error, AuthError::Unknown), "{error:?}");
    }
}

#[tokio::test]
async fn a_token_with_two_dots_is_a_jwt_once_an_issuer_is_trusted() {
    let folder = TempDir::new().unwrap();
    let issuer = JwtIssuer {
        issuer: "https://id.acme.example".to_owned(),
        audience: "gateway".to_owned(),
        jwks_url: "https://id.acme.example/keys".parse().unwrap(),
        tenant: TenantOf::Issuer("acme".to_owned()),
        scopes: Scopes::default(),
        allow_private_network: false,
    };
    let issuers = JwtIssuers::new(
        &[("acme".to_owned(), issuer)].into(),
        &egress::Egress::new(&egress::Settings::default()).unwrap(),
    )
    .unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    let authenticator = authenticator(&store).await.trusting(issuers);
    let authenticate = async |token: &'static str| {
        authenticator.authenticate(Some(&HeaderValue::from_static(token))).await.unwrap_err()
    };
    let error = authenticate("Bearer eyJhbGciOiJIUzI1NiJ9.e30.x").await;
    assert!(matches!(error, AuthError::Jwt(JwtError::Unreadable)), "{error:?}");
    assert!(matches!(authenticate("Bearer no-jwt").await, AuthError::Unknown));
    assert!(matches!(authenticate("Bearer cgw_a.b.c").await, AuthError::Malformed));
}

#[tokio::test]
async fn unknown_keys_reach_the_database_at_most_ten_times_a_second() {
    let gateway = Fixture::new().await;
    let (_, unknown) = make_key("test", "acme", None, Scopes::of_first_key()).unwrap();
    let unknown = format!("Bearer {}", unknown.expose_secret());
    let started = Instant::now();
    for _ in 0..6 {
        assert!(matches!(gateway.authenticate(&unknown).await, Err(AuthError::Unknown)));
    }
    assert!(started.elapsed() >= Duration::from_millis(500), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_new_key_is_accepted_at_once_while_others_send_unknown_keys() {
    let gateway = Fixture::new().await;
    let unknown = format!("Bearer {UNKNOWN}");
    for _ in 0..5 {
        let (_, key) = gateway.create().await;
        let authorization = format!("Bearer {key}");
        let others = join_all((0..100).map(|_| gateway.authenticate(&unknown)));
        let (others, answer) = tokio::join!(others, gateway.authenticate(&authorization));
        answer.unwrap();
        assert!(others.iter().all(|other| matches!(other, Err(AuthError::Unknown))));
    }
}

#[tokio::test]
async fn a_caller_has_the_scopes_of_its_key_only() {
    let gateway = Fixture::new().await;
    let (_, key) = gateway.create().await;
    let caller = gateway.authenticate(&format!("Bearer {key}")).await.unwrap();
    caller.require(Scope::Operate).unwrap();
    assert_eq!(caller.require(Scope::Admin), Err(MissingScope(Scope::Admin)));
    assert_eq!(MissingScope(Scope::Admin).to_string(), "the token lacks the scope `admin`");
}

#[tokio::test]
async fn the_use_of_a_key_is_noted_even_if_the_table_was_replaced_meanwhile() {
    let gateway = Fixture::new().await;
    let (_, key) = gateway.create().await;
    gateway.authenticate(&format!("Bearer {key}")).await.unwrap();
    gateway.create().await;
    gateway.authenticator.reload().await.unwrap();
    gateway.authenticator.note_use().await.unwrap();
    let used: Vec<_> = gateway.store.keys().all().await.unwrap().iter().map(|key| key.last_used_at.is_some()).collect();
    assert_eq!(used.iter().filter(|used| **used).count(), 1, "{used:?}");
}

async fn start(gateway: &Fixture, chosen: Option<&str>) -> Result<Option<ShownOnce>, BootstrapError> {
    let result = bootstrap(&gateway.store, chosen.map(SecretString::from).as_ref()).await;
    gateway.authenticator.reload().await.unwrap();
    result
}

#[tokio::test]
async fn the_first_start_makes_a_key_with_every_scope_and_the_second_start_makes_no_key() {
    let gateway = Fixture::new().await;
    let key = start(&gateway, None).await.unwrap().unwrap();
    let caller = gateway.authenticate(&format!("Bearer {}", key.expose_secret())).await.unwrap();
    assert_eq!((caller.tenant.as_str(), &caller.subject, caller.scopes), ("default", &None, Scopes::of_first_key()));
    assert!(start(&gateway, None).await.unwrap().is_none());
    // The operator may choose the key that the first start made.
    assert!(start(&gateway, Some(key.expose_secret())).await.unwrap().is_none());
}

#[tokio::test]
async fn the_chosen_key_is_accepted_until_another_is_chosen() {
    let gateway = Fixture::new().await;
    for _ in 0..2 {
        assert!(start(&gateway, Some("chosen-key-number-1")).await.unwrap().is_none());
        gateway.authenticate("Bearer chosen-key-number-1").await.unwrap();
    }
    start(&gateway, Some("chosen-key-number-2")).await.unwrap();
    gateway.authenticate("Bearer chosen-key-number-2").await.unwrap();
    assert!(matches!(gateway.authenticate("Bearer chosen-key-number-1").await, Err(AuthError::Revoked)));
    // Lists show no part of a chosen key.
    assert!(gateway.store.keys().all().await.unwrap().iter().all(|key| key.prefix.is_empty()));
}

#[tokio::test]
async fn a_chosen_key_that_is_short_or_cannot_be_sent_is_refused() {
    let gateway = Fixture::new().await;
    assert!(matches!(start(&gateway, Some("fifteen-letters")).await, Err(BootstrapError::TooShort)));
    for unsendable in ["with blanks in between", "mit-ümlauten-darin"] {
        assert!(matches!(start(&gateway, Some(unsendable)).await, Err(BootstrapError::NotPrintable)));
    }
}

#[test]
fn a_key_of_an_earlier_version_is_still_recognised() {
    assert_eq!(key::form_of(UNKNOWN), key::Form::Ours);
}

#[test]
fn a_key_has_the_documented_form() {
    let (stored, key) = make_key("test", "acme", None, Scopes::of_first_key()).unwrap();
    let key = key.expose_secret();
    assert_eq!(key.len(), 53);
    assert!(key[4..].bytes().all(|byte| byte.is_ascii_alphanumeric()));
    assert_eq!(stored.prefix, key[..8]);
    assert_eq!(key::form_of(key), key::Form::Ours);
    assert_eq!(key::form_of(&key[..52]), key::Form::Damaged);
    assert!(!format!("{stored:?}").contains(key));
}

#[test]
fn the_token_of_a_session_has_the_documented_form() {
    let (_, hash, token) = make_session_token().unwrap();
    let token = token.expose_secret();
    assert_eq!(key::hash(token), hash);
    assert_eq!(key::form_of(token), key::Form::Session);
    assert_eq!(key::form_of(&token[..20]), key::Form::Damaged);
}

proptest! {
    #[test]
    fn a_key_with_one_wrong_character_is_recognised(position in 4..53_usize, other in "[0-9A-Za-z]") {
        let (_, key) = make_key("test", "acme", None, Scopes::of_first_key()).unwrap();
        let mut damaged = key.expose_secret().to_owned();
        damaged.replace_range(position..=position, &other);
        prop_assume!(damaged != key.expose_secret());
        prop_assert_eq!(key::form_of(&damaged), key::Form::Damaged);
    }

    #[test]
    fn no_header_makes_parsing_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80), token in "cgw_\\PC{0,60}") {
        if let Ok(header) = HeaderValue::from_bytes(&bytes) {
            let _ = bearer_token(&header);
        }
        let _ = key::form_of(&token);
    }
}
