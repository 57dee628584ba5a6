//! Jobs, on every database.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;
use crate::simulated::{Faults, SimulatedDatabase, Step};
use crate::testing::{Site, data_key, on_every_database, sealed};
use crate::{NewDelivery, Payload, Sealed, Store, StoreError, WebhookSource};

on_every_database!(
    a_job_comes_back_as_it_was_added,
    another_user_sees_nothing_of_a_job,
    a_list_has_the_newest_job_first_and_goes_on_behind_a_job,
    tenants_take_turns,
    jobs_of_full_connectors_are_skipped,
    many_takers_at_once_take_each_job_once,
    a_job_that_is_renewed_in_the_grace_time_stays_with_its_gateway,
    a_job_that_was_put_back_is_not_taken_before_its_pause_has_passed,
    a_new_job_does_not_wait_for_a_clock_that_was_set_back,
    a_lease_that_has_ended_lets_reads_be_taken_again_and_changes_be_found,
    a_worker_whose_job_was_taken_up_writes_nothing,
    the_end_of_a_job_stores_its_webhooks_and_forgets_the_input,
    a_tenant_has_a_limited_number_of_pending_jobs,
    ended_jobs_are_hidden_and_deleted_when_they_expire,
    many_jobs_that_have_expired_are_deleted_some_at_a_time,
);

const LONG: Duration = Duration::from_secs(60);

/// Jobs that were cut off this often are not run again.
const ATTEMPTS: u32 = 3;

fn new(tenant: &str) -> NewJob {
    NewJob {
        id: new_job_id().unwrap(),
        tenant: tenant.into(),
        subject: "ann".into(),
        connector: "calendar".into(),
        operation: "search".into(),
        user_identifier: Some("ann@example.com".into()),
        key_id: None,
        changes_data: false,
        values: vec![(JobValue::Input, sealed("dk_1")), (JobValue::Callbacks, sealed("dk_1"))],
    }
}

async fn add(store: &Store, job: NewJob) -> String {
    data_key(store, "dk_1").await;
    let id = job.id.clone();
    store.jobs().add(job, 1000).await.unwrap();
    id
}

/// The tenants that are skipped.
fn without(tenant: &str) -> FullShares {
    FullShares { tenants: vec![tenant.into()], connectors: vec![] }
}

async fn take(store: &Store, life: Duration) -> Job {
    store.jobs().take("one", life, FullShares::default()).await.unwrap().unwrap()
}

async fn status(store: &Store, tenant: &str, id: &str) -> JobStatus {
    store.jobs().get(tenant, "ann", id).await.unwrap().unwrap().status
}

async fn ended(store: &Store, succeeded: bool, kept_for: Duration) -> Ended {
    let finished_at = store.database.now().await.unwrap();
    let value = if succeeded { JobValue::Result } else { JobValue::Error };
    let values = vec![(value, Sealed { key_id: "dk_1".into(), bytes: vec![7] })];
    Ended { succeeded, cancelled: false, values, finished_at, expires_at: finished_at + kept_for, deliveries: vec![] }
}

async fn a_job_comes_back_as_it_was_added(site: Site) {
    let store = &site.store;
    let id = add(store, new("acme")).await;
    let job = store.jobs().get("acme", "ann", &id).await.unwrap().unwrap();
    assert_eq!((&*job.id, &*job.tenant, &*job.subject), (&*id, "acme", "ann"));
    assert_eq!((&*job.connector, &*job.operation), ("calendar", "search"));
    assert_eq!((job.user_identifier.as_deref(), job.changes_data), (Some("ann@example.com"), false));
    assert_eq!((job.status, job.attempts, job.fence), (JobStatus::Pending, 0, 0));
    assert_eq!((job.started_at, job.finished_at, job.expires_at), (None, None, None));
    assert_eq!(store.jobs().value(&id, JobValue::Input).await.unwrap(), Some(sealed("dk_1")));
    assert_eq!(store.jobs().value(&id, JobValue::Result).await.unwrap(), None);

    let taken = take(store, LONG).await;
    assert_eq!((&taken.id, taken.status, taken.attempts, taken.fence), (&id, JobStatus::Running, 1, 1));
    assert!(taken.started_at >= Some(taken.created_at));
    assert_eq!(store.jobs().take("one", LONG, FullShares::default()).await.unwrap(), None);
    let end = ended(store, true, LONG).await;
    assert!(store.jobs().end(&id, taken.fence, end.clone()).await.unwrap());
    let job = store.jobs().get("acme", "ann", &id).await.unwrap().unwrap();
    assert_eq!((job.status, job.finished_at), (JobStatus::Succeeded, Some(end.finished_at)));
    assert!(job.expires_at.is_some());
    assert_eq!(store.jobs().value(&id, JobValue::Result).await.unwrap().unwrap().bytes, [7]);
    assert_eq!(store.jobs().value_bytes(&id, JobValue::Result).await.unwrap(), 1);
    assert_eq!(store.jobs().value_bytes(&id, JobValue::Unmatched).await.unwrap(), 0);
    assert!(!store.jobs().end(&id, taken.fence + 1, ended(store, false, LONG).await).await.unwrap(), "a job ends once");
}

