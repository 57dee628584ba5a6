//! The recordings in `shared/recordings`, and the message with which the replay of each fails. The
//! tests of the SDKs for other languages replay the same files.

#[path = "shared/rows.rs"]
mod rows;

use std::collections::BTreeMap;
use std::fs;
use std::panic::catch_unwind;

use connector_sdk::testing::replay;
use rows::CONNECTOR;

#[test]
fn a_replay_fails_if_the_call_is_not_the_recorded_one() {
    let expected = fs::read("tests/shared/recordings.json").expect("the file is there");
    let expected: BTreeMap<String, Option<String>> = serde_json::from_slice(&expected).expect("it is JSON");
    assert!(expected.len() > 10);
    for (name, words) in expected {
        let file = format!("tests/shared/recordings/{name}.json");
        let failure = catch_unwind(|| replay(&CONNECTOR, &file)).err();
        let message = failure.and_then(|failure| failure.downcast::<String>().ok()).map(|message| *message);
        match words {
            None => assert_eq!(message, None, "{name}"),
            Some(words) => {
                assert!(message.clone().is_some_and(|message| message.contains(&words)), "{name}: {message:?}")
            }
        }
    }
}
