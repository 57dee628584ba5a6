//! Fields whose parts do not belong together.

connector_sdk::connector! {
    connector example "Example";
    auth Auth::None;
    upstream api "https://api.example.com";

    /// Bounds
    bounds: GET api "/a" {
        a: boolean(1..),
        b: integer(5..=1),
        c: integer(0.5..),
        d: string(-1..),
    };
    /// Strings
    strings: GET api "/a" {
        a: integer one_of ["1"],
        b: integer pattern "1",
        c: integer format "date",
        d: string pattern "(",
        e: string one_of [],
        f: integer keeps_slashes,
        g: string without [a],
        h: integer max_bytes 3,
        i: [[string]],
    };
    /// Defaults
    defaults: GET api "/a" {
        a: integer default 3,
        b?: integer default "x",
        c?: integer(1..=5) default 9,
        d?: string one_of ["x"] default "y",
        e?: string(..=2) default "abc",
        f?: integer default 3 assumed,
    };
    /// Places
    places: GET api "/a" { a: object, b: [object], c: { d: string } in header };
    /// Places
    body: POST api "/a" { a: entries[b] in body };
    /// Null
    nulls: PATCH api "/a/{c}" { a: string nullable, b?: string in query nullable, c: string nullable, d?: { e?: string nullable } };
    /// Body
    whole: POST api "/a" { body: object, c: string } fixed_body { x: 1 };
    /// Members
    members: POST api "/a" {
        a: { b: string in query, c: entries[d], e: integer(1..=5) default 9, f: string, f: string },
    };
}

fn main() {}
