//! Tests of the service with a separate store and vault, and receivers on loopback.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use stub::{Stub, answer, ok, raw};
use tempfile::TempDir;
use url::Url;

use super::*;
use config::Callbacks;
use store::simulated::{Faults, SimulatedDatabase, Step};
use store::{
    AnyDeliveryFilter, Delivery, DeliveryAttempt, DeliveryStatus, NewDelivery, StoreError, UrlFilter, WebhookSource,
};

const DAY: Duration = Duration::from_secs(24 * 3600);

struct Site {
    webhooks: Webhooks,
    _folder: TempDir,
}

async fn site(callbacks: Callbacks) -> Site {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    site_with(callbacks, folder, store).await
}

async fn site_with(callbacks: Callbacks, folder: TempDir, store: Store) -> Site {
    let config = Arc::new(Config { data_dir: folder.path().to_owned(), callbacks, ..Config::default() });
    let vault = Vault::open(&config.master_key_path(), &store).await.unwrap();
    // Every name leads to loopback.
    let lookup: egress::Lookup = Arc::new(|_| Box::pin(async { Ok(vec![SocketAddr::from(([127, 0, 0, 1], 0))]) }));
    let egress = Egress::new(&egress::Settings { lookup, ..egress::Settings::default() }).unwrap();
    let webhooks = Webhooks::new(config, store, egress, vault, Arc::new(Metrics::default()));
    Site { webhooks, _folder: folder }
}

fn private() -> Callbacks {
    Callbacks { allow_private_network: true, ..Callbacks::default() }
}

impl Site {
    /// Stores a webhook of a job, attempts it once, and returns its state.
    async fn attempt(&self, url: &str) -> Delivery {
        let urls = [url.to_owned()];
        let deliveries = self.webhooks.deliveries_of_job("acme", "job_1", &urls, b"{}", DAY).await.unwrap();
        self.webhooks.store.webhooks().add_deliveries(deliveries).await.unwrap();
        let limits = store::ClaimLimits { of_receiver: 1, of_tenant: 1, of_claim: 1, bytes: 1 << 20 };
        let claimed = self.webhooks.store.webhooks().claim_deliveries(DAY, limits).await.unwrap().pop().unwrap();
        self.webhooks.attempt(claimed).await;
        self.webhooks.store.webhooks().deliveries_of("job_1").await.unwrap().pop().unwrap()
    }
}

#[tokio::test]
async fn callback_urls_are_accepted_in_normal_form_and_each_once() {
    let site = site(Callbacks::default()).await;
    site.webhooks.create_secret("acme").await.unwrap();
    let urls = ["https://A.example", "https://a.example/", "https://a.example/b"].map(str::to_owned);
    let accepted = site.webhooks.accept_urls("acme", &urls).await.unwrap();
    assert_eq!(accepted, ["https://a.example/", "https://a.example/b"]);
}

#[tokio::test]
async fn a_callback_url_that_is_longer_in_normal_form_is_called() {
    let receiver = Stub::start(|_, _| ok("")).await;
    let site = site(private()).await;
    site.webhooks.create_secret("acme").await.unwrap();
    let url = format!("{}/{}", receiver.url(), "é".repeat(900));
    assert!(url.len() < MAX_URL_BYTES);
    let accepted = site.webhooks.accept_urls("acme", &[url]).await.unwrap();
    assert!(accepted[0].len() > MAX_URL_BYTES);
    let delivery = site.attempt(&accepted[0]).await;
    assert_eq!(delivery.status, DeliveryStatus::Delivered, "{delivery:?}");
}

#[tokio::test]
async fn a_webhook_for_an_agent_is_found_by_its_url_in_any_spelling() {
    let site = site(Callbacks::default()).await;
    let stored = site.webhooks.trigger_delivery("acme", "evt_1", "https://App.example:443/a b", true).await.unwrap();
    for spelling in ["https://App.example:443/a b", "https://app.example/a%20b"] {
        assert_eq!(parse_url_filter(spelling), Ok(UrlFilter::Hash(stored.url_hash.clone())), "{spelling}");
    }
}

