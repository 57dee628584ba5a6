# Users grant access at the provider. The gateway stores the tokens and adds them to requests; this code never sees them. The
# operator sets the client credentials in the section `[oauth_clients.{{identifier}}]`.
auth=auth.oauth2(
    "{{identifier}}_provider",
    authorization_url="https://api.example.com/oauth/authorize",
    token_url="https://api.example.com/oauth/token",
    scopes=["read"],
),
upstreams={"api": "https://api.example.com/v1"},
