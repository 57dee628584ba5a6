//! The mistakes of `shared/mistakes.json`. `UPDATE=1 cargo test --test mistakes` writes this file.

connector_sdk::connector! {
    connector example "Example";
    auth Auth::None;
    upstream api "https://api.example.com";
    /// A setting
    setting version: string;
    /// A list
    setting list: [string];
    header "Authorization" "Bearer x";
    header "X-A" "{b}";
    header "X-A" "{settings.b}";
    header "X-A" "a{";
    header "X-A" "a\r\nB: c";
    /// A row
    row_0: GET other "/x";
    /// A row
    row_1: GET api "x";
    /// A row
    row_2: GET api "//x";
    /// A row
    row_3: GET api "/a/../x";
    /// A row
    row_4: GET api "/x y";
    /// A row
    row_5: GET api "/x/{id";
    /// A row
    row_6: GET api "/x/id}";
    /// A row
    row_7: GET api "/x?a={b}";
    /// A row
    row_8: GET api "/x/{settings.y}";
    /// A row
    row_9: GET api "/x/{settings.list}";
    /// A row
    row_10: GET api "/x/{a}" { a: string in query };
    /// A row
    row_11: GET api "/x" { a: string in path };
    /// A row
    row_12: GET api "/x/{a}" { a?: string };
    /// A row
    row_13: GET api "/x" { a: object };
    /// A row
    row_14: GET api "/x" { a: [object] };
    /// A row
    row_15: POST api "/x" { a: object in header };
    /// A row
    row_16: GET api "/x" { a?: string nullable };
    /// A row
    row_17: POST api "/x" { a: string nullable };
    /// A row
    row_18: GET api "/x" { a: string in header as "Authorization" };
    /// A row
    row_19: GET api "/x" { headers: entries[x_forwarded_for] };
    /// A row
    row_20: GET api "/x" form;
    /// A row
    row_21: GET api "/x" multipart;
    /// A row
    row_22: POST api "/x" { a: file };
    /// A row
    row_23: POST api "/x" { body: object, a: string };
    /// A row
    row_24: POST api "/x" { body: object } fixed_body { a: 1 };
    /// A row
    row_25: POST api "/x" { a: string, b: string as "a" };
    /// A row
    row_26: POST api "/x" { a: string as "c.d", b: string as "c" };
    /// A row
    row_27: POST api "/x" { a: string as "c", b: string as "c.d.e" };
    /// A row
    row_28: GET api "/x" { a: string, b: string as "a" };
    /// A row
    row_29: GET api "/x" { a: string in header as "X-A", b: string in header as "x-a" };
    /// A row
    row_30: POST api "/x" { a: string as "c..d" };
    /// A row
    row_31: GET api "/x" { a: string as "" };
    /// A row
    row_32: POST api "/x" { a: string as "b", b: file } multipart;
    /// A row
    row_33: GET api "/x" fixed_body { a: 1 };
    /// A row
    row_34: GET api "/x" { a: [string] in header };
    /// A row
    row_35: GET api "/x?a=1" { a: string };
    /// A row
    row_36: POST api "/x" { a: string } fixed_body { a: 1 };
    /// A row
    row_37: GET api "/x" { a: string as "b\nc" };
    /// A row
    row_38: GET api "/x" { a: string } default_query { b: 1 } unless [c];
    /// A row
    row_39: read PATCH api "/x";
    /// A row
    row_40: POST api "/x" { a: integer(5..=1) };
    /// A row
    row_41: POST api "/x" { a?: integer default "b" };
    /// A row
    row_42: POST api "/x" { a: string pattern "(" };
    /// A row
    row_43: POST api "/x" { a: string one_of [] };
    /// A row
    row_44: POST api "/x" { a: [string] max_bytes 3 };
}

fn main() {}
