connector_sdk::connector! {
    connector Example Example;
    auth ;
    upstream api "https://api.example.com";

    /// A row
    a: GET api "/a";
}

fn main() {}
