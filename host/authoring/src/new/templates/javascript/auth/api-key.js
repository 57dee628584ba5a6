// Users bring a key of the service. The gateway stores it and adds it to requests; this code never sees it.
// It stores the key untested, unless `check: "userinfo"` names an operation that works with the body `{}`.
auth: auth.api_key({ header: "Authorization", prefix: "Bearer " }),
upstreams: { api: "https://api.example.com/v1" },
