connector_sdk::connector! {
    connector example "Example";
    auth Auth::None;
    upstream api "https://api.example.com";

    fields all { c?: integer(..=5), query?: entries[d], address?: { street: string } };

    /// Unknown
    a: GET api "/{b}" { c?: integer } example { b: "x", e: 1 };
    /// Missing
    b: GET api "/{b}" { c?: integer } example { c: 1 };
    /// Type
    c: GET api "/{b}" { c?: integer } example { b: 1 };
    /// Bounds
    d: GET api "/{b}" { c?: integer(..=5) } example { b: "x", c: 9 };
    /// Entry
    e: GET api "/{b}" { query?: entries[d] } example { b: "x", query: { f: 1 } };
    /// Member
    f: POST api "/{b}" { address?: { street: string } } example { b: "x", address: { street: 1 } };
    /// Value
    g: GET api "/{b}" example { b: x };
    /// List
    h: GET api "/h" example [1];
}

fn main() {}
