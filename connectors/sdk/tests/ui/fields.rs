//! Fields whose parts do not belong together.

connector_sdk::connector! {
    connector example "Example";
    auth Auth::None;
    upstream api "https://api.example.com";

    /// Bounds
    bounds: GET api "/a" {
        a: boolean(1..),
    };
    /// Strings
    strings: GET api "/a" {
        a: integer one_of ["1"],
        b: integer pattern "1",
        c: integer format "date",
        d: integer keeps_slashes,
        e: string without [a],
        f: [[string]],
    };
    /// Defaults
    defaults: GET api "/a" {
        a: integer default 3,
        b?: integer default "x",
        c?: integer default 3 assumed,
    };
    /// Places
    body: POST api "/a" { a: entries[b] in body };
    /// Members
    members: POST api "/a" {
        a: { b: string in query, c: entries[d], e: integer(1..=5) default 9, f: string, f: string },
    };
}

fn main() {}
