//! Tests of the service with a separate store and vault. No connector is installed, so no
//! provider is called.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use futures_util::future::join_all;
use secrecy::SecretBox;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use egress::{Egress, Settings};
use oauth::Tokens;
use sandbox::Sandbox;
use store::{
    Account, AuthType, Authorization, DatabaseTime, Details, DeviceProgress, Holder, Integration, IntegrationFilter,
    Status,
};

pub(super) struct Site {
    pub(super) integrations: Arc<Integrations>,
    _folder: TempDir,
}

pub(super) async fn site() -> Site {
    let folder = TempDir::new().unwrap();
    let config = Arc::new(Config {
        data_dir: folder.path().to_owned(),
        modules_dir: folder.path().to_owned(),
        ..Config::default()
    });
    let store = Store::connect(&config.store()).await.unwrap();
    let vault = Vault::open(&config.master_key_path(), &store).await.unwrap();
    let metrics = Arc::new(Metrics::default());
    let (sandbox, egress) = (
        Sandbox::start(config.sandbox_setup(), &SecretBox::default()).unwrap(),
        Egress::new(&Settings::default()).unwrap(),
    );
    let registry =
        Registry::new(Arc::clone(&config), sandbox, store.clone(), Arc::clone(&metrics), Events::default()).unwrap();
    let integrations = Integrations::new(config, store, egress, vault, Arc::new(registry), metrics, Events::default());
    Site { integrations: Arc::new(integrations), _folder: folder }
}

pub(super) fn holder(subject: &str) -> Holder {
    Holder { tenant: "acme".to_owned(), subject: subject.to_owned(), connector: "calendar".to_owned() }
}

/// An integration of ann.
pub(super) fn integration(id: &str, version: i64) -> Integration {
    Integration {
        id: id.to_owned(),
        holder: holder("ann"),
        user_identifier: "u".to_owned(),
        auth_type: AuthType::OAuth2,
        selected: false,
        created_at: SystemTime::UNIX_EPOCH,
        updated_at: SystemTime::UNIX_EPOCH,
        labels: store::Labels::new(),
        oauth_client: None,
        grant_type: None,
        version,
        details: Details {
            status: Status::Active,
            reason: None,
            account: Account::default(),
            scopes: Vec::new(),
            expires_at: None,
            last_refreshed_at: None,
            next_refresh_at: None,
            refresh_failing_since: None,
            secret: None,
        },
    }
}

/// Tokens with this lifetime.
pub(super) fn account_secret(lifetime: Duration) -> AccountSecret {
    AccountSecret::OAuth2 {
        tokens: Tokens {
            access_token: "an-access-token".into(),
            refresh_token: Some("a-refresh-token".into()),
            expires_in: Some(lifetime),
            scopes: None,
            grant: None,
        },
        scopes: vec!["events".to_owned()],
        since: SystemTime::now(),
        client: None,
    }
}

pub(super) fn account(email: &str) -> Account {
    Account { id: Some("7".to_owned()), email: Some(email.to_owned()), ..Account::default() }
}

#[tokio::test]
async fn an_account_is_named_by_the_caller_else_by_its_email_else_by_its_id() {
    let site = site().await;
    let connect = async |named: Option<&str>, account: Account| {
        let secret = account_secret(Duration::from_secs(3600));
        site.integrations.connect(&holder("ann"), named, None, account, &secret).await.unwrap().user_identifier
    };
    assert_eq!(connect(Some("work"), account("ann@example.com")).await, "work");
    assert_eq!(connect(None, account("ann@example.com")).await, "ann@example.com");
    assert_eq!(connect(None, Account { email: None, ..account("") }).await, "7");
    assert_eq!(connect(None, Account::default()).await, "default");
}

fn page() -> IntegrationFilter {
    IntegrationFilter { limit: 10, ..IntegrationFilter::default() }
}

#[tokio::test]
async fn a_holder_sees_selects_and_removes_its_own_integrations_only() {
    let site = site().await;
    let integrations = &site.integrations;
    let secret = account_secret(Duration::from_secs(3600));
    for subject in ["ann", "bob"] {
        integrations.connect(&holder(subject), Some("mail"), None, account("a@example.com"), &secret).await.unwrap();
    }
    assert_eq!(integrations.list_of_user("acme", "ann", page()).await.unwrap().len(), 1);
    assert_eq!(integrations.list_of_user("other", "ann", page()).await.unwrap().len(), 0);
    assert!(integrations.select(&holder("ann"), "mail").await.unwrap().unwrap().selected);
    assert!(!integrations.find(&holder("bob"), "mail").await.unwrap().unwrap().selected);
    assert_eq!(integrations.remove(&holder("cid"), "mail").await.unwrap(), None);
    assert_eq!(integrations.remove(&holder("ann"), "mail").await.unwrap(), Some(false), "no connector could revoke it");
    assert!(integrations.find(&holder("ann"), "mail").await.unwrap().is_none());
    assert!(integrations.find(&holder("bob"), "mail").await.unwrap().is_some());
}

