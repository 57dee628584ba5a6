connector_sdk::connector! {
    connector example "Example";
    auth Auth::None;
    upstream api "https://api.example.com";

    undocumented: GET api "/a";
    /// Method
    method: FETCH api "/a";
    /// Path
    path: GET api a;
    /// Clause
    clause: GET api "/a" cached;
    /// Query
    query: GET api "/a" query [a];
    /// Answer
    answers: GET api "/a" answers text;
    /// Answer
    schema: GET api "/a" answer_schema [1];
    /// Fixed body
    fixed: POST api "/a" fixed_body 1;
    /// Upstream
    upstream: GET "/a";
    /// Rate limit
    limit: GET api "/a" rate_limit 5;
    /// Function
    function: read fn "function";
    /// Shared
    shared: GET api "/a" { .. };
    /// The end
    end: GET api "/a"
    /// A row
    last: GET api "/a" 1;
}

fn main() {}
