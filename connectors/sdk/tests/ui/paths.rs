connector_sdk::connector! {
    connector example "Example";
    auth Auth::None;
    upstream api "https://api.example.com";

    /// Place
    a: GET api "/a" { b: string in path };
    /// Place
    b: GET api "/{b}" { b: string in query };
    /// Optional
    c: GET api "/{b}" { b?: string };
    /// Object
    d: GET api "/{b}" { b: object };
    /// Braces
    e: GET api "/{b";
    /// Braces
    f: GET api "/b}";
    /// Beginning
    g: GET api "a";
    /// Dots
    h: GET api "/a/../b";
    /// Space
    i: GET api "/a b";
    /// Query
    j: GET api "/a?b={c}";
}

fn main() {}