#[tokio::test]
async fn a_removal_by_id_leaves_the_next_integration_of_the_same_name() {
    let site = site().await;
    let integrations = &site.integrations;
    let secret = account_secret(Duration::from_secs(3600));
    let connect = async || {
        integrations.connect(&holder("ann"), Some("mail"), None, account("a@example.com"), &secret).await.unwrap().id
    };
    let first = connect().await;
    assert_eq!(integrations.remove_by_id(first.clone()).await.unwrap(), Some(false));
    let second = connect().await;
    assert_ne!(first, second);
    assert_eq!(integrations.remove_by_id(first).await.unwrap(), None);
    assert_eq!(integrations.find(&holder("ann"), "mail").await.unwrap().unwrap().id, second);
}

#[tokio::test]
async fn a_record_contains_no_token() {
    let site = site().await;
    let secret = account_secret(Duration::from_secs(3600));
    let integration =
        site.integrations.connect(&holder("ann"), None, None, account("a@example.com"), &secret).await.unwrap();
    let shown = format!("{integration:?} {}", json!(IntegrationRecord::at(&integration, SystemTime::now())));
    assert!(!shown.contains("-token"), "{shown}");
}

#[tokio::test]
async fn a_credential_that_only_the_operator_can_refresh_stays_active_and_says_so() {
    let site = site().await;
    let secret = account_secret(Duration::from_secs(60));
    let before =
        site.integrations.connect(&holder("ann"), None, None, account("a@example.com"), &secret).await.unwrap();
    site.integrations.refresh(&before.id, before.version).await;
    let after = site.integrations.find(&holder("ann"), "a@example.com").await.unwrap().unwrap();
    let shown = json!(IntegrationRecord::at(&after, SystemTime::now()));
    assert_eq!(shown["status"], "active");
    assert_eq!(shown["reason"]["owner"], "operator");
    assert_eq!(after.details.secret, before.details.secret);
}

#[tokio::test]
async fn a_hundred_callers_that_need_the_same_refresh_share_one() {
    let site = site().await;
    let secret = account_secret(Duration::from_secs(60));
    let before =
        site.integrations.connect(&holder("ann"), None, None, account("a@example.com"), &secret).await.unwrap();
    join_all((0..100).map(|_| site.integrations.refresh(&before.id, before.version))).await;
    let after = site.integrations.find(&holder("ann"), "a@example.com").await.unwrap().unwrap();
    assert_eq!(after.version, before.version + 1);
    // A caller that still knows the previous version finds the refresh done.
    site.integrations.refresh(&before.id, before.version).await;
    let later = site.integrations.find(&holder("ann"), "a@example.com").await.unwrap().unwrap();
    assert_eq!(later.version, after.version);
}

/// An authorization of ann.
fn authorization(state: &str, expires_at: DatabaseTime) -> Authorization {
    Authorization {
        hash: authorization::state_hash(state),
        holder: holder("ann"),
        user_identifier: None,
        replaces: false,
        confirms: false,
        callback_url: "http://localhost/".to_owned(),
        connect_link: None,
        redirect_uri: String::new(),
        verifier: None,
        labels: None,
        address: store::AccountAddress::new(),
        key_id: None,
        oauth_client: None,
        expires_at,
    }
}

#[tokio::test]
async fn of_two_accounts_that_are_consented_with_at_once_one_gets_the_name() {
    let site = site().await;
    let integrations = &site.integrations;
    let secret = account_secret(Duration::from_secs(3600));
    let expires_at = integrations.store.database().now().await.unwrap() + Duration::from_secs(600);
    for number in 0..20 {
        let consent = async |id: &str| {
            let name = Some(format!("work{number}"));
            let begun = Authorization { user_identifier: name, ..authorization(&format!("{number}{id}"), expires_at) };
            integrations.store.authorizations().save(begun.clone(), None).await.unwrap();
            let account = Account { id: Some(id.to_owned()), ..account("") };
            integrations.conclude(&begun, account, &secret).await.unwrap()
        };
        let (one, other) = tokio::join!(consent("a"), consent("b"));
        let results = [one, other];
        let connected = results.iter().filter(|result| matches!(result, AuthorizationResult::Connected { .. }));
        let refused = results.iter().filter(|result| matches!(result, AuthorizationResult::OtherAccount { .. }));
        assert_eq!((connected.count(), refused.count()), (1, 1), "{results:?}");
    }
}

