// Users bring a key of the service. The gateway stores it and adds it to requests; this code never
// sees it.
auth Auth::ApiKey(ApiKey {
    placement: KeyPlacement::Header { name: "Authorization", prefix: "Bearer " },
    form_field: None,
    // The name of an operation that works with the body `{}`, as in `Some("userinfo")`. The gateway
    // invokes it to test a key before it stores the key. With `None` it stores the key untested.
    check: None,
});
upstream api "https://api.example.com/v1";
