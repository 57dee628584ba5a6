connector_sdk::connector! {
    connector 5 "Example";
    auth Auth::None;
    upstream api "https://api.example.com";

    /// A row
    a: GET api "/a";
}

fn main() {}
