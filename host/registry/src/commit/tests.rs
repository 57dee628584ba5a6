//! Tests of the order of a commit. Each step in turn fails, and the state after it is the
//! state after the last step that was made.

use std::fs;

use secrecy::SecretBox;
use tempfile::TempDir;

use super::*;
use crate::grants::Grants;
use crate::history::{self, Actor};
use config::Config;
use metrics::Metrics;
use sandbox::Sandbox;
use store::{GrantSwap, ModuleCondition, Store};
use webhooks::Events;

/// A registry with the foreign connector `one`, whose file has the module `old`.
struct Site {
    registry: Registry,
    store: Store,
    folder: TempDir,
}

async fn site() -> Site {
    let folder = TempDir::new().unwrap();
    let modules_dir = folder.path().join("modules");
    fs::create_dir(&modules_dir).unwrap();
    let config = Arc::new(Config { data_dir: folder.path().to_owned(), modules_dir, ..Config::default() });
    let store = Store::connect(&config.store()).await.unwrap();
    let sandbox = Sandbox::start(config.sandbox_setup(), &SecretBox::default()).unwrap();
    let metrics = Arc::new(Metrics::default());
    let registry = Registry::new(config, sandbox, store.clone(), metrics, Events::default()).unwrap();
    let path = registry.folders.keep(&record("old")).unwrap();
    let state = FileState::read(&path, Origin::Foreign).unwrap();
    registry.files.lock().await.mark_handled(path, state);
    store.grants().swap("one", GrantSwap::of_present(GrantChange::Add(&["old.example".to_owned()]))).await.unwrap();
    Site { registry, store, folder }
}

