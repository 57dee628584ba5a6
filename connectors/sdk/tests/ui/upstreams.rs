connector_sdk::connector! {
    connector example "Example";
    auth Auth::None;
    upstream api "https://api.example.com/";
    upstream ftp "ftp://files.example.com";
    upstream query "https://api.example.com/v1?key=1";
    upstream me "{users}/me";
    upstream climbing "https://api.example.com/a/../b";
    upstream files "https://files.example.com" links ["https://a.example.com", "*.com", "a.example.com"];
    upstream files "https://files.example.com";

    /// A row
    a: GET files "/a";
}

fn main() {}
