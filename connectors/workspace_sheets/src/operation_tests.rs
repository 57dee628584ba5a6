//! The request of each row. The crate `connector-google` tests `userinfo` further.

use connector_sdk::http::{Body, Method};
use connector_sdk::table::Effect;
use connector_sdk::testing::{Answer, Gateway, forwarded, invoke};
use connector_sdk::{Fault, Outcome};

use crate::CONNECTOR;

/// Method, path and body of a row's request.
fn request(operation: &str, input: &str) -> (Method, String, Option<String>) {
    let request = forwarded(&CONNECTOR, operation, input);
    assert_eq!((request.upstream.as_str(), request.headers.len()), ("api", 0), "{operation}");
    let body = request.body.map(|body| match body {
        Body::Json(text) => text,
        other => panic!("{operation}: {other:?}"),
    });
    (request.method, request.path, body)
}

#[test]
fn the_example_of_each_row_is_a_request_of_google() {
    let expected = [
        (
            "spreadsheet_create",
            Method::Post,
            "/spreadsheets",
            Some(r#"{"properties":{"title":"Budget"},"sheets":[{"properties":{"title":"2026"}}]}"#),
        ),
        (
            "values_get",
            Method::Get,
            "/spreadsheets/1aBcD/values/2026%21A1%3AC10?valueRenderOption=UNFORMATTED_VALUE",
            None,
        ),
        (
            "values_update",
            Method::Put,
            "/spreadsheets/1aBcD/values/2026%21A1%3AB1?valueInputOption=USER_ENTERED",
            Some(r#"{"values":[["Item","=1+1"]]}"#),
        ),
        (
            "values_batch_update",
            Method::Post,
            "/spreadsheets/1aBcD/values:batchUpdate",
            Some(r#"{"valueInputOption":"RAW","data":[{"range":"2026!A1:A2","values":[["a"],["b"]]}]}"#),
        ),
        (
            "values_append",
            Method::Post,
            "/spreadsheets/1aBcD/values/2026%21A1%3AC1:append?valueInputOption=RAW",
            Some(r#"{"values":[["x",1,2]]}"#),
        ),
        ("spreadsheet_get", Method::Get, "/spreadsheets/1aBcD", None),
        ("values_batch_get", Method::Get, "/spreadsheets/1aBcD/values:batchGet?ranges=A1%3AB2&ranges=D1%3AD9", None),
        ("values_clear", Method::Post, "/spreadsheets/1aBcD/values/2026%21A1%3AC10:clear", None),
        (
            "spreadsheet_batch_update",
            Method::Post,
            "/spreadsheets/1aBcD:batchUpdate",
            Some(r#"{"requests":[{"addSheet":{"properties":{"title":"2027"}}}]}"#),
        ),
    ];
    for (operation, (name, method, path, body)) in CONNECTOR.operations.iter().zip(expected) {
        assert_eq!(operation.path, name);
        let (sent_method, sent_path, sent_body) = request(name, operation.about.example.expect("an example"));
        assert_eq!((sent_method, sent_path.as_str(), sent_body.as_deref()), (method, path, body), "{name}");
    }
    assert_eq!(CONNECTOR.operations.len(), expected.len() + 1, "all but userinfo");
}

#[test]
fn options_for_the_response_are_sent() {
    let options = r#""include_values_in_response":true,"response_value_render_option":"FORMULA","response_date_time_render_option":"SERIAL_NUMBER""#;
    let query =
        "includeValuesInResponse=true&responseValueRenderOption=FORMULA&responseDateTimeRenderOption=SERIAL_NUMBER";
    let input =
        format!(r#"{{"spreadsheet_id":"s","range":"A1","value_input_option":"RAW","body":{{"n":1.0}},{options}}}"#);
    let body = Some(r#"{"n":1.0}"#.to_owned());
    assert_eq!(
        request("values_update", &input),
        (Method::Put, format!("/spreadsheets/s/values/A1?valueInputOption=RAW&{query}"), body.clone())
    );
    let input = input.replace(r#""range""#, r#""insert_data_option":"INSERT_ROWS","range""#);
    assert_eq!(
        request("values_append", &input),
        (
            Method::Post,
            format!("/spreadsheets/s/values/A1:append?valueInputOption=RAW&insertDataOption=INSERT_ROWS&{query}"),
            body
        )
    );
    let input = format!(r#"{{"spreadsheet_id":"s","value_input_option":"RAW","data":[{{}}],{options}}}"#);
    assert_eq!(
        request("values_batch_update", &input).2.as_deref(),
        Some(
            r#"{"valueInputOption":"RAW","data":[{}],"includeValuesInResponse":true,"responseValueRenderOption":"FORMULA","responseDateTimeRenderOption":"SERIAL_NUMBER"}"#
        )
    );
}

#[test]
fn lists_in_a_query_are_repeated() {
    let input = r#"{"spreadsheet_id":"s","query":{"ranges":["A1:B2","'My sheet'!C:C"],"includeGridData":true}}"#;
    assert_eq!(
        request("spreadsheet_get", input).1,
        "/spreadsheets/s?ranges=A1%3AB2&ranges=%27My%20sheet%27%21C%3AC&includeGridData=true"
    );
}

#[test]
fn a_range_stays_within_its_segment() {
    let input = r#"{"spreadsheet_id":"s","range":"'a/b?c #ä'!A1"}"#;
    assert_eq!(request("values_get", input).1, "/spreadsheets/s/values/%27a%2Fb%3Fc%20%23%C3%A4%27%21A1");
    for (range, operation) in [("", "values_clear"), ("..", "values_get"), ("a/../b", "values_clear")] {
        let input = format!(r#"{{"spreadsheet_id":"s","range":"{range}"}}"#);
        let Err(Fault::InvalidInput(violations)) = invoke(&CONNECTOR, operation, &input) else { panic!("{range}") };
        assert_eq!(violations[0].pointer, "/range");
    }
}

#[test]
fn only_an_operation_that_overwrites_is_destructive() {
    for operation in CONNECTOR.operations {
        let is_destructive = matches!(operation.about.effect, Effect::Destructive);
        assert_eq!(is_destructive, operation.path == "values_update", "{}", operation.path);
    }
}

#[test]
fn userinfo_is_the_common_shape() {
    let gateway = Gateway::new().answer(Answer::json(200, r#"{"id":"110","email":"ada@acme.test"}"#));
    let outcome = invoke(&CONNECTOR, "userinfo", "{}");
    assert!(
        matches!(outcome, Ok(Outcome::Reply(text)) if text.starts_with(r#"{"data":{"id":"110","email":"ada@acme.test""#))
    );
    assert_eq!((gateway.requests()[0].upstream.as_str(), gateway.requests()[0].path.as_str()), ("userinfo", ""));
}