/// The record of a module of `one`, with a digest and a signature that are easy to compare.
fn record(module: &'static str) -> Record<'static> {
    Record {
        identifier: "one",
        origin: Origin::Foreign,
        digest: module,
        module: module.as_bytes(),
        signature: Some(module),
    }
}

impl Site {
    /// Swaps in the module `new`, with one more grant.
    async fn swap(&self, is_noticed: bool) -> Result<Committed<Option<i64>>, ChangeError> {
        self.swap_if(is_noticed, ModuleCondition::Always).await
    }

    async fn swap_if(
        &self,
        is_noticed: bool,
        condition: ModuleCondition,
    ) -> Result<Committed<Option<i64>>, ChangeError> {
        let by = Actor::CommandLine { user: "ann".to_owned(), host: "desk".to_owned() };
        let change = Change {
            entry: Some(history::removal("one", None, &by)),
            grants: GrantsStep::Swap {
                previous: Some("old".to_owned()),
                change: GrantChange::Add(&["new.example".to_owned()]),
            },
            folders: if is_noticed { FoldersStep::Accept } else { FoldersStep::Write },
            service: ServiceStep::Publish { condition, replaces_shipped: false },
            is_noticed,
        };
        self.registry.persist(&mut *self.registry.files.lock().await, &record("new"), change).await
    }

    /// Swaps in the module `new`, with one more grant, as a module that the service does not follow.
    async fn swap_here(&self, is_noticed: bool) -> Result<Committed<Option<i64>>, ChangeError> {
        let change = Change {
            entry: Some(history::removal("one", None, &Actor::ShippedDir)),
            grants: GrantsStep::Swap {
                previous: Some("old".to_owned()),
                change: GrantChange::Add(&["new.example".to_owned()]),
            },
            folders: FoldersStep::Unchanged,
            service: ServiceStep::Unchanged,
            is_noticed,
        };
        self.registry.persist(&mut *self.registry.files.lock().await, &record("new"), change).await
    }

    /// Makes each use of a table of the store fail.
    fn break_table(&self, table: &str) {
        let database = rusqlite::Connection::open(self.folder.path().join("gateway.db")).unwrap();
        database.execute_batch(&format!("ALTER TABLE {table} RENAME TO broken_{table}")).unwrap();
    }

    /// The number of entries in the history.
    async fn entries(&self) -> usize {
        self.registry.history(None, 10).await.unwrap().len()
    }

    async fn grants(&self) -> String {
        self.store.grants().of("one").await.unwrap().join(" ")
    }

    /// The module that the next start loads. Its mark and its signature belong to it.
    fn kept(&self) -> String {
        let path = self.registry.folders.foreign("one");
        let module = fs::read_to_string(&path).unwrap();
        assert_eq!(self.registry.folders.accepted("one").as_deref(), Some(&*module));
        assert_eq!(fs::read_to_string(trust_file(&path)).unwrap_or_else(|_| module.clone()), module);
        module
    }
}

fn trust_file(path: &Path) -> PathBuf {
    crate::trust::file(path)
}

#[tokio::test]
async fn a_commit_changes_history_grants_and_files() {
    let site = site().await;
    site.swap(false).await.unwrap();
    assert_eq!(
        (site.entries().await, site.grants().await, site.kept()),
        (1, "new.example old.example".into(), "new".into())
    );
    assert_eq!(site.store.grants().previous("one", "old").await.unwrap().unwrap(), ["old.example"]);
    let path = site.registry.folders.foreign("one");
    let state = FileState::read(&path, Origin::Foreign).unwrap();
    assert!(site.registry.files.lock().await.is_handled(&path, &state), "the next scan does not load it again");
}

#[tokio::test]
async fn without_the_history_nothing_changes() {
    let site = site().await;
    site.break_table("connector_changes");
    site.swap(false).await.unwrap_err();
    assert_eq!((site.grants().await, site.kept()), ("old.example".into(), "old".into()));
}

#[tokio::test]
async fn without_the_grants_no_file_changes() {
    let site = site().await;
    site.break_table("grants");
    site.swap(false).await.unwrap_err();
    assert_eq!((site.entries().await, site.kept()), (0, "old".into()));
    assert_eq!(site.store.modules().live().await.unwrap(), []);
}

#[tokio::test]
async fn a_change_that_the_service_does_not_follow_has_its_entry_and_its_grants_or_neither() {
    for is_noticed in [false, true] {
        let site = site().await;
        site.swap_here(is_noticed).await.unwrap();
        assert_eq!((site.entries().await, &*site.grants().await), (1, "new.example old.example"));
    }
    let site = site().await;
    site.break_table("former_grants");
    site.swap_here(false).await.unwrap_err();
    assert_eq!((site.entries().await, &*site.grants().await), (0, "old.example"));
}

#[tokio::test]
async fn a_grant_has_its_entry_and_its_host_or_neither() {
    let site = site().await;
    let by = Actor::CommandLine { user: "ann".to_owned(), host: "desk".to_owned() };
    let hosts = ["old.example".to_owned()];
    site.break_table("former_grants");
    site.registry.revoke("one", &hosts, &by).await.unwrap_err();
    assert_eq!((site.entries().await, &*site.grants().await), (0, "old.example"));
}

#[tokio::test]
async fn a_change_of_another_generation_changes_nothing() {
    let site = site().await;
    assert_eq!(site.swap(false).await.unwrap(), Committed::Done(Some(1)));
    let error = site.swap_if(false, ModuleCondition::Generation(0)).await.unwrap_err();
    assert!(matches!(error, ChangeError::ChangedMeanwhile { generation: 1, .. }), "{error}");
    assert_eq!((site.entries().await, site.kept()), (1, "new".into()));
    assert_eq!(site.swap_if(false, ModuleCondition::Generation(1)).await.unwrap(), Committed::Done(Some(2)));
}

#[tokio::test]
async fn if_a_file_cannot_be_written_the_next_start_loads_the_previous_module() {
    let site = site().await;
    let signature = trust_file(&site.registry.folders.foreign("one"));
    fs::remove_file(&signature).unwrap();
    fs::create_dir(&signature).unwrap();
    let error = site.swap(false).await.unwrap_err();
    assert!(matches!(error, ChangeError::AfterChange(_)), "the history has it: {error}");
    assert_eq!((site.entries().await, site.kept()), (1, "old".into()));
    assert_eq!(site.grants().await, "new.example old.example", "the grants come before the files");
}

#[tokio::test]
async fn a_removal_whose_files_stay_is_told_as_one_that_was_begun() {
    let site = site().await;
    let signature = trust_file(&site.registry.folders.foreign("one"));
    fs::remove_file(&signature).unwrap();
    fs::create_dir(&signature).unwrap();
    let removed = site.registry.remove("one", None, &Actor::ModulesDir).await;
    let error = removed.err().unwrap();
    assert!(matches!(error, ChangeError::AfterChange(_)), "{error}");
    assert_eq!((site.entries().await, site.grants().await), (1, String::new()));
    fs::remove_dir(&signature).unwrap();
    assert!(site.registry.remove("one", None, &Actor::ModulesDir).await.is_err(), "the module is gone already");
}

#[tokio::test]
async fn a_file_that_was_noticed_is_accepted_even_if_the_store_fails() {
    let site = site().await;
    site.break_table("connector_changes");
    site.break_table("grants");
    site.swap(true).await.unwrap();
    assert_eq!(site.registry.folders.accepted("one").as_deref(), Some("new"));
}

#[tokio::test]
async fn if_the_expected_state_has_changed_the_caller_tries_again_and_nothing_changes() {
    let site = site().await;
    let (registry, by) = (&site.registry, Actor::ModulesDir);
    let path = registry.folders.foreign("one");
    let state = FileState::read(&path, Origin::Foreign).unwrap();

    for count_change in [|grants: &Grants| grants.count_change("one"), Grants::count_change_of_unknown] {
        let expected = Expected::now(registry);
        count_change(&registry.grants);
        assert_eq!(
            registry.commit_removal(&expected, "one", ModuleCondition::Always, &by).await.unwrap(),
            Committed::Retry
        );
    }

    let expected = Expected::with_file(registry, &path, &state);
    registry.files.lock().await.forget(&path);
    assert_eq!(
        registry.commit_removal(&expected, "one", ModuleCondition::Always, &by).await.unwrap(),
        Committed::Retry
    );
    let rejection = || Rejection { path: &path, digest: "old", refusal: Refusal::Module("it is wrong".to_owned()) };
    assert_eq!(registry.commit_rejection(&expected, rejection(), Remaining::Nothing).await, Committed::Retry);
    assert_eq!((site.entries().await, site.grants().await, site.kept()), (0, "old.example".into(), "old".into()));
    assert!(registry.refused().is_empty());

    let expected = Expected::now(registry);
    // A module that takes long to compile must not be compiled again for each swap of another one.
    registry.grants.count_change("other");
    assert_eq!(registry.commit_rejection(&expected, rejection(), Remaining::Nothing).await, Committed::Done(()));
    assert_eq!(registry.refused().len(), 1);
    assert_eq!(
        registry.commit_removal(&expected, "one", ModuleCondition::Always, &by).await.unwrap(),
        Committed::Done(1)
    );
    assert_eq!((site.entries().await, site.grants().await, path.exists()), (1, String::new(), false));
    assert!(registry.refused().is_empty(), "the refusal was of the removed file");
}

#[tokio::test]
async fn the_accepted_version_can_be_read_before_and_after_each_step_of_a_commit() {
    let site = site().await;
    let registry = &site.registry;
    registry.versions.store(&record("old")).unwrap();
    let accepted = || {
        let digest = registry.folders.accepted("one").unwrap();
        fs::read_to_string(registry.versions.file("one", Origin::Foreign, &digest)).unwrap()
    };
    assert_eq!(accepted(), "old");
    // The table of live connectors is exchanged after this.
    site.swap(false).await.unwrap();
    assert_eq!(accepted(), "new");

    // A version that does not become live is not the one before.
    let site = self::site().await;
    let registry = &site.registry;
    registry.versions.store(&record("old")).unwrap();
    fs::remove_dir_all(site.folder.path().join(crate::folders::ACCEPTED)).unwrap();
    site.swap(false).await.unwrap_err();
    let stored = registry.versions.newest_first("one").unwrap();
    assert_eq!(stored.into_iter().map(|version| version.digest).collect::<Vec<_>>(), ["old"]);
}

#[tokio::test]
async fn a_version_that_cannot_be_stored_gets_no_mark() {
    let site = site().await;
    // A file is in the place of the folder of the versions.
    fs::write(site.folder.path().join("versions").join("one"), "").unwrap();
    site.swap(false).await.unwrap_err();
    assert_eq!((site.entries().await, site.kept()), (1, "old".into()));
}

#[tokio::test]
async fn a_change_of_an_operator_holds_for_the_generation_that_it_was_made_for() {
    let site = site().await;
    let service = &site.registry.service;
    let present = service.condition("one", None).await.unwrap();
    assert_eq!(present, ModuleCondition::Generation(0));
    site.swap_if(false, present).await.unwrap();
    let late = site.swap_if(false, present).await;
    assert!(matches!(late, Err(ChangeError::ChangedMeanwhile { generation: 1, .. })));
    assert_eq!(Committed::again_unless_named(late, None).unwrap(), Committed::Retry);
    let named = ModuleCondition::Generation(0);
    let refused = Committed::again_unless_named(site.swap_if(false, named).await, Some(0));
    assert!(matches!(refused, Err(ChangeError::ChangedMeanwhile { generation: 1, .. })));
    assert_eq!(site.entries().await, 1);
    // A named generation is compared before the change is prepared, too.
    let refused = service.condition("one", Some(0)).await;
    assert!(matches!(refused, Err(ChangeError::ChangedMeanwhile { generation: 1, .. })));
    assert_eq!(service.condition("one", Some(1)).await.unwrap(), ModuleCondition::Generation(1));
}
