connector_sdk::connector! {
    auth Auth::None;
    upstream api "https://api.example.com";

    /// A row
    a: GET api "/a";
}

fn main() {}
