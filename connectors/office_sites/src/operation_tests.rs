//! The rows of lists. The crate `connector-microsoft` tests the rows that connectors of sites have
//! in common.

use connector_sdk::testing::{Answer, Gateway, examples, invoke};
use connector_sdk::{Fault, Outcome};

use crate::CONNECTOR;

#[test]
fn lists_are_added_to_sites_and_files() {
    let requests = examples(&CONNECTOR);
    let own = ["list_lists", "list_list_items"];
    let of_lists = |line: &&String| own.iter().any(|name| line.starts_with(&format!("{name}: ")));
    assert_eq!(
        requests.iter().filter(of_lists).collect::<Vec<_>>(),
        [
            "list_lists: GET graph /sites/root/lists",
            "list_list_items: GET graph /sites/root/lists/b57af081/items?$expand=fields&$top=100",
        ]
    );
    for name in own {
        let about = CONNECTOR.operations.iter().find(|known| known.path == name).expect("a row").about;
        assert_eq!(about.pages.map(|pages| pages.input), Some("/query/$skiptoken"), "{name}");
    }
    assert_eq!(CONNECTOR.operations.len(), 16);
}

#[test]
fn a_site_is_found_by_its_name() {
    let _gateway = Gateway::new().answer(Answer::json(200, r#"{"value":[{"id":"c,1,2","displayName":"Marketing"}]}"#));
    let found = invoke(&CONNECTOR, "get_site_id_by_name", r#"{"name":"marketing"}"#);
    assert!(
        matches!(found, Ok(Outcome::Reply(text)) if text == r#"{"id":"c,1,2","displayName":"Marketing","exact":true}"#)
    );
    let _gateway = Gateway::new().answer(Answer::json(200, r#"{"value":[]}"#));
    assert!(matches!(invoke(&CONNECTOR, "get_site_id_by_name", r#"{"name":"x"}"#), Err(Fault::NotFound(_))));
}
