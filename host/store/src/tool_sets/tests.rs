//! Tool sets, on every database.

use super::*;
use crate::testing::{Site, on_every_database};
use crate::{AuditFilter, StoreError};

on_every_database!(a_tool_set_belongs_to_its_tenant, a_tenant_has_a_limited_number_of_tool_sets);

fn new(tenant: &str, name: &str) -> NewToolSet {
    NewToolSet { tenant: tenant.into(), name: name.into(), definition: format!("{{\"of\":\"{tenant}\"}}") }
}

async fn a_tool_set_belongs_to_its_tenant(site: Site) {
    let store = &site.store;
    for (tenant, name) in [("acme", "b"), ("acme", "a"), ("other", "a")] {
        let added = store.tool_sets().add(new(tenant, name)).await.unwrap();
        assert_eq!(store.tool_sets().get(tenant, name).await.unwrap(), Some(added));
    }
    assert!(matches!(store.tool_sets().add(new("acme", "a")).await, Err(StoreError::Duplicate)));
    let names = async |after: &str, limit| -> Vec<String> {
        store.tool_sets().list("acme", after, limit).await.unwrap().into_iter().map(|set| set.name).collect()
    };
    assert_eq!(
        (names("", 10).await, names("", 1).await, names("a", 10).await),
        (vec!["a".into(), "b".into()], vec!["a".into()], vec!["b".into()])
    );
    assert!(store.tool_sets().delete("acme", "a").await.unwrap());
    assert!(!store.tool_sets().delete("acme", "a").await.unwrap());
    assert_eq!(store.tool_sets().get("other", "a").await.unwrap().unwrap().definition, "{\"of\":\"other\"}");
    let entries = store.audit().list(AuditFilter { limit: 10, ..AuditFilter::default() }).await.unwrap();
    let newest = &entries[0];
    assert_eq!((&*newest.action, &*newest.target, &*newest.tenant), ("tool_set.deleted", "a", "acme"));
    assert_eq!((entries.len(), &*entries[3].action), (4, "tool_set.created"));
}

async fn a_tenant_has_a_limited_number_of_tool_sets(site: Site) {
    let store = &site.store;
    store.tool_sets().add(new("acme", "0")).await.unwrap();
    let filled = "INSERT INTO tool_sets (tenant, name, definition, created_by, created_at)
                  WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 999)
                  SELECT 'acme', 'set' || number, '{}', '', 0 FROM numbers";
    site.execute(filled).await;
    let over = store.tool_sets().add(new("acme", "more")).await.unwrap_err();
    assert!(matches!(over, StoreError::TooManyToolSets { limit: 1_000 }), "{over}");
    assert!(matches!(store.tool_sets().add(new("acme", "0")).await, Err(StoreError::Duplicate)));
    store.tool_sets().add(new("other", "more")).await.unwrap();
}
