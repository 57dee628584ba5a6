//! Jobs of all tenants, for the operator.

use serde_json::{Value, json};
use support::{Setup, Store, Upstream, module};

use super::{pages, printed, run};
use crate::integrations::{client, on_each_store};

on_each_store!(jobs_of_all_tenants_are_listed_shown_and_cancelled);

fn jobs_of_all_tenants_are_listed_shown_and_cancelled(store: &Store) {
    let service = Upstream::start();
    let described = json!({"identifier": "account", "auth": "none"});
    let gateway = Setup::new()
        .on(store)
        .module("account", module::account(&described))
        .upstream("account", "api", &service.url())
        .config("[jobs]\nworkers = 0")
        .start();
    let operator = gateway.client();
    let mut begun = Vec::new();
    for (tenant, subject, operation) in
        [("acme", Some("ann"), "collect"), ("other", None, "collect"), ("acme", None, "change")]
    {
        let caller = client(&gateway, tenant, subject, "operate");
        let job = caller.call(&format!("account/{operation}"), json!({"path": "/"})).ok();
        begun.insert(0, job["job_id"].clone());
    }
    let listed = |query: &str| -> Vec<Value> {
        let page = operator.get(&format!("/admin/jobs?{query}")).ok();
        page["jobs"].as_array().unwrap().iter().map(|job| job["job_id"].clone()).collect()
    };
    assert_eq!(listed(""), begun);
    assert_eq!(listed("tenant=acme"), [begun[0].clone(), begun[2].clone()]);
    assert_eq!(listed("subject=ann"), [begun[2].clone()]);
    assert_eq!(listed("subject="), [begun[0].clone(), begun[1].clone()]);
    let of_ann = printed(&gateway, &["jobs", "list", "--subject", "ann"]);
    assert_eq!((of_ann["jobs"].as_array().unwrap().len(), &of_ann["jobs"][0]["job_id"]), (1, &begun[2]));
    assert_eq!(listed("operation=change"), [begun[0].clone()]);
    assert_eq!(listed("connector=account&operation=collect"), [begun[1].clone(), begun[2].clone()]);
    assert!(listed("connector=other").is_empty());
    let changes = printed(&gateway, &["jobs", "list", "--connector", "account", "--operation", "change"]);
    assert_eq!((changes["jobs"].as_array().unwrap().len(), &changes["jobs"][0]["job_id"]), (1, &begun[0]));
    assert_eq!(listed("status=pending&tenant=other"), [begun[1].clone()]);
    assert!(listed("status=failed").is_empty());
    assert_eq!(pages(&operator, "/admin/jobs", "jobs").len(), 3);
    let id = begun[2].as_str().unwrap();
    let shown = operator.get(&format!("/admin/jobs/{id}")).ok();
    assert_eq!(
        (&shown["tenant"], &shown["subject"], &shown["status"]),
        (&json!("acme"), &json!("ann"), &json!("pending"))
    );
    assert_eq!(printed(&gateway, &["jobs", "show", id]), shown);
    assert_eq!(operator.delete(&format!("/admin/jobs/{id}")).ok(), json!({"cancelled": true}));
    assert_eq!(operator.delete(&format!("/admin/jobs/{id}")).ok(), json!({"cancelled": false}));
    assert_eq!(listed("status=failed"), [begun[2].clone()]);
    let entries = operator.get("/admin/audit?action=job.cancelled").ok()["entries"].clone();
    assert_eq!((entries.as_array().unwrap().len(), &entries[0]["target"]), (1, &begun[2]));
    assert_eq!(run(&gateway, &["jobs", "cancel", begun[1].as_str().unwrap()]).code, Some(0));
    assert_eq!(printed(&gateway, &["jobs", "list", "--status", "failed"])["jobs"].as_array().unwrap().len(), 2);
    operator.get("/admin/jobs/job_none").problem(404, "unknown-job");
    operator.request("GET", "/admin/jobs?status=x&cursor=y&subject=z").send().violations();
}
