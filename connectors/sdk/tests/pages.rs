//! Lists that have pages. The cases are in `shared/pages.json`, which the tests of the SDKs for
//! other languages walk too.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use connector_sdk::pages::{Next, Pages};
use connector_sdk::testing::{Answer, Gateway};
use connector_sdk::{Fault, Request};
use serde_json::{Value, json};

/// How the next page is found, from the words of a table.
fn next(words: &Value) -> Next {
    let text = |name: &str| words[name].as_str().map(|text| -> &'static str { text.to_owned().leak() });
    let parameter = text("parameter").unwrap_or_default();
    if let Some(pointer) = text("cursor") {
        return Next::Cursor { pointer, parameter };
    }
    if let Some(pointer) = text("last") {
        return Next::LastItem { pointer, parameter, more: text("while") };
    }
    match (text("link"), words["page_number"].as_u64()) {
        (Some("Link"), _) => Next::LinkHeader,
        (Some(pointer), _) => Next::Link(pointer),
        (None, Some(first)) => Next::PageNumber { first: u32::try_from(first).expect("a small number"), parameter },
        (None, None) => Next::Offset { parameter },
    }
}

/// The service of a case.
fn gateway(case: &Value) -> Gateway {
    case["answers"].as_array().expect("a list").iter().fold(Gateway::new(), |gateway, answer| {
        let status = answer[0].as_u64().and_then(|status| u16::try_from(status).ok()).expect("a status");
        let headers = answer[2].as_object().into_iter().flatten();
        let answered = Answer::json(status, &answer[1].to_string());
        gateway.answer(
            headers.fold(answered, |answer, (name, value)| answer.header(name, value.as_str().expect("a text"))),
        )
    })
}

fn target(request: &Request) -> String {
    request.link.as_ref().map_or_else(|| request.path.clone(), |link| link.address().to_owned())
}

#[test]
fn lists_are_walked_as_in_the_other_languages() {
    let cases: Value = serde_json::from_str(include_str!("shared/pages.json")).expect("JSON");
    let cases = cases.as_array().expect("a list");
    assert!(cases.len() > 20);
    for case in cases {
        let gateway = gateway(case);
        let limit = case["limit"].as_u64().map_or(9, |limit| u32::try_from(limit).expect("a small number"));
        let first = Request::get("api", "/a?x=1").header("X-A", "1");
        let mut pages = Pages::new(first, "/items", next(&case["words"]), limit);
        if let Some(what) = case["progress"].as_str() {
            pages = pages.progress(what);
        }
        let (mut items, mut faults) = (Vec::new(), Vec::new());
        for item in pages.by_ref() {
            match item {
                Ok(item) => items.push(serde_json::from_str::<Value>(&item.text()).expect("JSON")),
                Err(fault) => faults.push(fault),
            }
        }
        if let (Some(status), Some(words)) = (case["fault"][0].as_u64(), case["fault"][1].as_str()) {
            let [Fault::Upstream(fault)] = &faults[..] else { panic!("{case}: {faults:?}") };
            assert!(u64::from(fault.status) == status && fault.detail.contains(words), "{case}: {fault:?}");
            continue;
        }
        assert!(faults.is_empty(), "{case}: {faults:?}");
        assert_eq!((Value::from(items), Value::from(pages.has_more())), (case["items"].clone(), case["more"].clone()));
        let requests = gateway.requests();
        let targets: Value = requests.iter().map(|request| target(request)).collect();
        assert_eq!(targets, case["targets"], "{case}");
        assert!(requests.iter().all(|request| request.headers.len() == 1), "{case}");
        let reports: Value = gateway.progress().into_iter().map(|(part, words)| json!([part, words])).collect();
        assert_eq!(reports, case.get("reports").cloned().unwrap_or_else(|| json!([])), "{case}");
    }
}
