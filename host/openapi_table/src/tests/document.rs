//! Documents as tables.

use serde_json::{Value, json};

use super::{converted, document};
use crate::{Auth, convert};

#[test]
fn a_document_becomes_a_table() {
    let paths = json!({
        "/pets": {
            "parameters": [{"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "default": 20}}],
            "get": {"operationId": "listPets", "summary": "List\npets", "description": "All\r\nof them."},
            "post": {
                "operationId": "pets/create",
                "summary": "Create a pet",
                "parameters": [{"name": "X-Trace", "in": "header", "schema": {"type": "string"}}],
                "requestBody": {"required": true, "content": {"application/json": {"schema": {
                    "allOf": [{"$ref": "#/components/schemas/Named"}],
                    "properties": {"tags": {"type": "array", "description": "Some \"words\"", "items": {"type": "string"}}},
                }}}},
            },
        },
        "/pets/{pet-id}/files/{path}": {
            "get": {
                "parameters": [
                    {"name": "pet-id", "in": "path", "required": true, "schema": {"type": "integer"}, "example": 7},
                    {"name": "path", "in": "path", "required": true, "x-multi-segment": true, "schema": {"type": "string"}},
                ],
                "responses": {"200": {"content": {"image/png": {}}}},
            },
        },
    });
    let converted = converted(&document(&paths));
    let expected = r#"/// Pets.
connector pets "Pet Shop";

auth Auth::None;
upstream api "https://pets.example/v2";

/// List pets
///
/// All
/// of them.
list_pets: GET api "/pets" {
    limit?: integer(1..) default 20,
}
    example {};

/// Create a pet
pets_create: POST api "/pets" {
    limit?: integer(1..) default 20 in query,
    X_Trace?: string in header as "X-Trace",
    /// Some "words"
    tags?: [string],
    name: string,
}
    example { name: "example" };

/// GET /pets/{pet-id}/files/{path}
get_pets_files: GET api "/pets/{pet_id}/files/{path}" {
    pet_id: integer,
    path: string keeps_slashes,
} answers file
    example { pet_id: 7, path: "example" };
"#;
    assert_eq!(converted.table, expected);
    assert_eq!(converted.left_out, [""; 0]);
    let call = converted.call.unwrap();
    assert_eq!((call.operation.as_str(), call.input.as_str(), call.path.as_str()), ("list_pets", "{}", "/pets"));
}

#[test]
fn the_security_scheme_of_the_operations_is_taken() {
    let with = |schemes: Value, used: Value| {
        let mut document: Value = serde_json::from_str(&document(&json!({"/x": {"get": {"security": used}}}))).unwrap();
        document["components"]["securitySchemes"] = schemes;
        document.to_string()
    };
    let oauth = json!({"type": "oauth2", "flows": {"authorizationCode": {
        "authorizationUrl": "https://accounts.acme.example/a", "tokenUrl": "https://acme.example/t", "scopes": {"r": "", "w": ""},
    }}});
    let all = json!({"unused": {"type": "http", "scheme": "basic"}, "bearer": {"type": "http", "scheme": "bearer"}, "oauth": oauth});
    let table = converted(&with(all.clone(), json!([{"bearer": []}, {"oauth": ["r"]}]))).table;
    for words in ["provider: \"acme\"", "authorization_url: \"https://accounts.acme.example/a\"", "scopes: &[\"r\"]"] {
        assert!(table.contains(words), "{words} in\n{table}");
    }
    assert!(converted(&with(all.clone(), json!([{"bearer": []}]))).table.contains("prefix: \"Bearer \""));
    let query = json!({"key": {"type": "apiKey", "in": "query", "name": "appid"}});
    assert!(converted(&with(query, json!([{"key": []}]))).table.contains("KeyPlacement::Query(\"appid\")"));
    let document = with(all, json!([{"bearer": []}, {"oauth": []}]));
    let wanted = |auth| convert(&document, "pets", &[], Some(auth), |_| true).unwrap().table;
    assert!(wanted(Auth::ApiKey).contains("Bearer") && wanted(Auth::None).contains("auth Auth::None;"));
}

#[test]
fn the_name_of_a_provider_is_its_domain_and_tokens_of_another_site_are_noted() {
    let with = |authorization: &str, token: &str| {
        let mut document: Value =
            serde_json::from_str(&document(&json!({"/x": {"get": {"security": [{"oauth": []}]}}}))).unwrap();
        document["components"]["securitySchemes"] = json!({"oauth": {"type": "oauth2", "flows": {"authorizationCode": {
            "authorizationUrl": authorization, "tokenUrl": token, "scopes": {},
        }}}});
        converted(&document.to_string())
    };
    let british = with("https://login.acme.co.uk/a", "https://acme.co.uk/t");
    assert!(british.table.contains("provider: \"acme\""), "{}", british.table);
    assert_eq!(british.assumed, [""; 0]);
    let lines = with("https://app.acme.example/a", "https://api.acme-tokens.example/t").assumed;
    assert!(lines.len() == 1 && lines[0].contains("`--grant api.acme-tokens.example`"), "{lines:?}");
}

/// A gateway refuses a module that would send a credential without TLS.
#[test]
fn a_server_without_tls_is_assumed_to_have_it_if_requests_carry_a_credential() {
    let at = |security: Value| {
        let own = json!({"servers": [{"url": "http://other.example"}], "security": security});
        let mut document: Value =
            serde_json::from_str(&document(&json!({"/x": {"get": {"security": security}, "put": own}}))).unwrap();
        document["servers"] = json!([{"url": "http://pets.example"}]);
        document["components"]["securitySchemes"] = json!({"key": {"type": "http", "scheme": "bearer"}});
        converted(&document.to_string())
    };
    let open = at(json!([]));
    assert!(open.table.contains("upstream api \"http://pets.example\"") && open.assumed.is_empty(), "{open:?}");
    let protected = at(json!([{"key": []}]));
    assert!(!protected.table.contains("\"http:"), "{}", protected.table);
    for (line, url) in protected.assumed.iter().zip(["pets.example", "other.example"]) {
        assert!(line.contains(&format!("`https://{url}`")) && line.contains(&format!("`http://{url}`")), "{line}");
    }
    assert_eq!(protected.assumed.len(), 2);
}

#[test]
fn a_document_without_a_security_scheme_makes_the_author_choose() {
    let assumed = |text: &str, auth| convert(text, "pets", &[], auth, |_| true).unwrap().assumed;
    let silent = document(&json!({"/x": {"get": {}}}));
    let lines = assumed(&silent, None);
    assert!(lines.len() == 1 && lines[0].contains("users need no account"), "{lines:?}");
    assert!(lines[0].contains("`--auth api-key` or `--auth oauth2`"), "{lines:?}");
    assert_eq!(assumed(&silent, Some(Auth::None)), [""; 0], "the author has chosen");
    let lines = assumed(&silent, Some(Auth::ApiKey));
    assert!(lines.len() == 1 && lines[0].contains("`Authorization: Bearer …`"), "{lines:?}");

    let with = |scheme: Value, used: Value| {
        let mut document: Value = serde_json::from_str(&document(&json!({"/x": {"get": {"security": used}}}))).unwrap();
        document["components"]["securitySchemes"] = json!({"key": scheme});
        document.to_string()
    };
    let key = json!({"type": "http", "scheme": "bearer"});
    assert_eq!(assumed(&with(key.clone(), json!([])), None), [""; 0], "the document says that it is public");
    assert_eq!(assumed(&with(key, json!([{"key": []}])), None), [""; 0]);
    assert_eq!(assumed(&with(json!({"type": "mutualTLS"}), json!([{"key": []}])), None).len(), 1);
}

#[test]
fn a_credential_is_no_parameter_of_a_protected_operation() {
    let token = json!([{"name": "token", "in": "query", "required": true, "schema": {"type": "string"}}]);
    let paths = json!({"/x": {
        "get": {"parameters": token, "security": [{"key": []}]}, "put": {"parameters": token},
    }});
    let table = converted(&document(&paths)).table;
    assert!(table.contains("get_x: GET api \"/x\"\n") && table.contains("token: string in query"), "{table}");
}

#[test]
fn documents_of_version_2_are_read_too() {
    let document = json!({
        "swagger": "2.0", "info": {"title": "Old"}, "host": "old.example", "basePath": "/api", "schemes": ["http", "https"],
        "consumes": ["application/json"],
        "parameters": {"limit": {"name": "limit", "in": "query", "type": "integer", "maximum": 9}},
        "definitions": {"Pet": {"type": "object", "properties": {"name": {"type": "string"}}}},
        "securityDefinitions": {"oauth": {"type": "oauth2", "flow": "accessCode", "authorizationUrl": "https://old.example/a",
            "tokenUrl": "https://old.example/t", "scopes": {"pets": ""}}},
        "security": [{"oauth": ["pets"]}],
        "paths": {
            "/pets": {
                "get": {"operationId": "list", "parameters": [{"$ref": "#/parameters/limit"},
                    {"name": "ids", "in": "query", "type": "array", "items": {"type": "string"}, "collectionFormat": "multi"}]},
                "post": {"operationId": "add", "parameters": [{"name": "pet", "in": "body", "schema": {"$ref": "#/definitions/Pet"}}]},
                "put": {"operationId": "form", "parameters": [{"name": "name", "in": "formData", "type": "string", "required": true}]},
                "patch": {"operationId": "real_form", "consumes": ["application/x-www-form-urlencoded"], "parameters": [
                    {"name": "ids", "in": "formData", "type": "array", "items": {"type": "string"}},
                    {"name": "tags", "in": "formData", "type": "array", "items": {"type": "string"}, "collectionFormat": "multi"}]},
            },
            "/upload": {"post": {"operationId": "upload",
                "parameters": [{"name": "file", "in": "formData", "type": "file", "required": true}]}},
        },
    });
    let converted = converted(&document.to_string());
    for words in [
        "upstream api \"https://old.example/api\";",
        "scopes: &[\"pets\"]",
        "limit?: integer(..=9),\n    ids?: [string] repeated,",
        "add: POST api \"/pets\" {\n    name?: string,",
        "form: PUT api \"/pets\" {\n    name: string,",
        "real_form: PATCH api \"/pets\" {\n    ids?: [string] joined \",\",\n    tags?: [string],\n} form",
        // Only one media type has files, whatever the document says.
        "upload: POST api \"/upload\" {\n    file: file,\n} multipart",
    ] {
        assert!(converted.table.contains(words), "{words} in\n{}", converted.table);
    }
    assert_eq!(converted.left_out, [""; 0]);
}

#[test]
fn yaml_is_read_too() {
    let text = "openapi: 3.1.0\ninfo: {title: Y}\nservers: [{url: https://y.example}]\npaths:\n  /a: {get: {operationId: getA}}\n";
    assert!(converted(text).table.contains("get_a: GET api \"/a\""));
}

#[test]
fn a_text_that_is_no_openapi_document_is_refused_in_a_sentence() {
    for (text, words) in [
        ("{", "neither JSON nor YAML"),
        ("{\"openapi\": \"2.0\"}", "3.0"),
        ("{\"openapi\": \"3.0.0\"}", "no operation"),
        ("a: [", "neither JSON nor YAML"),
    ] {
        let error = convert(text, "pets", &[], None, |_| true).unwrap_err().to_string();
        assert!(error.contains(words), "{words} in {error}");
    }
}

#[test]
fn what_is_behind_a_reference_that_cannot_be_followed_is_listed() {
    let gone = json!({"$ref": "#/components/parameters/gone"});
    let elsewhere = json!({"$ref": "common.yaml#/limit"});
    let paths = json!({
        "/a": {"parameters": [elsewhere], "get": {"parameters": [gone]}, "put": {"parameters": [gone]}},
        "/b": {"$ref": "paths/b.yaml"},
        "/c": {"$ref": "#/paths/~1nowhere"},
        "/d": {"options": {}, "get": {}, "x-note": {}},
        "x-more": {"$ref": "more.yaml"},
    });
    let converted = converted(&document(&paths));
    let expected = [
        "/b: the path: `paths/b.yaml` is in another document",
        "/c: the path: `#/paths/~1nowhere` leads nowhere",
        "OPTIONS /d: the operation: a row has no such method",
        // One line for each reason, with all operations that it is about.
        "GET /a, PUT /a: a parameter: `#/components/parameters/gone` leads nowhere",
        "GET /a, PUT /a: a parameter: `common.yaml#/limit` is in another document",
    ];
    assert_eq!(converted.left_out, expected);
    assert!(converted.table.contains("get_a: GET") && converted.table.contains("get_d: GET"), "{}", converted.table);
}

#[test]
fn a_shared_parameter_of_version_2_that_is_missing_is_listed() {
    let document = json!({
        "swagger": "2.0", "info": {"title": "Old"}, "host": "old.example",
        "paths": {"/pets": {"get": {"parameters": [{"$ref": "#/parameters/gone"}]}}},
    });
    assert_eq!(
        converted(&document.to_string()).left_out,
        ["GET /pets: a parameter: `#/parameters/gone` leads nowhere"]
    );
}

/// A document with one protected operation.
fn protected(scheme: Value, operation: Value, servers: Value) -> String {
    let mut operation = operation;
    operation["security"] = json!([{"scheme": ["r"]}]);
    let mut document: Value = serde_json::from_str(&document(&json!({"/x": {"get": operation}}))).unwrap();
    document["components"]["securitySchemes"] = json!({"scheme": scheme});
    document["servers"] = servers;
    document.to_string()
}

#[test]
fn relative_urls_of_a_provider_are_relative_to_the_server_and_others_are_listed() {
    let with = |urls: Value| {
        let mut flow = urls;
        flow["scopes"] = json!({"r": ""});
        let scheme = json!({"type": "oauth2", "flows": {"authorizationCode": flow}});
        converted(&protected(scheme, json!({}), json!([{"url": "https://api.acme.example/v2/"}])))
    };
    let relative =
        with(json!({"authorizationUrl": "/oauth/authorize", "tokenUrl": "../token", "refreshUrl": "refresh"}));
    for words in [
        "provider: \"acme\"",
        "authorization_url: \"https://api.acme.example/oauth/authorize\"",
        "token_url: \"https://api.acme.example/token\"",
        "refresh_url: Some(\"https://api.acme.example/v2/refresh\")",
    ] {
        assert!(relative.table.contains(words), "{words} in\n{}", relative.table);
    }
    assert_eq!(relative.left_out, [""; 0]);
    let broken = with(json!({"authorizationUrl": "https://acme.example/a", "refreshUrl": "http://acme.example/r"}));
    assert_eq!(
        broken.left_out,
        ["tokenUrl", "refreshUrl"]
            .map(|key| format!("the security scheme `scheme`: its `{key}` is no `https` URL: fill it in"))
    );
}

#[test]
fn variables_of_a_server_have_their_defaults_and_the_other_servers_are_told() {
    let servers = json!([
        {"url": "https://{region}.acme.example:{port}/{base}", "variables": {
            "region": {"default": "us", "enum": ["eu", "us"]}, "port": {"default": 8443}, "base": {"enum": ["v2"]},
        }},
        {"url": "https://test.acme.example"},
    ]);
    let converted = converted(&protected(json!({"type": "http", "scheme": "bearer"}), json!({}), servers));
    assert!(converted.table.contains("upstream api \"https://us.acme.example:8443/v2\";"), "{}", converted.table);
    let otherwise = "an operator sets another URL in the configuration (`connectors.….upstreams`)";
    let url = "https://us.acme.example:8443/v2";
    let mut expected = [
        format!("`base` in the URL of the server is `v2`; {otherwise}"),
        format!("`port` in the URL of the server is `8443`; {otherwise}"),
        format!("`region` in the URL of the server is `us`; {otherwise} for `eu`"),
        format!(
            "the service is at `{url}`, the first server of the document; {otherwise} for `https://test.acme.example`"
        ),
    ];
    let mut assumed = converted.assumed;
    expected.sort();
    assumed.sort();
    assert_eq!(assumed, expected);

    let unknown = json!([{"url": "https://{shop}.acme.example", "variables": {"shop": {}}}]);
    let left_out =
        super::converted(&protected(json!({"type": "http", "scheme": "bearer"}), json!({}), unknown)).left_out;
    assert!(left_out.len() == 1 && left_out[0].contains("https://{shop}.acme.example"), "{left_out:?}");
}

#[test]
fn a_key_that_is_also_a_parameter_is_sent_once() {
    let parameters = |place: &str, name: &str| {
        json!({"parameters": [
            {"name": name, "in": place, "required": true, "schema": {"type": "string"}},
            {"name": "q", "in": "query", "schema": {"type": "string"}},
        ]})
    };
    for (place, name, same) in [("query", "appid", "appid"), ("header", "X-Key", "x-key")] {
        let scheme = json!({"type": "apiKey", "in": place, "name": name});
        let converted = converted(&protected(scheme, parameters(place, same), json!([{"url": "https://a.example"}])));
        assert!(converted.table.contains("get_x: GET api \"/x\" {\n    q?: string,\n}"), "{}", converted.table);
        assert_eq!(
            converted.left_out,
            [format!("GET /x: the parameter `{same}`, because the gateway adds the credential itself")]
        );
    }
}
