//! Spreadsheets of Google Sheets. Each operation is the method of Google's API with the same name.

use connector_sdk::connector;

connector! {
    /// Spreadsheets of a Google account, and the values in their ranges.
    ///
    /// Entries of `query` and members of `body` have Google's names.
    connector workspace_sheets "Google Sheets";
    icon "../icon.svg";
    answer_examples "answers.json";

    auth Auth::OAuth2(OAuth2 {
        scopes: &[
            "openid",
            "https://www.googleapis.com/auth/userinfo.email",
            "https://www.googleapis.com/auth/userinfo.profile",
            "https://www.googleapis.com/auth/spreadsheets",
        ],
        ..connector_google::OAUTH2
    });
    auth_additions connector_google::AUTH_ADDITIONS;

    upstream api "https://sheets.googleapis.com/v4";
    upstream oauth2 "https://www.googleapis.com/oauth2/v2";
    upstream userinfo "{oauth2}/userinfo" credential standard;

    lists repeated;

    entries {
        /// form of dates: SERIAL_NUMBER or FORMATTED_STRING
        dateTimeRenderOption,
        /// lists of the answer: ROWS or COLUMNS
        majorDimension,
        /// form of values: FORMATTED_VALUE, UNFORMATTED_VALUE or FORMULA
        valueRenderOption,
    };
    fields range {
        /// id in the URL of the spreadsheet
        spreadsheet_id: string,
        /// A1 notation, for example Sheet1!A1:C10
        range: string,
    };
    fields response {
        /// answers the new values
        include_values_in_response?: boolean as "includeValuesInResponse" default false,
        /// form of values in the answer
        response_value_render_option?: string as "responseValueRenderOption" one_of [
            "FORMATTED_VALUE", "UNFORMATTED_VALUE", "FORMULA",
        ],
        /// form of dates in the answer
        response_date_time_render_option?: string as "responseDateTimeRenderOption" one_of [
            "SERIAL_NUMBER", "FORMATTED_STRING",
        ],
    };
    fields query_response {
        /// answers the new values
        include_values_in_response?: boolean in query as "includeValuesInResponse" default false,
        /// form of values in the answer
        response_value_render_option?: string in query as "responseValueRenderOption" one_of [
            "FORMATTED_VALUE", "UNFORMATTED_VALUE", "FORMULA",
        ],
        /// form of dates in the answer
        response_date_time_render_option?: string in query as "responseDateTimeRenderOption" one_of [
            "SERIAL_NUMBER", "FORMATTED_STRING",
        ],
    };

    /// New spreadsheet with properties and sheets
    spreadsheet_create: POST api "/spreadsheets" {
        /// {properties: {title}, sheets}
        body?: object,
    }
    example { body: { properties: { title: "Budget" }, sheets: [{ properties: { title: "2026" } }] } };

    /// Read a range
    values_get: GET api "/spreadsheets/{spreadsheet_id}/values/{range}" {
        ..range,
        /// valueRenderOption, dateTimeRenderOption, majorDimension
        query?: entries[dateTimeRenderOption, majorDimension, valueRenderOption],
    }
    example { spreadsheet_id: "1aBcD", range: "2026!A1:C10", query: { valueRenderOption: "UNFORMATTED_VALUE" } };

    /// Set values in a range
    values_update: destructive PUT api "/spreadsheets/{spreadsheet_id}/values/{range}" {
        ..range,
        /// USER_ENTERED parses input as the page does
        value_input_option: string in query as "valueInputOption" one_of ["RAW", "USER_ENTERED"],
        /// {values: rows, each a list of cells}
        body: object,
        ..query_response,
    }
    example {
        spreadsheet_id: "1aBcD",
        range: "2026!A1:B1",
        value_input_option: "USER_ENTERED",
        body: { values: [["Item", "=1+1"]] },
    };

    /// Set values in several ranges
    values_batch_update: POST api "/spreadsheets/{spreadsheet_id}/values:batchUpdate" {
        /// id in the URL of the spreadsheet
        spreadsheet_id: string,
        /// USER_ENTERED parses input as the page does
        value_input_option: string as "valueInputOption" one_of ["RAW", "USER_ENTERED"],
        /// {range, values} objects
        data: [object](1..),
        ..response,
    }
    example {
        spreadsheet_id: "1aBcD",
        value_input_option: "RAW",
        data: [{ range: "2026!A1:A2", values: [["a"], ["b"]] }],
    };

    /// Append rows to the table found in the given range, starting at the table's first column and next row
    values_append: POST api "/spreadsheets/{spreadsheet_id}/values/{range}:append" {
        ..range,
        /// how input is interpreted, not where writing starts
        value_input_option: string in query as "valueInputOption" one_of ["RAW", "USER_ENTERED"],
        /// {values: rows, each a list of cells}
        body: object,
        /// INSERT_ROWS makes new rows
        insert_data_option?: string in query as "insertDataOption" one_of ["OVERWRITE", "INSERT_ROWS"],
        ..query_response,
    }
    example {
        spreadsheet_id: "1aBcD",
        range: "2026!A1:C1",
        value_input_option: "RAW",
        body: { values: [["x", 1, 2]] },
    };

    /// Properties and sheets of a spreadsheet
    spreadsheet_get: GET api "/spreadsheets/{spreadsheet_id}" {
        /// id in the URL of the spreadsheet
        spreadsheet_id: string,
        /// includeGridData true includes cells; ranges limits them
        query?: entries[
            /// COMMENTS_VIEW_MODE_OMITTED or COMMENTS_VIEW_MODE_INCLUDED
            commentsViewMode,
            /// leaves tables out of banded ranges
            excludeTablesInBandedRanges,
            /// includes cells
            includeGridData,
            /// ranges in A1 notation
            ranges,
        ],
    }
    example { spreadsheet_id: "1aBcD" };

    /// Read several ranges
    values_batch_get: GET api "/spreadsheets/{spreadsheet_id}/values:batchGet" {
        /// id in the URL of the spreadsheet
        spreadsheet_id: string,
        /// ranges in A1 notation
        ranges: [string](1..) repeated,
        /// valueRenderOption, dateTimeRenderOption, majorDimension
        query?: entries[dateTimeRenderOption, majorDimension, valueRenderOption],
    }
    example { spreadsheet_id: "1aBcD", ranges: ["A1:B2", "D1:D9"] };

    /// Clear the values of a range
    values_clear: POST api "/spreadsheets/{spreadsheet_id}/values/{range}:clear" { ..range }
    example { spreadsheet_id: "1aBcD", range: "2026!A1:C10" };

    /// Structural changes (sheets, formats, rows, charts) in one call
    spreadsheet_batch_update: POST api "/spreadsheets/{spreadsheet_id}:batchUpdate" {
        /// id in the URL of the spreadsheet
        spreadsheet_id: string,
        /// {requests: [one object for each change]}
        body: object,
    }
    example { spreadsheet_id: "1aBcD", body: { requests: [{ addSheet: { properties: { title: "2027" } } }] } };

    /// The connected Google account, in the common userinfo shape
    userinfo: read fn connector_google::userinfo example {};
}

#[cfg(test)]
mod operation_tests;
