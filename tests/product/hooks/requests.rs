//! The requests of services, as operators see them.

use super::*;

#[test]
fn requests_are_listed_from_one_time_on_and_before_another() {
    let gateway = gateway("");
    let (inbox, client) = (Inbox::signed(&gateway), gateway.anonymous());
    for id in ["1", "2", "3"] {
        assert_eq!(inbox.push(&client, &message(id), 0).send().status, 200);
    }
    inbox.records(&gateway, 3);
    // However fast they were sent.
    assert_eq!(gateway.home().sqlite("UPDATE hook_requests SET at = at + 1000 * number"), 3);
    let times: Vec<Value> = inbox.records(&gateway, 3).iter().map(|record| record["at"].clone()).collect();
    let [first, second, third] = [0, 1, 2].map(|index| times[index].as_str().unwrap());
    let found = |query: String, count: usize| -> Vec<Value> {
        let records = records(&gateway, &format!("inbox={}&{query}", inbox.id), count);
        records.iter().map(|record| record["at"].clone()).collect()
    };
    assert_eq!(found(format!("since={second}"), 2), times[1..]);
    assert_eq!(found(format!("until={third}"), 2), times[..2]);
    assert_eq!(found(format!("since={second}&until={third}"), 1), times[1..2]);
    assert!(found(format!("until={first}"), 0).is_empty());
}
