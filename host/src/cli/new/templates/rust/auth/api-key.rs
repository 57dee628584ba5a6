// Users bring a key of the service. The gateway stores it and adds it to requests; this code never sees it.
auth Auth::ApiKey(ApiKey {
    placement: KeyPlacement::Header { name: "Authorization", prefix: "Bearer " },
    form_field: None,
    check: None,
});
upstream api "https://api.example.com/v1";
