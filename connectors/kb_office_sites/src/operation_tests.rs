//! The operations that a knowledge base has. The crate `connector-microsoft` tests their requests.

use connector_sdk::testing::{Answer, Gateway, invoke};
use connector_sdk::{Fault, Outcome};

use crate::CONNECTOR;

#[test]
fn a_knowledge_base_has_sites_and_files_without_lists() {
    let operations: Vec<&str> = CONNECTOR.operations.iter().map(|operation| operation.path).collect();
    assert_eq!(
        operations,
        [
            "search_for_sites",
            "get_root_site",
            "get_site_by_id",
            "get_site_by_path",
            "list_subsites_for_a_site",
            "list_drives_for_a_site",
            "serach_for_items_in_a_site_drive",
            "get_site_id_by_name",
            "list_item_permissions",
            "list_items_in_site_drive",
            "list_items_in_folder",
            "get_item",
            "download_item",
            "userinfo",
        ]
    );
}

#[test]
fn functions_run_in_the_knowledge_base() {
    let _gateway = Gateway::new()
        .answer(Answer::json(200, r#"{"value":[{"id":"c,1,2","name":"handbook"}]}"#))
        .answer(Answer::json(200, r#"{"value":[]}"#))
        .answer(Answer::json(200, r#"{"id":"48d31887"}"#));
    let find = |name: &str| invoke(&CONNECTOR, "get_site_id_by_name", &format!(r#"{{"name":"{name}"}}"#));
    assert!(
        matches!(find("Handbook"), Ok(Outcome::Reply(text)) if text == r#"{"id":"c,1,2","name":"handbook","exact":true}"#)
    );
    assert!(matches!(find("Handbook"), Err(Fault::NotFound(_))));
    assert!(matches!(invoke(&CONNECTOR, "userinfo", "{}"), Ok(Outcome::Reply(text)) if text.contains("48d31887")));
}
