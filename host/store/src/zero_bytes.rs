//! Texts with a zero byte, which PostgreSQL cannot store or look for, on every database.

use std::time::{Duration, UNIX_EPOCH};

use crate::testing::{Site, connect, details, holder, on_every_database};
use crate::{
    Account, AuthType, CallFilter, Choice, Connected, Details, HookRequest, HookRequestFilter, Labels, RecordedCall,
    without_zero_bytes,
};

on_every_database!(
    nothing_has_a_name_with_a_zero_byte,
    an_account_is_stored_whatever_its_service_calls_it,
    one_record_with_a_zero_byte_does_not_lose_the_others,
);

async fn nothing_has_a_name_with_a_zero_byte(site: Site) {
    let store = &site.store;
    connect(store, "ann").await;
    for name in ["\0", "ann\0"] {
        let integrations = || store.integrations();
        assert!(integrations().get(&holder(), name).await.unwrap().is_none());
        assert!(integrations().select(&holder(), name).await.unwrap().is_none());
        assert!(integrations().label(&holder(), name, &Labels::new()).await.unwrap().is_none());
        let chosen = integrations().choose(&holder(), AuthType::OAuth2, Some(name)).await.unwrap();
        assert!(matches!(chosen, Choice::Open { candidates } if candidates == ["ann"]));
        assert!(store.jobs().get("acme", "ann", name).await.unwrap().is_none());
        assert!(store.events().get("trg_1", name).await.unwrap().is_none());
        assert!(store.calls().get(name).await.unwrap().is_none());
    }
}

async fn an_account_is_stored_whatever_its_service_calls_it(site: Site) {
    let account = Account { id: Some("\0".into()), name: Some("a\0b".into()), ..Account::default() };
    let details = Details { account, reason: Some("no\0".into()), ..details() };
    let stored = site.store.integrations();
    let stored = stored
        .connect(&holder(), "ann", Connected::new(AuthType::OAuth2, details.clone()), Vec::new(), None)
        .await
        .unwrap();
    let of = |stored: &Details| (stored.account.id.clone(), stored.account.name.clone(), stored.reason.clone());
    let shown = |text: &str| Some(without_zero_bytes(text));
    assert_eq!(of(&stored.details), (shown("\0"), shown("a\0b"), shown("no\0")));
    // A refresh writes the same.
    let changed = site.store.integrations().update(&stored.id, stored.version, details, Vec::new()).await.unwrap();
    assert_eq!(of(&changed.unwrap().details), of(&stored.details));
}

async fn one_record_with_a_zero_byte_does_not_lose_the_others(site: Site) {
    let call = |text: &str| RecordedCall {
        number: 0,
        request_id: "req-1".into(),
        at: UNIX_EPOCH,
        gateway: "one".into(),
        tenant: "acme".into(),
        subject: "ann".into(),
        key_id: None,
        connector: "demo".into(),
        operation: "run".into(),
        version: None,
        status: Some(424),
        problem: Some("integration-required".into()),
        owner: Some("caller".into()),
        detail: Some(text.into()),
        pointers: None,
        user_identifier: Some(text.into()),
        duration_us: 1,
        stages: "{}".into(),
        upstream: "[]".into(),
        idempotency: None,
        job_id: None,
    };
    let calls = ["work", "a\0"].map(|text| (Duration::ZERO, call(text)));
    site.store.calls().record(calls.into(), 100).await.unwrap();
    let listed = site.store.calls().list(CallFilter { limit: 10, ..CallFilter::default() }).await.unwrap();
    let of: Vec<_> = listed.iter().rev().map(|call| call.user_identifier.as_deref().unwrap()).collect();
    assert_eq!(of, ["work", "a\u{fffd}"]);

    let request = |kind: &str| HookRequest {
        gateway: "one".into(),
        address: "sub_1".into(),
        connector: "chat".into(),
        outcome: "stored",
        reason: None,
        kind: Some(kind.into()),
        events: 1,
        ms: 3,
        bytes: 10,
        remote: "192.0.2.1".into(),
    };
    let requests = ["\0", "message"].map(|kind| (Duration::ZERO, request(kind)));
    site.store.inboxes().add_requests(requests.into(), Default::default()).await.unwrap();
    let listed = site.store.inboxes().requests(HookRequestFilter { limit: 10, ..Default::default() }).await.unwrap();
    let kinds: Vec<_> = listed.iter().rev().map(|request| request.kind.as_deref().unwrap()).collect();
    assert_eq!(kinds, ["\u{fffd}", "message"]);
}
