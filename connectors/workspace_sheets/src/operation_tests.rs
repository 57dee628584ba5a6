//! The request of each row. The crate `connector-google` tests `userinfo` further.

use connector_sdk::http::Body;
use connector_sdk::table::Effect;
use connector_sdk::testing::{forwarded, refused};

use crate::CONNECTOR;

/// Path and body of a row's request.
fn request(operation: &str, input: &str) -> (String, Option<String>) {
    let request = forwarded(&CONNECTOR, operation, input);
    let body = request.body.map(|body| match body {
        Body::Json(text) => text,
        other => panic!("{operation}: {other:?}"),
    });
    (request.path, body)
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
        (format!("/spreadsheets/s/values/A1?valueInputOption=RAW&{query}"), body.clone())
    );
    let input = input.replace(r#""range""#, r#""insert_data_option":"INSERT_ROWS","range""#);
    assert_eq!(
        request("values_append", &input),
        (format!("/spreadsheets/s/values/A1:append?valueInputOption=RAW&insertDataOption=INSERT_ROWS&{query}"), body)
    );
    let input = format!(r#"{{"spreadsheet_id":"s","value_input_option":"RAW","data":[{{}}],{options}}}"#);
    assert_eq!(
        request("values_batch_update", &input).1.as_deref(),
        Some(
            r#"{"valueInputOption":"RAW","data":[{}],"includeValuesInResponse":true,"responseValueRenderOption":"FORMULA","responseDateTimeRenderOption":"SERIAL_NUMBER"}"#
        )
    );
}

#[test]
fn lists_in_a_query_are_repeated() {
    let input = r#"{"spreadsheet_id":"s","query":{"ranges":["A1:B2","'My sheet'!C:C"],"includeGridData":true}}"#;
    assert_eq!(
        request("spreadsheet_get", input).0,
        "/spreadsheets/s?ranges=A1%3AB2&ranges=%27My%20sheet%27%21C%3AC&includeGridData=true"
    );
}

#[test]
fn a_range_stays_within_its_segment() {
    let input = r#"{"spreadsheet_id":"s","range":"'a/b?c #ä'!A1"}"#;
    assert_eq!(request("values_get", input).0, "/spreadsheets/s/values/%27a%2Fb%3Fc%20%23%C3%A4%27%21A1");
    for (range, operation) in [("", "values_clear"), ("..", "values_get"), ("a/../b", "values_clear")] {
        let input = format!(r#"{{"spreadsheet_id":"s","range":"{range}"}}"#);
        assert_eq!(refused(&CONNECTOR, operation, &input)[0].pointer, "/range", "{range}");
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
    connector_google::testing::check_userinfo(&CONNECTOR);
}
