//! Connectors from OpenAPI documents.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use support::multipart::Part;
use support::{Reply, Setup, Upstream, module};

use super::Project;
use crate::mcp::Agent;

/// A service with an operation of each kind, in YAML.
const PETS: &str = r##"
openapi: 3.1.0
info: { title: Pet Shop, description: Pets and their owners. }
servers: [{ url: "https://pets.example/{version}", variables: { version: { default: v2 } } }]
security: [{ key: [] }]
components:
  securitySchemes:
    key: { type: apiKey, in: header, name: X-Pet-Key }
  parameters:
    limit: { name: page-size, in: query, schema: { type: integer, minimum: 1, maximum: 100, default: 20 } }
  schemas:
    Pet:
      type: object
      required: [name]
      properties:
        id: { type: string, readOnly: true }
        name: { type: string, minLength: 1, maxLength: 40, description: What it is called. }
        kind: { type: string, enum: [cat, dog] }
        tags: { type: array, items: { type: string } }
        owner:
          type: object
          required: [email]
          properties: { email: { type: string, format: email }, "home.phone": { type: [string, "null"] } }
        parent: { $ref: "#/components/schemas/Pet" }
paths:
  /pets:
    get:
      operationId: listPets
      summary: List pets
      parameters:
        - $ref: "#/components/parameters/limit"
        - { name: kind, in: query, explode: true, schema: { type: array, items: { type: string, enum: [cat, dog] } } }
      responses:
        "200":
          description: The pets
          content:
            application/json:
              schema: { type: object, properties: { items: { type: array, items: { $ref: "#/components/schemas/Pet" } } } }
    post:
      operationId: createPet
      summary: Create a pet
      requestBody:
        required: true
        content: { application/json: { schema: { $ref: "#/components/schemas/Pet" } } }
  /pets/{pet-id}/photo:
    put:
      operationId: uploadPhoto
      parameters: [{ name: pet-id, in: path, required: true, schema: { type: string } }]
      requestBody: { content: { image/png: {} } }
  /pets/{pet-id}/papers:
    post:
      operationId: uploadPapers
      parameters: [{ name: pet-id, in: path, required: true, schema: { type: string } }]
      requestBody:
        required: true
        content:
          multipart/form-data:
            schema:
              type: object
              required: [passport]
              properties:
                passport: { type: string, format: binary }
                "other[]": { type: array, items: { type: string, format: binary } }
                tags: { type: array, items: { type: string } }
                issued: { type: object, properties: { year: { type: integer } } }
                confirmed: { type: boolean }
  /pets/{pet-id}:
    get:
      operationId: getPet
      parameters:
        - { name: pet-id, in: path, required: true, schema: { type: string } }
        - { name: X-Trace, in: header, schema: { type: string } }
"##;

