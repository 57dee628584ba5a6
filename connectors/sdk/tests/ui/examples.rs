connector_sdk::connector! {
    connector example "Example";
    auth Auth::None;
    upstream api "https://api.example.com";

    fields all { c?: integer(..=5), query?: entries[d], address?: { street: string } };

    /// Unknown
    a: GET api "/{b}" { c?: integer } example { b: "x", e: 1 };
    /// Missing
    b: GET api "/{b}" { c?: integer } example { c: 1 };
    /// Member
    c: POST api "/{b}" { address?: { street: string } } example { b: "x", address: { street: 1 } };
    /// Value
    d: GET api "/{b}" example { b: x };
    /// List
    e: GET api "/e" example [1];
}

fn main() {}
