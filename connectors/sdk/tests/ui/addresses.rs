connector_sdk::connector! {
    connector example "Example";
    auth Auth::ApiKey(ApiKey { placement: KeyPlacement::Query("key"), form_field: None, check: None });

    /// Your subdomain
    address subdomain: label(..=64) from user;
    address nameless: label from user;
    /// A name
    address Upper: label from user;
    /// A name
    address api: label from user;
    /// A word
    address word: word from user;
    /// A word
    address bounded: label(1..=5) from user;
    /// A word
    address source: label from service;
    /// A word
    address pointer: label from "id";

    upstream api "https://{subdomain}.example.com" site "example.com";
    upstream unsited "https://{subdomain}.example.com";
    upstream other "https://{subdomain}.example.com" site "other.example";
    upstream cloud "https://api.example.com/{cloud}";
    upstream fixed "https://api.example.com" site "example.com";
    upstream plain "http://{subdomain}.example.com" site "example.com";
    upstream short "https://{subdomain}.com" site "com";

    /// A row
    a: GET api "/a";
}

fn main() {}
