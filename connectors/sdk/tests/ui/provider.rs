connector_sdk::connector! {
    connector github "GitHub";
    auth Auth::OAuth2(OAuth2 { provider: "github", ..OAuth2::STANDARD });
    upstream api "https://api.example.com";

    /// A row
    a: GET api "/a";
}

fn main() {}
