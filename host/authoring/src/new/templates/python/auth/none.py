auth=auth.NONE,
upstreams={"api": "https://api.dictionaryapi.dev/api/v2"},