#[tokio::test]
async fn a_webhook_whose_url_cannot_be_decrypted_is_listed_without_it_and_keeps_no_other_one_out() {
    let site = site(Callbacks::default()).await;
    let urls = ["https://a.example/1", "https://b.example/2"].map(str::to_owned);
    let mut deliveries = site.webhooks.deliveries_of_job("acme", "job_1", &urls, b"{}", DAY).await.unwrap();
    // A value of another row cannot be decrypted in this one.
    deliveries[0].url = deliveries[1].url.clone();
    site.webhooks.store.webhooks().add_deliveries(deliveries).await.unwrap();
    let filter = AnyDeliveryFilter { limit: 10, ..AnyDeliveryFilter::default() };
    let mut listed = Vec::new();
    for delivery in site.webhooks.store.webhooks().all_deliveries(filter).await.unwrap() {
        let record = json!(site.webhooks.any_record(delivery).await.unwrap());
        listed.push((record["receiver"].clone(), record["url"].clone()));
    }
    listed.sort_by_key(|(receiver, _)| receiver.to_string());
    let expected = [(json!("https://a.example"), Value::Null), (json!("https://b.example"), json!(urls[1]))];
    assert_eq!(listed, expected);
}

#[tokio::test]
async fn every_callback_url_that_is_not_allowed_is_named_by_its_index() {
    let site = site(Callbacks::default()).await;
    let urls = ["https://a.example", "http://a.example", "nonsense"].map(str::to_owned);
    match site.webhooks.accept_urls("acme", &urls).await {
        Err(CallbackError::Invalid(wrong)) => {
            assert_eq!(wrong.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [1, 2]);
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn callback_urls_need_a_secret_of_the_same_tenant() {
    let site = site(Callbacks::default()).await;
    let urls = ["https://a.example".to_owned()];
    let made = site.webhooks.create_secret("other").await.unwrap();
    let refused = site.webhooks.accept_urls("acme", &urls).await;
    assert!(matches!(refused, Err(CallbackError::SecretRequired)), "{refused:?}");
    assert!(site.webhooks.accept_urls("acme", &[]).await.unwrap().is_empty());
    assert!(site.webhooks.accept_urls("other", &urls).await.is_ok());
    assert!(site.webhooks.delete_secret("other", &made.record.id).await.unwrap());
    assert!(site.webhooks.accept_urls("other", &urls).await.is_err());
}

/// Loses the answer of the next write, if it is set.
#[derive(Default)]
struct Losing(AtomicBool);

impl Faults for Losing {
    fn before(&self, _writes: bool) -> Step {
        Box::pin(std::future::ready(Ok(())))
    }

    fn after(&self, writes: bool) -> Step {
        let is_lost = writes && self.0.swap(false, Ordering::SeqCst);
        Box::pin(std::future::ready(if is_lost { Err(StoreError::Closed) } else { Ok(()) }))
    }
}

#[tokio::test]
async fn a_secret_whose_answer_was_lost_is_shown_and_ends_no_other() {
    let losing = Arc::<Losing>::default();
    let faults: Arc<dyn Faults> = Arc::<Losing>::clone(&losing);
    let store = SimulatedDatabase::open(|| 1_800_000_000_000).unwrap().store(faults);
    let site = site_with(Callbacks::default(), TempDir::new().unwrap(), store).await;
    let first = site.webhooks.create_secret("acme").await.unwrap().record.id;
    losing.0.store(true, Ordering::SeqCst);
    let second = site.webhooks.create_secret("acme").await.unwrap().record.id;
    assert!(!losing.0.load(Ordering::SeqCst));
    let valid: Vec<_> = site.webhooks.secrets("acme").await.unwrap().into_iter().map(|secret| secret.id).collect();
    assert_eq!(valid, [second, first]);
}

#[tokio::test]
async fn a_name_that_leads_to_a_private_address_is_refused_before_a_connection_is_made() {
    static CONNECTIONS: AtomicUsize = AtomicUsize::new(0);
    let receiver = raw(|_, _| async { _ = CONNECTIONS.fetch_add(1, Ordering::SeqCst) }).await;
    let site = site(Callbacks::default()).await;
    site.webhooks.create_secret("acme").await.unwrap();
    let delivery = site.attempt(&format!("https://hooks.example:{}/", receiver.port())).await;
    let error = delivery.attempts[0].result.as_ref().unwrap_err();
    assert!(error.contains("`callbacks.allow_private_network`") && !error.contains("127.0.0.1"), "{error}");
    assert_eq!((delivery.status, CONNECTIONS.load(Ordering::SeqCst)), (DeliveryStatus::Pending, 0));
}

#[tokio::test]
async fn a_permission_that_was_withdrawn_is_noticed_at_the_attempt() {
    let receiver = Stub::start(|_, _| ok("")).await;
    let site = site(Callbacks::default()).await;
    site.webhooks.create_secret("acme").await.unwrap();
    let delivery = site.attempt(&receiver.url()).await;
    assert!(delivery.attempts[0].result.as_ref().unwrap_err().contains("https://"));
    assert!(receiver.seen().is_empty());
}

#[tokio::test]
async fn without_a_secret_nothing_is_sent() {
    let receiver = Stub::start(|_, _| ok("")).await;
    let site = site(private()).await;
    let delivery = site.attempt(&receiver.url()).await;
    assert!(delivery.attempts[0].result.as_ref().unwrap_err().contains("POST /webhooks/secrets"));
    assert_eq!(delivery.status, DeliveryStatus::Pending);
    assert!(receiver.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_does_not_answer_within_20_seconds_has_not_accepted() {
    let receiver = raw(|_, stream| async move {
        std::future::pending::<()>().await;
        drop(stream);
    })
    .await;
    let site = site(private()).await;
    site.webhooks.create_secret("acme").await.unwrap();
    let began = tokio::time::Instant::now();
    let delivery = site.attempt(&format!("http://{receiver}/")).await;
    assert_eq!(delivery.attempts[0].result, Err("no response within 20 s".to_owned()));
    assert_eq!((began.elapsed().as_secs(), delivery.status), (20, DeliveryStatus::Pending));
}

#[tokio::test]
async fn a_response_with_a_body_that_never_ends_is_delivered() {
    let receiver = Stub::start(|_, _| answer(204, &[], "")).await;
    let endless = raw(|_, mut stream| async move {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let mut request = [0; 4096];
        _ = stream.read(&mut request).await;
        _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\nx").await;
        std::future::pending::<()>().await;
    })
    .await;
    let site = site(private()).await;
    site.webhooks.create_secret("acme").await.unwrap();
    for url in [receiver.url(), format!("http://{endless}/")] {
        let delivery = site.attempt(&url).await;
        assert_eq!(delivery.status, DeliveryStatus::Delivered, "{delivery:?}");
        site.webhooks.store.webhooks().sweep().await.unwrap();
    }
}

#[tokio::test]
async fn an_event_is_a_webhook_of_the_tenant_default_and_nobody_is_told_without_a_url() {
    let silent = site(Callbacks::default()).await;
    let events = silent.webhooks.events();
    assert!(events.prepare(EventKind::ConnectorSwapped, &Value::Null).await.unwrap().is_empty());

    let events_url = Some(Url::parse("https://ops.example/hook").unwrap());
    let notifying = site(Callbacks { events_url, ..Callbacks::default() }).await;
    let prepared = notifying.webhooks.events().prepare(EventKind::ConnectorSwapped, &json!({"a": 1})).await.unwrap();
    let [NewDelivery { webhook_id, tenant, source, receiver, .. }] = &prepared[..] else { panic!("{prepared:?}") };
    assert_eq!((tenant.as_str(), source), ("default", &WebhookSource::Event));
    assert_eq!(receiver, "https://ops.example");
    assert!(webhook_id.starts_with("msg_") && !webhook_id.contains('.'), "{webhook_id}");
}

#[test]
fn the_record_of_a_job_has_each_of_its_urls_with_the_same_id_before_and_after_its_end() {
    let urls = ["https://a.example/", "https://b.example/"].map(str::to_owned);
    let callback_records =
        |job: &str, urls: &[String], deliveries: &[Delivery]| json!(CallbackRecord::of_job(job, urls, deliveries));
    let before = callback_records("job_1", &urls, &[]);
    assert_eq!(before[1]["status"], "pending");
    let webhook_id = NewDelivery::id_of("job_1", &urls[1]);
    let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
    let attempts = vec![
        DeliveryAttempt { at, result: Err("no answer".to_owned()) },
        DeliveryAttempt { at: at + Duration::from_secs(5), result: Ok(204) },
    ];
    let status = DeliveryStatus::Delivered;
    let delivery = Delivery { webhook_id: webhook_id.clone(), status, attempts };
    let after = callback_records("job_1", &urls, &[delivery]);
    assert_eq!(after[0], before[0]);
    let attempts = json!([
        {"at": "2023-11-14T22:13:20.123Z", "error": "no answer"},
        {"at": "2023-11-14T22:13:25.123Z", "status": 204},
    ]);
    assert_eq!(
        after[1],
        json!({"url": urls[1], "webhook_id": webhook_id, "status": "delivered", "attempts": attempts})
    );
    assert_eq!(before[1]["webhook_id"], after[1]["webhook_id"]);
    assert_ne!(before[0]["webhook_id"], before[1]["webhook_id"]);
    assert_ne!(callback_records("job_2", &urls, &[])[0]["webhook_id"], before[0]["webhook_id"]);
}