#[test]
#[ignore = "make test-authors"]
fn a_project_from_an_openapi_document_sends_the_requests_that_it_describes() {
    let document = tempfile::NamedTempFile::new().unwrap();
    fs::write(&document, PETS).unwrap();
    let document = document.path().to_str().unwrap();
    let (project, said) = Project::new(&["pets", "--from-openapi", document, "--auth", "none"]);
    for words in ["PUT /pets/{pet-id}/photo", "`image/png`", "`parent`"] {
        assert!(said.contains(words), "{words} in\n{said}");
    }
    project.test();
    let (module, _) = project.build();
    let service = Upstream::start();
    for path in ["/pets", "/pets/1", "/pets/1/papers"] {
        service.reply(path, Reply::json(json!({"done": true})));
    }
    let setup = Setup::new().module("pets", module).upstream("pets", "api", &service.url());
    let gateway = setup.config("[mcp]\ndirect_tools = 0").start();
    let agent = Agent::new(&gateway.client(), "/mcp");
    let described = agent.text("describe_operations", json!({"names": ["pets/list_pets"]}));
    let described: Value = serde_json::from_str(&described).unwrap();
    let pet = |owner: Value, parent: Value| json!({"id": "string", "name": "string", "kind": "string", "tags": ["string"], "owner": owner, "parent": parent});
    let parent = pet(json!("object"), json!("object"));
    let pet = pet(json!({"email": "string", "home.phone": "string"}), parent);
    assert_eq!(described[0]["answer"], json!({"items": [pet]}), "{described}");
    gateway.call("pets/list_pets", json!({"page_size": 5, "kind": ["cat", "dog"]})).ok();
    let pet = json!({"name": "Tom", "kind": "cat", "owner": {"email": "ada@example.com", "home.phone": "1"}});
    gateway.call("pets/create_pet", pet.clone()).ok();
    gateway.call("pets/get_pet", json!({"pet_id": "1", "X_Trace": "t"})).ok();
    let papers = json!({
        "pet_id": "1", "tags": ["a", "b"], "issued": {"year": 2026}, "confirmed": true,
        "passport": {"file_name": "p.pdf", "content_type": "application/pdf", "content_base64": "JVBERg=="},
        "other": [{"file_name": "x.txt", "content_base64": "eA=="}, {"file_name": "y.txt", "content_base64": "eQ=="}],
    });
    gateway.call("pets/upload_papers", papers).ok();
    let seen = service.seen();
    let lines: Vec<String> = seen.iter().map(|seen| format!("{} {}?{}", seen.method, seen.path, seen.query)).collect();
    assert_eq!(
        lines,
        ["GET /pets?page-size=5&kind=cat&kind=dog", "POST /pets?", "GET /pets/1?", "POST /pets/1/papers?"]
    );
    let octets = "application/octet-stream";
    assert_eq!(
        seen[3].multipart(),
        [
            Part::text("tags", "a"),
            Part::text("tags", "b"),
            Part { content_type: Some("application/json".to_owned()), ..Part::text("issued", r#"{"year":2026}"#) },
            Part::text("confirmed", "true"),
            Part::file("passport", "p.pdf", "application/pdf", b"%PDF"),
            Part::file("other[]", "x.txt", octets, b"x"),
            Part::file("other[]", "y.txt", octets, b"y"),
        ]
    );
    let wrong = json!({"pet_id": "1", "passport": {"file_name": "a/b", "content_base64": "eA=="}});
    assert_eq!(gateway.call("pets/upload_papers", wrong).violations()[0].0, "/passport");
    let wrong = json!({"pet_id": "1", "passport": {"file_name": "a"}, "other": ["x"]});
    let refused = gateway.call("pets/upload_papers", wrong).violations();
    assert_eq!(
        refused.iter().map(|(pointer, _)| pointer.as_str()).collect::<Vec<_>>(),
        ["/passport/content_base64", "/other/0"]
    );
    assert_eq!(serde_json::from_slice::<Value>(&seen[1].body).unwrap(), pet);
    assert_eq!(seen[2].header("x-trace"), "t");
    let refused = gateway.call("pets/list_pets", json!({"page_size": 101, "kind": ["fish"]}));
    let pointers: Vec<String> = refused.violations().into_iter().map(|(pointer, _)| pointer).collect();
    assert_eq!(pointers, ["/page_size", "/kind/0"]);
}

#[test]
#[ignore = "make test-authors"]
fn chosen_operations_have_the_security_scheme_of_the_document() {
    let document = tempfile::NamedTempFile::new().unwrap();
    fs::write(&document, PETS).unwrap();
    let document = document.path().to_str().unwrap();
    let (project, _) = Project::new(&["pets", "--from-openapi", document, "--operations", "getPet,GET /pets"]);
    let table = project.read("src/lib.rs");
    let names: Vec<&str> =
        ["create_pet:", "get_pet:", "list_pets:"].into_iter().filter(|name| table.contains(name)).collect();
    assert_eq!(names, ["get_pet:", "list_pets:"]);
    let (_, report) = project.build();
    for words in ["API key", "operations  2", "pets.example"] {
        assert!(report.contains(words), "{words} in\n{report}");
    }
}

/// Real documents: every operation of each becomes a module that the gateway accepts, and one of
/// them is called. Skipped without the documents. The query of the request is decoded.
#[test]
#[ignore = "make test-authors"]
fn every_operation_of_five_real_documents_is_valid() {
    let specifications =
        std::env::var_os("SPECS_DIR").map_or_else(|| module::root().join("../shared/specs"), PathBuf::from);
    for (document, operation, input, request) in [
        (
            "github/github.openapi.json",
            "issues_get",
            json!({"owner": "a", "repo": "b", "issue_number": 7}),
            "/repos/a/b/issues/7?",
        ),
        ("slack/slack_web.openapi2.json", "conversations_list", json!({"limit": 5}), "/conversations.list?limit=5"),
        ("msgraph/files.openapi.json", "drive_list_drive", json!({"top": 3}), "/drives?$top=3"),
        (
            "x/x_v2.openapi.json",
            "search_posts_recent",
            json!({"query": "a", "user_fields": ["id", "name"]}),
            "/2/tweets/search/recent?query=a&user.fields=id,name",
        ),
        (
            "dexscreener/dexscreener.openapi.json",
            "get_latest_dex_search",
            json!({"q": "SOL"}),
            "/latest/dex/search?q=SOL",
        ),
    ] {
        let file = specifications.join(document);
        if !file.exists() {
            eprintln!("skipped: {} is missing", file.display());
            continue;
        }
        let (project, _) = Project::new(&["sample", "--from-openapi", file.to_str().unwrap(), "--auth", "none"]);
        let (module, report) = project.build();
        let rows = project.read("src/lib.rs").lines().filter(|line| line.contains(" api \"/")).count();
        assert!(report.contains(&format!("operations  {rows}")), "{document}:\n{report}");
        let service = Upstream::start();
        let (path, query) = request.split_once('?').unwrap();
        service.reply(path, Reply::json(json!({"items": []})));
        let gateway = Setup::new().module("sample", module).upstream("sample", "api", &service.url()).start();
        gateway.call(&format!("sample/{operation}"), input).ok();
        let parameters = service.seen()[0].parameters();
        let sent: Vec<String> = parameters.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(sent.join("&"), query, "{document}");
    }
}
