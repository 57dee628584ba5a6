//! Names that are not declared, and names that are not possible.

connector_sdk::connector! {
    connector example "Example";
    auth Auth::None;
    upstream api "https://api.example.com";
    rate_limit slow 1 per minute;
    fields first { ..paging };

    /// Upstream
    a: GET apis "/a";
    /// Rate limit
    b: GET api "/b" rate_limit fast;
    /// Values
    c: GET api "/c" { color: string one_of colors };
    /// Fields
    d: GET api "/d" { ..paging };
    /// Setting
    e: GET api "/{settings.version}";
    /// Twice
    f: GET api "/f";
    /// Twice
    f: GET api "/f";
    /// Path
    "a.b": GET api "/g";
    /// Path
    integrations: GET api "/h";
    /// Field
    i: GET api "/i" { "a.b": string, response_fields: [string], a: string, a: string };
    /// Path field
    j: GET api "/j/{a.b}";
}

fn main() {}
