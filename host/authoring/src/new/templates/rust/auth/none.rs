auth Auth::None;
upstream api "https://api.dictionaryapi.dev/api/v2";
