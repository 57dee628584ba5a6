//! Fields that are not apart from each other in the request, and rows in the background.

connector_sdk::connector! {
    connector example "Example";
    auth Auth::None;
    upstream api "https://api.example.com";

    /// Same names
    same: POST api "/a" { a: string as "x.y", b: string as "x.y", c: string in query as "x.y" };
    /// Same parameters
    parameters: GET api "/a" { a: string, b: string as "a", c: entries[d, e, d] };
    /// Not the same: the field of entries has no name at the service
    apart: GET api "/a" { query?: entries[a, b], c: string as "query" };
    /// Same headers
    headers: GET api "/a" { a: string in header as "X-A", b: string in header as "x-a", c: string in header as "Host" };
    /// A name inside of another
    inside: POST api "/a" { a: string as "x", b: string as "x.y", c: { d: string }, e: string as "c.d.f", f: string as "xx" };
    /// A name around another
    around: POST api "/a" { a: string as "x.y.z", b: string as "x.y", c: string as "@x.y" };
    /// Empty parts
    empty: POST api "/a" { a: string as "a..b", b: string as "", c: string as ".c", d: string as "d.", e: string in query as "" };
    /// Entries that are headers
    entries: GET api "/a" { headers?: entries[Prefer, Authorization] };
    /// Background
    nothing: read fn nothing background;
    /// Background
    other: read fn other { waiting?: string } background;
}

fn nothing() -> Result<connector_sdk::Outcome, connector_sdk::Fault> {
    Ok(connector_sdk::Outcome::Reply(String::new()))
}

fn other(_: Other) -> Result<connector_sdk::Outcome, connector_sdk::Fault> {
    nothing()
}

fn main() {}
