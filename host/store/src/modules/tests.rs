//! Tests of modules, on both databases.

use std::sync::Arc;

use super::types::{GrantStep, ModuleChange, ModuleCondition, ModuleOutcome, NewModule};
use crate::testing::{Site, on_every_database};
use crate::{GrantChange, GrantSwap, NewChange, Store};

on_every_database!(
    generations_grow_also_over_a_removal,
    a_change_of_another_generation_changes_nothing,
    a_module_that_the_connector_had_is_not_new,
    the_revision_grows_with_each_change_that_is_made,
    a_change_that_fails_changes_nothing,
);

fn change(digest: Option<&str>, condition: ModuleCondition) -> ModuleChange {
    ModuleChange {
        connector: "demo".into(),
        module: digest.map(|digest| NewModule {
            digest: digest.into(),
            version: "1.0.0".into(),
            bytes: Arc::from(digest.as_bytes()),
            signature: Some(format!("signature of {digest}")),
            replaces_shipped: false,
        }),
        condition,
        entry: NewChange {
            connector: "demo".into(),
            action: "added",
            actor_kind: "command_line",
            actor: "ann".into(),
            version: "1.0.0".into(),
            digest: digest.unwrap_or_default().into(),
            installed: digest.is_some(),
            detail: String::new(),
        },
        is_noticed: false,
        grants: GrantStep::Unchanged,
    }
}

async fn put(store: &Store, digest: Option<&str>, condition: ModuleCondition) -> ModuleOutcome {
    store.modules().change(change(digest, condition)).await.unwrap()
}

async fn generations_grow_also_over_a_removal(site: Site) {
    let store = &site.store;
    assert_eq!(put(store, Some("aa"), ModuleCondition::Always).await, ModuleOutcome::Changed(1));
    assert_eq!(put(store, None, ModuleCondition::Always).await, ModuleOutcome::Changed(2));
    let live = store.modules().live_of("demo").await.unwrap().unwrap();
    assert_eq!((live.generation, live.digest, live.signature), (2, None, None));
    assert_eq!(put(store, Some("aa"), ModuleCondition::Always).await, ModuleOutcome::Changed(3));
    let live = store.modules().live().await.unwrap().remove(0);
    assert_eq!((live.generation, live.digest.as_deref(), live.changed_by.as_str()), (3, Some("aa"), "ann"));
    assert_eq!(live.signature.as_deref(), Some("signature of aa"));
    assert_eq!(store.modules().live_of("other").await.unwrap(), None);
}

async fn a_change_of_another_generation_changes_nothing(site: Site) {
    let store = &site.store;
    let first = ModuleCondition::Generation(0);
    assert_eq!(put(store, Some("aa"), first).await, ModuleOutcome::Changed(1));
    let (one, other) = tokio::join!(
        put(store, Some("bb"), ModuleCondition::Generation(1)),
        put(store, Some("cc"), ModuleCondition::Generation(1)),
    );
    let mut outcomes = [one, other];
    outcomes.sort_by_key(|outcome| matches!(outcome, ModuleOutcome::Unchanged(_)));
    assert_eq!(outcomes, [ModuleOutcome::Changed(2), ModuleOutcome::Unchanged(2)]);
    assert_eq!(store.changes().list(None, 10).await.unwrap().len(), 2);
}

async fn a_module_that_the_connector_had_is_not_new(site: Site) {
    let store = &site.store;
    let new = ModuleCondition::NewModule;
    assert_eq!(put(store, Some("aa"), new).await, ModuleOutcome::Changed(1));
    assert_eq!(put(store, Some("bb"), new).await, ModuleOutcome::Changed(2));
    assert_eq!(put(store, Some("aa"), new).await, ModuleOutcome::Unchanged(2));
    assert_eq!(put(store, Some("bb"), ModuleCondition::OtherModule).await, ModuleOutcome::Unchanged(2));
    assert!(store.modules().has_had("demo", "aa").await.unwrap());
    assert!(
        !store.modules().has_had("demo", "cc").await.unwrap() && !store.modules().has_had("other", "aa").await.unwrap()
    );
}

async fn the_revision_grows_with_each_change_that_is_made(site: Site) {
    let store = &site.store;
    let first = store.modules().revision().await.unwrap();
    put(store, Some("aa"), ModuleCondition::Always).await;
    let second = store.modules().revision().await.unwrap();
    put(store, Some("bb"), ModuleCondition::Generation(7)).await;
    assert_eq!((second, store.modules().revision().await.unwrap()), (first + 1, first + 1));
}

async fn a_change_that_fails_changes_nothing(site: Site) {
    let store = &site.store;
    put(store, Some("aa"), ModuleCondition::Always).await;
    store.grants().swap("demo", GrantSwap::of_present(GrantChange::Add(&["a.example".to_owned()]))).await.unwrap();
    site.execute("ALTER TABLE grants RENAME TO broken").await;
    let swap = GrantSwap::new(Some("aa"), "bb", GrantChange::Add(&["b.example".to_owned()]));
    let change = ModuleChange { grants: GrantStep::Swap(swap), ..change(Some("bb"), ModuleCondition::Always) };
    store.modules().change(change).await.unwrap_err();
    site.execute("ALTER TABLE broken RENAME TO grants").await;
    let live = store.modules().live_of("demo").await.unwrap().unwrap();
    assert_eq!((live.generation, live.digest.as_deref()), (1, Some("aa")));
    assert!(!store.modules().has_had("demo", "bb").await.unwrap());
    assert_eq!(store.changes().list(None, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_bytes_of_the_live_module_and_of_the_last_ten_are_kept() {
    let site = Site::postgres().await;
    let store = &site.store;
    for number in 0..12 {
        put(store, Some(&format!("{number:02}")), ModuleCondition::Always).await;
    }
    let kept: Vec<String> =
        store.modules().stored("demo").await.unwrap().into_iter().map(|module| module.digest).collect();
    assert_eq!(kept, ["11", "10", "09", "08", "07", "06", "05", "04", "03", "02"]);
    assert_eq!(store.modules().bytes("01").await.unwrap(), None);
    assert_eq!(store.modules().bytes("02").await.unwrap().as_deref(), Some(&b"02"[..]));
    assert!(store.modules().has_had("demo", "01").await.unwrap(), "an old file is still recognised");
}

#[tokio::test]
async fn a_database_of_one_gateway_keeps_no_bytes() {
    let site = Site::sqlite().await;
    put(&site.store, Some("aa"), ModuleCondition::Always).await;
    assert_eq!(site.store.modules().bytes("aa").await.unwrap(), None);
}