async fn another_user_sees_nothing_of_a_job(site: Site) {
    let store = &site.store;
    let id = add(store, new("acme")).await;
    for (tenant, subject) in [("acme", "bob"), ("acme", ""), ("other", "ann")] {
        assert_eq!(store.jobs().get(tenant, subject, &id).await.unwrap(), None);
        let filter = JobFilter { limit: 10, ..JobFilter::default() };
        assert_eq!(store.jobs().of(tenant, subject, filter).await.unwrap(), []);
    }
}

async fn a_list_has_the_newest_job_first_and_goes_on_behind_a_job(site: Site) {
    let store = &site.store;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.insert(0, add(store, new("acme")).await);
    }
    let list = async |before: Option<&str>, status, limit| {
        let filter = JobFilter { status, before: before.map(str::to_owned), limit };
        let jobs = store.jobs().of("acme", "ann", filter).await.unwrap();
        jobs.into_iter().map(|job| job.id).collect::<Vec<_>>()
    };
    assert_eq!(list(None, None, 10).await, ids);
    assert_eq!(list(None, None, 2).await, ids[..2]);
    assert_eq!(list(Some(&ids[1]), None, 2).await, ids[2..4]);
    assert_eq!(list(Some(&ids[4]), None, 2).await, [""; 0]);
    let taken = take(store, LONG).await.id;
    assert_eq!(list(None, Some(JobStatus::Running), 10).await, [taken]);
    assert_eq!(list(None, Some(JobStatus::Pending), 10).await, ids[..4]);
}

async fn tenants_take_turns(site: Site) {
    let store = &site.store;
    let mut large = Vec::new();
    for _ in 0..5 {
        large.push(add(store, new("large")).await);
    }
    assert_eq!(take(store, LONG).await.id, large[0]);
    let mut small = Vec::new();
    for _ in 0..2 {
        small.push(add(store, new("small")).await);
    }
    let mut order = Vec::new();
    for _ in 0..6 {
        order.push(take(store, LONG).await.id);
    }
    assert_eq!(order, [&small[0], &large[1], &small[1], &large[2], &large[3], &large[4]].map(String::clone));

    add(store, new("large")).await;
    assert_eq!(store.jobs().take("one", LONG, without("large")).await.unwrap(), None);
}

