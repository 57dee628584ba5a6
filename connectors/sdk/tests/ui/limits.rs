connector_sdk::connector! {
    connector example "Example";
    auth Auth::None;
    upstream u0 "https://api.example.com";
    upstream u1 "https://api.example.com";
    upstream u2 "https://api.example.com";
    upstream u3 "https://api.example.com";
    upstream u4 "https://api.example.com";
    upstream u5 "https://api.example.com";
    upstream u6 "https://api.example.com";
    upstream u7 "https://api.example.com";
    upstream u8 "https://api.example.com";
    upstream u9 "https://api.example.com";
    upstream u10 "https://api.example.com";
    upstream u11 "https://api.example.com";
    upstream u12 "https://api.example.com";
    upstream u13 "https://api.example.com";
    upstream u14 "https://api.example.com";
    upstream u15 "https://api.example.com";
    upstream u16 "https://api.example.com";

    /// A row
    a: GET u0 "/a";
}

fn main() {}
