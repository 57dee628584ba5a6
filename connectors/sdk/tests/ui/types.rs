//! Types, bounds and modifiers with syntax errors. The parser still reads the other fields of the row.

connector_sdk::connector! {
    connector example "Example";
    auth Auth::None;
    upstream api "https://api.example.com";

    /// A row
    a: GET api "/a" {
        a: text,
        b: string max 3,
        c: integer(1-3),
        d: integer(a..),
        e: integer(1..=3 4),
        f: string | [integer],
        g: [string integer],
        h: entries[a default 1],
        i: string in cookie,
        j: string as name,
        k: integer default ten,
        l: integer default 1u8,
        m: string one_of,
        n string,
        o: entries,
        p: { ..paging },
        ..paging page,
        #[serde(default)]
        q: string,
        r: ,
        s: integer("1"..),
        t: integer default ,
        u: string 5,
        v: string one_of ["a", b],
        w: string max_bytes many,
        5: string,
    };
}

fn main() {}
