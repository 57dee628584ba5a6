use proptest::prelude::*;

use super::*;

fn recording(text: &str) -> Recording {
    Recording::read(text.as_bytes()).unwrap()
}

fn redacted(text: &str, named: &[&str]) -> String {
    let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
    let mut recording = recording(text);
    Redaction::new(&named).apply(&mut recording);
    recording.write().unwrap()
}

/// A recording whose input, path, body and answer have a text, as JSON and percent-encoded.
fn everywhere(text: &str) -> String {
    let json = serde_json::to_string(text).unwrap();
    let encoded = percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
    format!(
        r#"{{"format": 1, "operation": "o", "input": {{"q": {json}}}, "exchanges": [{{
            "request": {{"method": "GET", "upstream": "api", "path": "/a/{encoded}?q={encoded}&x=1",
                "headers": [["prefer", "for=ada@acme.com"]], "body": {{"form": [["to", {json}]]}}}},
            "answer": {{"status": 200, "body": {{"json": [{{"found": {json}}}]}}}}
        }}], "answer": {{{json}: 1}}}}"#
    )
}

#[test]
fn the_same_address_has_the_same_stand_in_in_every_spelling() {
    let text = redacted(&everywhere("to Ada.Byron+x@Acme.com, and ada.byron+x@acme.com!"), &[]);
    assert!(!text.to_lowercase().contains("acme"), "{text}");
    assert!(text.contains("to person-1@example.com, and person-1@example.com!"), "{text}");
    assert!(text.contains("/a/to%20person-1%40example.com%2C%20and%20person-1%40example.com%21?q="), "{text}");
}

#[test]
fn members_that_say_a_persons_data_are_taken_out_and_others_stay() {
    let text = redacted(
        r#"{"format": 1, "operation": "o", "input": {"userName": "ada", "id": "7"}, "exchanges": [{
            "request": {"method": "GET", "upstream": "api", "path": "/users/ada?firstName=Ada%20B&page=2"},
            "answer": {"status": 200, "body": {"json": {
                "login": "ada", "work_phones": ["+49 1", {"number": 491}], "first_name": "Ada B", "nextPageToken": "t",
                "owner": {"name": "Ada Byron", "email": "a@acme.com"}, "repository": {"name": "engine"},
                "access_token": "s3cret", "html_url": "https://x.example/users/ada", "isMobile": true
            }}}
        }], "answer": {"author": "Ada Byron", "topic": "ada lovelace"}}"#,
        &[],
    );
    for gone in ["\"ada\"", "/ada", "Ada B", "+49", "491", "acme", "s3cret"] {
        assert!(!text.contains(gone), "{gone} in {text}");
    }
    for kept in ["\"7\"", "page=2", "\"t\"", "\"engine\"", "\"ada lovelace\"", "true"] {
        assert!(text.contains(kept), "{kept} in {text}");
    }
    let stand_in = text.split("\"userName\": \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(text.contains(&format!("/users/{stand_in}?firstName=")), "{text}");
    assert!(text.contains(&format!("https://x.example/users/{stand_in}\"")), "{text}");
}

#[test]
fn fields_of_a_form_with_files_are_taken_out_and_files_stay() {
    let text = redacted(
        r#"{"format": 1, "operation": "o", "input": {"login": "ada", "photo": {"file_name": "ada", "content_base64": "YWRh"}}, "exchanges": [
            {"request": {"method": "POST", "upstream": "api", "path": "/photos", "body": {"multipart": [
                {"name": "login", "text": "ada"},
                {"name": "photo", "file_name": "ada", "content_type": "image/png", "base64": "YWRh"}
             ]}},
             "answer": {"status": 204}}
        ], "answer": {}}"#,
        &[],
    );
    assert!(!text.contains("\"ada\""), "{text}");
    assert_eq!((text.matches("redacted-1").count(), text.matches("YWRh").count()), (4, 2), "{text}");
}

#[test]
fn the_author_names_further_members() {
    let text = redacted(&everywhere("Engine No. 1"), &["found"]);
    assert!(text.contains("/a/redacted-1?q=redacted-1&x=1"), "{text}");
    // The name of a member is taken out only if it is an address.
    assert_eq!(text.matches("Engine").count(), 1, "{text}");
}

#[test]
fn addresses_that_nobody_has_stay_so_that_a_recording_is_recorded_again_without_change() {
    let once = redacted(&everywhere("ada@acme.com b@c.test person-1@example.com"), &[]);
    assert!(once.contains("person-2@example.com b@c.test person-1@example.com"), "{once}");
    assert_eq!(redacted(&once, &[]), once);
}

#[test]
fn texts_that_are_no_addresses_stay() {
    let text = "@ada a@ a@b @a.b %40 100% 4@.c user@localhost";
    assert!(redacted(&everywhere(text), &[]).contains(text));
}

#[test]
fn an_address_that_a_request_follows_has_the_same_stand_ins_as_the_request() {
    let text = redacted(
        r#"{"format": 1, "operation": "o", "input": {"login": "ada"}, "exchanges": [
            {"request": {"method": "GET", "upstream": "api", "path": "/users/ada"},
             "answer": {"status": 200, "headers": [["link", "<https://x.example/users/ada?page=2>; rel=\"next\""]],
                        "body": {"json": {"next": "/users/ada?page=2"}}}},
            {"request": {"method": "GET", "upstream": "api", "link": "/users/ada?page=2"}, "answer": {"status": 204}}
        ], "answer": {}}"#,
        &[],
    );
    assert!(!text.contains("ada"), "{text}");
    assert_eq!(text.matches("/users/redacted-1").count(), 4, "{text}");
}

#[test]
fn the_documentation_has_every_name_of_the_rule() {
    let page = include_str!("../../../../connectors/docs/testing.md").replace('_', "");
    for name in PERSONAL.iter().chain(&WHOLE) {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
}

proptest! {
    #[test]
    fn no_address_survives(before in "[ -~é]{0,12}", local in "[a-z0-9]{1,8}", domain in "[a-z0-9]{3,9}", after in "[ -~]{0,12}") {
        let domain = format!("{domain}q.org");
        let text = redacted(&everywhere(&format!("{before} {local}@{domain} {after}")), &[]);
        prop_assert!(!text.contains(&domain), "{}", text);
    }

    #[test]
    fn a_text_without_signs_is_not_changed(text in "[ -?A-~é]{0,40}") {
        prop_assume!(!text.contains("%40"));
        let once = recording(&everywhere(&text));
        let mut changed = once.clone();
        changed.exchanges[0].request.headers.clear();
        let expected = changed.clone();
        Redaction::new(&[]).apply(&mut changed);
        prop_assert_eq!(changed.write().unwrap(), expected.write().unwrap());
    }
}