#[tokio::test]
async fn a_grant_is_not_confirmed_if_another_account_has_taken_the_name_since() {
    let site = site().await;
    let integrations = &site.integrations;
    let secret = account_secret(Duration::from_secs(3600));
    let expires_at = integrations.store.database().now().await.unwrap() + Duration::from_secs(600);
    let consent = async |person: &str, state: &str, replaces: bool| {
        let begun = Authorization {
            user_identifier: Some("work".to_owned()),
            confirms: true,
            replaces,
            ..authorization(state, expires_at)
        };
        integrations.store.authorizations().save(begun.clone(), None).await.unwrap();
        let account = Account { id: Some(person.to_owned()), ..account(person) };
        match integrations.conclude(&begun, account, &secret).await.unwrap() {
            AuthorizationResult::Pending { completion, .. } => completion.shown().to_string(),
            other => panic!("{other:?}"),
        }
    };
    let confirm = async |completion: &str| {
        let confirmed = integrations.confirm(&holder("ann"), "work", completion).await.unwrap();
        confirmed.map(|integration| integration.details.account.id.unwrap())
    };
    let of_ada = consent("ada", "1", false).await;
    let of_bob = consent("bob", "2", false).await;
    let instead = consent("bob", "3", true).await;
    assert_eq!(confirm(&of_ada).await, Ok("ada".to_owned()));
    assert_eq!(confirm(&of_bob).await, Err(NotConfirmed::OtherAccount { connected: "ada".to_owned() }));
    assert_eq!(confirm(&instead).await, Ok("bob".to_owned()));
    assert_eq!(confirm(&of_bob).await, Ok("bob".to_owned()), "the grant still waits");
}

#[tokio::test]
async fn a_gateway_without_the_connector_leaves_a_device_code_to_the_others() {
    let site = site().await;
    let integrations = &site.integrations;
    let expires_at = integrations.store.database().now().await.unwrap() + Duration::from_secs(600);
    let begun = authorization("code", expires_at);
    integrations.store.authorizations().save(begun.clone(), Some(Duration::ZERO)).await.unwrap();
    assert!(matches!(integrations.ask_about_device(&begun.hash).await, DeviceStep::Wait));
    let progress = integrations.device_progress(&holder("ann"), "code").await.unwrap();
    assert_eq!(progress, Some(DeviceProgress::Pending));
}

#[tokio::test]
async fn an_authorization_is_taken_once_and_by_its_own_connector_only() {
    let site = site().await;
    let now = site.integrations.store.database().now().await.unwrap();
    for (state, expires_at) in
        [("good", now + Duration::from_secs(600)), ("elsewhere", now + Duration::from_secs(600)), ("late", now)]
    {
        site.integrations.store.authorizations().save(authorization(state, expires_at), None).await.unwrap();
    }
    let take = async |connector: &str, state: &str| {
        site.integrations.take_authorization(connector, state).await.unwrap().map(drop)
    };
    assert_eq!(take("calendar", "good").await, Ok(()));
    assert_eq!(take("calendar", "good").await, Err(NoAuthorization::Used));
    assert_eq!(take("mail", "elsewhere").await, Err(NoAuthorization::OtherConnector));
    assert_eq!(take("calendar", "elsewhere").await, Ok(()), "another connector has not used it up");
    assert_eq!(take("calendar", "late").await, Err(NoAuthorization::Expired));
    assert_eq!(take("calendar", "never").await, Err(NoAuthorization::Unknown));
}

#[tokio::test]
async fn a_task_that_no_caller_waits_for_finishes_before_the_gateway_stops() {
    let site = site().await;
    tokio::time::pause();
    let done = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&done);
    drop(site.integrations.spawn(async move {
        tokio::time::sleep(Duration::from_secs(5)).await;
        flag.store(true, Ordering::Relaxed);
    }));
    site.integrations.shut_down().await;
    assert!(done.load(Ordering::Relaxed));
}

#[tokio::test]
async fn a_task_that_never_ends_does_not_keep_the_gateway_from_stopping() {
    let site = site().await;
    tokio::time::pause();
    drop(site.integrations.spawn(std::future::pending::<()>()));
    let started = tokio::time::Instant::now();
    site.integrations.shut_down().await;
    assert!(started.elapsed() >= MAX_SHUTDOWN);
}