async fn jobs_of_full_connectors_are_skipped(site: Site) {
    let store = &site.store;
    let of = |tenant: &str, connector: &str| NewJob { connector: connector.into(), ..new(tenant) };
    let [skipped, later, mail] = [of("acme", "calendar"), of("acme", "chat"), of("acme", "mail")];
    let ids = [&skipped, &later, &mail].map(|job| job.id.clone());
    for job in [skipped, later, mail] {
        add(store, job).await;
    }
    let full = |names: &[&str]| FullShares {
        tenants: vec![],
        connectors: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    let taken = async |names: &[&str]| store.jobs().take("one", LONG, full(names)).await.unwrap().map(|job| job.id);
    assert_eq!(taken(&["calendar", "chat", "mail"]).await, None);
    assert_eq!(taken(&["calendar", "chat"]).await.as_ref(), Some(&ids[2]));
    assert_eq!(taken(&["calendar"]).await.as_ref(), Some(&ids[1]));
    assert_eq!(taken(&["calendar"]).await, None);
    assert_eq!(taken(&[]).await.as_ref(), Some(&ids[0]));
}

async fn many_takers_at_once_take_each_job_once(site: Site) {
    let other = site.open_again().await;
    let mut ids = HashSet::new();
    for number in 0..30 {
        ids.insert(add(&site.store, new(["one", "two", "three"][number % 3])).await);
    }
    let taking: Vec<_> = (0..8)
        .map(|number| {
            let store = if number % 2 == 0 { &site.store } else { &other }.clone();
            tokio::spawn(async move {
                let mut taken = Vec::new();
                // A taker that finds every job locked gets nothing, although jobs are left.
                for _ in 0..30 {
                    taken.extend(store.jobs().take("one", LONG, FullShares::default()).await.unwrap());
                }
                taken
            })
        })
        .collect();
    let mut taken = Vec::new();
    for taker in taking {
        taken.extend(taker.await.unwrap().into_iter().map(|job| job.id));
    }
    assert_eq!(taken.len(), 30);
    assert_eq!(HashSet::from_iter(taken), ids);
}

async fn a_job_that_was_put_back_is_not_taken_before_its_pause_has_passed(site: Site) {
    let store = &site.store;
    let id = add(store, new("acme")).await;
    let job = take(store, LONG).await;
    assert!(!store.jobs().put_back(&id, job.fence + 1, Duration::ZERO).await.unwrap());
    assert!(store.jobs().put_back(&id, job.fence, LONG).await.unwrap());
    assert_eq!(status(store, "acme", &id).await, JobStatus::Pending);
    assert_eq!(store.jobs().take("one", LONG, FullShares::default()).await.unwrap(), None);
    site.execute("UPDATE jobs SET due_at = 0").await;
    let again = take(store, LONG).await;
    assert_eq!((again.attempts, again.fence, again.started_at), (1, 2, job.started_at));
    assert!(store.jobs().put_back(&id, again.fence, Duration::ZERO).await.unwrap());
    assert_eq!(take(store, LONG).await.fence, 3);
}

async fn a_lease_that_has_ended_lets_reads_be_taken_again_and_changes_be_found(site: Site) {
    let store = &site.store;
    let read = add(store, new("acme")).await;
    let write = add(store, NewJob { changes_data: true, ..new("acme") }).await;
    let held = add(store, new("acme")).await;
    take(store, Duration::ZERO).await;
    take(store, Duration::ZERO).await;
    take(store, LONG).await;
    assert_eq!(store.jobs().take_lost(LONG, ATTEMPTS, 10).await.unwrap(), (0, vec![]), "their gateway may still live");
    let (put_back, lost) = take_lost(store).await;
    assert_eq!(put_back, 1);
    assert_eq!(lost.iter().map(|job| &job.id).collect::<Vec<_>>(), [&write]);
    assert_eq!(status(store, "acme", &read).await, JobStatus::Pending);
    for id in [&write, &held] {
        assert_eq!(status(store, "acme", id).await, JobStatus::Running);
    }
    for _ in 1..ATTEMPTS {
        assert_eq!(take(store, Duration::ZERO).await.id, read);
        take_lost(store).await;
    }
    assert_eq!(store.jobs().take("one", LONG, FullShares::default()).await.unwrap(), None, "it was cut off too often");
    assert_eq!(take_lost(store).await.1.len(), 2);
}

/// Takes lost jobs, as a process does that has seen their leases ended for long enough.
async fn take_lost(store: &Store) -> (u64, Vec<Job>) {
    store.jobs().take_lost(LONG, ATTEMPTS, 10).await.unwrap();
    store.database.health().pass_grace();
    store.jobs().take_lost(LONG, ATTEMPTS, 10).await.unwrap()
}

async fn a_job_that_is_renewed_in_the_grace_time_stays_with_its_gateway(site: Site) {
    let store = &site.store;
    let id = add(store, new("acme")).await;
    let job = take(store, Duration::ZERO).await;
    assert_eq!(store.jobs().take_lost(LONG, ATTEMPTS, 10).await.unwrap().0, 0);
    tokio::time::sleep(Duration::from_millis(2)).await;
    store.jobs().renew(vec![(id.clone(), job.fence)], Duration::ZERO).await.unwrap();
    store.database.health().pass_grace();
    assert_eq!(store.jobs().take_lost(LONG, ATTEMPTS, 10).await.unwrap().0, 0);
    assert_eq!(status(store, "acme", &id).await, JobStatus::Running);
}

/// The way to a database that takes no writes while this is `true`.
#[derive(Default)]
struct ReadOnly(AtomicBool);

impl Faults for ReadOnly {
    fn before(&self, writes: bool) -> Step {
        let is_refused = writes && self.0.load(Ordering::Relaxed);
        Box::pin(std::future::ready(if is_refused { Err(StoreError::Closed) } else { Ok(()) }))
    }

    fn after(&self, _writes: bool) -> Step {
        Box::pin(std::future::ready(Ok(())))
    }
}

#[tokio::test]
async fn a_job_is_not_lost_because_the_database_took_no_renewal() {
    let read_only = Arc::<ReadOnly>::default();
    let store = &SimulatedDatabase::open(|| 1_000).unwrap().store(Arc::clone(&read_only) as Arc<dyn Faults>);
    add(store, NewJob { changes_data: true, ..new("acme") }).await;
    take(store, Duration::ZERO).await;
    assert_eq!(store.jobs().take_lost(LONG, ATTEMPTS, 10).await.unwrap(), (0, vec![]));
    read_only.0.store(true, Ordering::Relaxed);
    store.database.health().pass_grace();
    assert!(store.jobs().take_lost(LONG, ATTEMPTS, 10).await.is_err(), "its gateway could not renew either");
    read_only.0.store(false, Ordering::Relaxed);
    assert_eq!(store.jobs().take_lost(LONG, ATTEMPTS, 10).await.unwrap(), (0, vec![]), "the grace time begins again");
    store.database.health().pass_grace();
    assert_eq!(store.jobs().take_lost(LONG, ATTEMPTS, 10).await.unwrap().1.len(), 1);
}

#[tokio::test]
async fn a_server_that_takes_no_writes_shows_no_lost_job() {
    let site = Site::postgres().await;
    let store = &site.store;
    add(store, NewJob { changes_data: true, ..new("acme") }).await;
    take(store, Duration::ZERO).await;
    assert_eq!(store.jobs().take_lost(LONG, ATTEMPTS, 10).await.unwrap(), (0, vec![]));
    site.execute("SET default_transaction_read_only = on").await;
    store.database.health().pass_grace();
    let error = store.jobs().take_lost(LONG, ATTEMPTS, 10).await.unwrap_err();
    assert!(error.to_string().contains("read-only transaction"), "{error}");
}

async fn a_new_job_does_not_wait_for_a_clock_that_was_set_back(site: Site) {
    let store = &site.store;
    let id = add(store, new("acme")).await;
    site.execute("UPDATE jobs SET due_at = due_at + 3600000, created_at = created_at + 3600000").await;
    assert_eq!(take(store, LONG).await.id, id);
}

async fn a_worker_whose_job_was_taken_up_writes_nothing(site: Site) {
    let store = &site.store;
    let id = add(store, new("acme")).await;
    let late = take(store, Duration::ZERO).await;
    let renew = async |fence, life| store.jobs().renew(vec![(id.clone(), fence)], life).await.unwrap();
    assert_eq!(renew(late.fence, Duration::ZERO).await, [id.as_str()]);
    take_lost(store).await;
    let next = store.jobs().take("one", LONG, FullShares::default()).await.unwrap().unwrap();
    assert_eq!(renew(late.fence, LONG).await, [""; 0]);
    assert_eq!(renew(next.fence, LONG).await, [id.as_str()]);
    store.jobs().save_progress(&id, late.fence, sealed("dk_1")).await.unwrap();
    assert_eq!(store.jobs().value(&id, JobValue::Progress).await.unwrap(), None);
    assert!(!store.jobs().end(&id, late.fence, ended(store, true, LONG).await).await.unwrap());
    assert!(!store.jobs().put_back(&id, late.fence, Duration::ZERO).await.unwrap());
    assert_eq!(store.jobs().value(&id, JobValue::Result).await.unwrap(), None);

    store.jobs().save_progress(&id, next.fence, sealed("dk_1")).await.unwrap();
    assert_eq!(store.jobs().value(&id, JobValue::Progress).await.unwrap(), Some(sealed("dk_1")));
    assert!(store.jobs().end(&id, next.fence, ended(store, false, LONG).await).await.unwrap());
    assert_eq!(status(store, "acme", &id).await, JobStatus::Failed);
}

async fn the_end_of_a_job_stores_its_webhooks_and_forgets_the_input(site: Site) {
    let store = &site.store;
    let id = add(store, new("acme")).await;
    let job = take(store, LONG).await;
    let delivery = NewDelivery {
        webhook_id: NewDelivery::id_of(&id, "https://app.example/hook"),
        tenant: "acme".into(),
        source: WebhookSource::Job(id.clone()),
        receiver: "https://app.example".into(),
        url: sealed("dk_1"),
        url_hash: String::new(),
        payload: Arc::new(Payload { id: id.clone(), sealed: sealed("dk_1") }),
        kept_for: LONG,
    };
    let ended = Ended { deliveries: vec![delivery], ..ended(store, true, LONG).await };
    assert!(!store.jobs().end(&id, job.fence + 1, ended.clone()).await.unwrap());
    assert_eq!(store.webhooks().deliveries_of(&id).await.unwrap(), []);
    assert!(store.jobs().end(&id, job.fence, ended).await.unwrap());
    assert_eq!(store.webhooks().deliveries_of(&id).await.unwrap().len(), 1);
    assert_eq!(store.jobs().value(&id, JobValue::Input).await.unwrap(), None);
    assert!(store.jobs().value(&id, JobValue::Callbacks).await.unwrap().is_some());
}

async fn a_tenant_has_a_limited_number_of_pending_jobs(site: Site) {
    let store = &site.store;
    let first = new("acme");
    for job in [first.clone(), new("acme")] {
        add(store, job).await;
    }
    let over = store.jobs().add(new("acme"), 2).await.unwrap_err();
    assert!(matches!(over, StoreError::TooManyJobs { limit: 2 }), "{over}");
    store.jobs().add(first, 2).await.expect("a job that is there already is no further one");
    store.jobs().add(new("other"), 2).await.unwrap();
    store.jobs().take("one", LONG, without("other")).await.unwrap().unwrap();
    store.jobs().add(new("acme"), 2).await.unwrap();
    assert_eq!(store.jobs().count_pending().await.unwrap(), 3);
}

async fn ended_jobs_are_hidden_and_deleted_when_they_expire(site: Site) {
    let store = &site.store;
    let [gone, kept, pending] = [(); 3].map(|()| new("acme"));
    let ids = [gone, kept, pending].map(|job| (job.id.clone(), job));
    for (_, job) in ids.clone() {
        add(store, job).await;
    }
    let [gone, kept, pending] = ids.map(|(id, _)| id);
    for (id, life) in [(&gone, Duration::ZERO), (&kept, LONG)] {
        let job = take(store, LONG).await;
        assert!(store.jobs().end(id, job.fence, ended(store, true, life).await).await.unwrap());
    }
    assert_eq!(store.jobs().get("acme", "ann", &gone).await.unwrap(), None);
    let filter = JobFilter { limit: 10, ..JobFilter::default() };
    let listed = store.jobs().of("acme", "ann", filter).await.unwrap();
    assert_eq!(listed.iter().map(|job| &job.id).collect::<Vec<_>>(), [&pending, &kept]);
    assert!(!store.jobs().delete_expired().await.unwrap());
    assert_eq!(store.jobs().value(&gone, JobValue::Result).await.unwrap(), None);
    assert!(store.jobs().value(&kept, JobValue::Result).await.unwrap().is_some());
}

async fn many_jobs_that_have_expired_are_deleted_some_at_a_time(site: Site) {
    let store = &site.store;
    site.execute(
        "INSERT INTO jobs (id, tenant, subject, connector, operation, changes_data, status, due_at, created_at, expires_at)
         WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 600)
         SELECT 'job_' || n, 'acme', 'ann', 'calendar', 'search', FALSE, 'failed', 0, 0, 1 FROM numbers",
    )
    .await;
    assert!(store.jobs().delete_expired().await.unwrap(), "there are more");
    let left: u64 = store.read(|connection| connection.one("SELECT count(*) FROM jobs", &[])).await.unwrap();
    assert_eq!(left, 100);
    assert!(!store.jobs().delete_expired().await.unwrap());
}

#[test]
fn ids_grow_also_within_a_millisecond() {
    let ids: Vec<String> = (0..1000).map(|_| new_job_id().unwrap()).collect();
    assert!(ids.is_sorted());
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 1000);
    assert!(ids.iter().all(|id| id.len() == "job_".len() + 32));
}
