auth: auth.none,
upstreams: { api: "https://api.dictionaryapi.dev/api/v2" },
