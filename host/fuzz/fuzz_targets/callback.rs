//! Fuzzes the query with which a provider sends a user back. A query is accepted if it has one
//! `state`, and at most one `code` and one `error`. Their values must be those that any other
//! reader of forms finds.

#![no_main]

use connector_gateway::fuzzing::{callback_digests, sha256};
use libfuzzer_sys::fuzz_target;
use url::form_urlencoded;

fuzz_target!(|query: &str| {
    let values = |name: &str| -> Vec<String> {
        let pairs = form_urlencoded::parse(query.as_bytes());
        pairs.filter(|(found, _)| found == name).map(|(_, value)| value.into_owned()).collect()
    };
    let found = ["state", "code", "error"].map(values);
    let accepted = found[0].len() == 1 && found.iter().all(|values| values.len() <= 1);
    let digest = |values: Vec<String>| values.first().map(|value| sha256(value.as_bytes()));
    let expected = accepted.then(|| found.map(digest));
    assert_eq!(callback_digests(query), expected);
});
