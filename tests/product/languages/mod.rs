//! Connectors in other languages than Rust, built from `tests/languages` with the SDKs of these
//! languages.

mod projects;

use std::collections::HashSet;
use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use support::accounts::{connect, email, registered};
use support::multipart::Part;
use support::{Client, Dialect, Gateway, OAuthProvider, Reply, Setup, module, wait_at_most};

/// The engine of a language is much code. On a busy machine it may take minutes to compile it.
const COMPILE_TIME: Duration = Duration::from_secs(1200);

/// The errors of what programs in JavaScript expect and a connector does not have.
const NOT_IN_JAVASCRIPT: &[&str] =
    &["Error: setTimeout() never fires", "Error: setInterval() never fires", "Error: a connector has no fetch()"];

/// A gateway with one connector, and an account that ada has connected.
struct World {
    provider: OAuthProvider,
    gateway: Gateway,
    client: Client,
    identifier: &'static str,
}

impl World {
    /// `built` is a module in `target/languages`.
    fn start(identifier: &'static str, built: &str) -> Self {
        let path = module::root().join("target/languages").join(built);
        let module =
            fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; `make languages` builds it", path.display()));
        let provider = OAuthProvider::start(Dialect::strict());
        // The long file of `forms` takes much of the usual second, and on a busy machine more than that.
        let setup = Setup::new()
            .provider(identifier, &provider, &[("api", "")])
            .config("settings.version = \"2026-11\"\nlimits.cpu_ms = 10000");
        let gateway = setup.config("[compile]\ncpu_s = 1200").start();
        gateway.home().put(identifier, &module);
        wait_at_most(COMPILE_TIME, "the module to be compiled", || gateway.connector(identifier));
        let gateway = registered(gateway, &provider);
        provider.on_api(|seen, account| match seen.path.rsplit_once('/') {
            Some((_, "me")) => Reply::json(json!({"id": account.id, "email": account.email})),
            Some((_, "list")) => match seen.parameter("page").as_deref() {
                None => Reply::json(json!({"notes": [1, 2], "next": "second"})),
                _ => Reply::json(json!({"notes": [3], "next": ""})),
            },
            Some((_, "missing")) => Reply::json(json!({"error": "no such note"})).status(404),
            Some((_, id)) => Reply::json(json!({"title": id, "size": 3})),
            None => Reply::empty(404),
        });
        let client = gateway.client();
        connect(&client, identifier, "ada");
        Self { provider, gateway, client, identifier }
    }

    fn call(&self, operation: &str, input: Value) -> support::Answer {
        self.client.call(&format!("{}/{operation}", self.identifier), input)
    }

    /// Every feature, one after the other: a module of these sizes is compiled once.
    fn has_every_feature(&self, place: &str, unavailable: &[&str]) {
        self.identity_is_found();
        self.thin();
        self.composed();
        self.storage();
        self.file();
        self.forms();
        self.pages();
        self.printed();
        self.faults();
        self.exceptions(place);
        self.end_of_memory();
        self.random_values();
        self.time();
        self.unavailable(unavailable);
        self.declared_pages();
    }

    fn identity_is_found(&self) {
        let user = self.call("userinfo", json!({})).ok();
        assert_eq!(user["data"]["email"], email("ada"));
        let record = self.client.get("/integrations").ok()["integrations"][0].clone();
        assert_eq!(record["address"], json!({"member": user["data"]["id"]}), "{record}");
        let token = self.provider.access_tokens().pop().unwrap();
        let seen = self.provider.api_calls().pop().unwrap();
        assert_eq!(seen.header("authorization"), format!("Bearer {token}"));
    }

    fn thin(&self) {
        assert_eq!(self.call("note", json!({"id": "a b/c", "page": 2.0})).ok()["title"], "a%20b%2Fc");
        let seen = self.provider.api_calls().pop().unwrap();
        assert_eq!((seen.query.as_str(), seen.header("x-api-version")), ("pageNumber=2", "2026-11"));
        assert!(seen.header("authorization").starts_with("Bearer "));
        let refused = self.call("note", json!({"id": "x", "page": 0, "pag": 1})).violations();
        assert_eq!(refused.iter().map(|(pointer, _)| pointer.as_str()).collect::<Vec<_>>(), ["/page", "/pag"]);
        // The schema cannot know this rule.
        assert_eq!(self.call("note", json!({"id": ".."})).violations()[0].0, "/id");
        assert_eq!(self.call("through", json!({"id": "a b"})).ok(), json!({"title": "a%20b"}));
        assert_eq!(self.provider.api_calls().pop().unwrap().header("x-api-version"), "2026-11");
        assert_eq!(self.call("through", json!({"id": ".."})).violations()[0].0, "/id");
    }

    fn composed(&self) {
        let answer = self.call("both", json!({"first": "x", "second": "ü"})).ok();
        assert_eq!(answer, json!({"first": "x", "second": {"title": "%C3%BC", "size": 3}, "at": true}));
        let problem = self.call("both", json!({"first": "x", "second": "missing"})).problem(404, "upstream-rejected");
        assert_eq!(problem["upstream"]["body"]["error"], "no such note", "{problem}");
    }

    fn storage(&self) {
        assert_eq!(self.call("count", json!({})).ok(), json!({"calls": 1}));
        assert_eq!(self.call("count", json!({})).ok(), json!({"calls": 2}));
        self.gateway
            .wait_for_log("the connector's line", |line| line["message"] == "call 2" && line["level"] == "INFO");
    }

    fn file(&self) {
        let expected = json!({
            "file_name": "note.txt", "content_type": "text/plain", "size": 2, "content_base64": "w7w=", "lines": 1,
        });
        assert_eq!(self.call("saved", json!({})).ok(), expected);
    }

    fn declared_pages(&self) {
        let operations = self.gateway.connector(self.identifier).unwrap()["operations"].clone();
        let found = operations.as_array().unwrap().iter().find(|operation| operation["path"] == "charges").unwrap();
        let rule = json!({
            "style": "last_item", "items": "/data", "next": "/id", "more": "/has_more", "input": "/after",
        });
        assert_eq!(found["x-pagination"], rule);
    }

    /// The connector declares the code of this refusal. No call runs after it.
    fn end_of_the_grant(&self) {
        self.provider.break_tokens(Reply::json(json!({"error": "GRANT_IS_GONE"})).status(400));
        self.provider.expire();
        self.call("note", json!({"id": "x"})).problem(424, "reauthorization-required");
        assert_eq!(self.client.get("/integrations").ok()["integrations"][0]["status"], "expired");
    }

    /// Forms with files: of a row, and of a function.
    fn forms(&self) {
        let photo = json!({"file_name": "a.png", "content_type": "image/png", "content_base64": "iVBORw=="});
        let plain = json!({"file_name": "\u{fc}.txt", "content_base64": "SGk="});
        self.call("upload", json!({"title": "\u{fc}\"", "photo": photo, "more": [plain, plain]})).ok();
        let sent = || self.provider.api_calls().pop().unwrap().multipart();
        let image = Part::file("photo", "a.png", "image/png", b"\x89PNG");
        let other = Part::file("more[]", "\u{fc}.txt", "application/octet-stream", b"Hi");
        assert_eq!(sent(), [Part::text("title", "\u{fc}\""), image.clone(), other.clone(), other]);
        self.call("report", json!({"photo": photo})).ok();
        assert_eq!(
            sent(),
            [Part::text("title", "Report"), Part::file("report", "report.csv", "text/csv", b"a,b"), image]
        );
        let wrong = json!({"file_name": "../a", "content_base64": "SGk="});
        assert_eq!(self.call("upload", json!({"title": "x", "photo": wrong})).violations()[0].0, "/photo");
        let wrong = json!({"file_name": "a", "content_base64": "?"});
        let refused = self.call("upload", json!({"title": "x", "photo": photo, "more": [plain, wrong]})).violations();
        assert_eq!(refused[0].0, "/more/1");
        self.call("checked", json!({"album": "a b", "photo": photo, "title": "\u{fc}"})).ok();
        assert_eq!(sent(), [Part::text("title", "\u{fc}"), Part::file("photo", "a.png", "image/png", b"\x89PNG")]);
        assert_eq!(self.provider.api_calls().pop().unwrap().path.rsplit('/').next(), Some("a%20b"));
        // The function refuses a value, and so do the rules of rows and of forms.
        for (input, pointer) in [
            (json!({"album": "a", "photo": photo, "title": ""}), "/title"),
            (json!({"album": "..", "photo": photo}), "/album"),
            (json!({"album": "a", "photo": wrong}), "/photo"),
        ] {
            assert_eq!(self.call("checked", input).violations()[0].0, pointer);
        }
        // A long file takes little memory.
        let content = "A".repeat(4 << 20);
        let long = json!({"file_name": "long", "content_base64": content});
        self.call("upload", json!({"title": "x", "photo": long})).ok();
        assert_eq!(sent()[1].content.len(), content.len() / 4 * 3);
        self.call("checked", json!({"album": "a", "title": "x", "photo": long})).ok();
        assert_eq!(sent()[1].content.len(), content.len() / 4 * 3);
    }

    fn pages(&self) {
        assert_eq!(self.call("walk", json!({"limit": 9})).ok(), json!({"notes": [1, 2, 3], "more": false}));
        assert_eq!(self.call("walk", json!({"limit": 2})).ok(), json!({"notes": [1, 2], "more": true}));
    }

    /// The sandbox has no terminal. What is printed goes to the operator's log.
    fn printed(&self) {
        assert_eq!(self.call("prints", json!({})).ok(), json!({"printed": true}));
        for (level, text) in [("INFO", "a printed line"), ("ERROR", "an error")] {
            self.gateway.wait_for_log("the printed line", |line| line["message"] == text && line["level"] == level);
        }
    }

    fn faults(&self) {
        let problem = self.call("refused", json!({})).problem(404, "resource-not-found");
        assert_eq!(problem["candidates"], json!(["a"]), "{problem}");
    }

    /// An exception is a defect: the log has the stack, and an admin who debugs learns its kind and
    /// place.
    fn exceptions(&self, place: &str) {
        let problem = self.call("broken", json!({})).problem(500, "connector-failed");
        let detail = "The connector has a defect. Its author finds the cause in the gateway's log.";
        assert_eq!(problem["detail"], detail, "{problem}");
        let path = format!("/connectors/{}/broken", self.identifier);
        let debugged = self.client.request("POST", &path).header("X-Debug", "1").json(&json!({})).send();
        let debugged = debugged.problem(500, "connector-failed");
        let shown = debugged["detail"].as_str().unwrap();
        assert!(shown.starts_with(detail) && shown.contains("Error: ") && shown.contains(place), "{shown}");
        let line = self.gateway.wait_for_log("the exception", |line| {
            line["level"] == "ERROR"
                && line["operation"] == "broken"
                && line["message"].as_str().is_some_and(|text| text.contains(place))
        });
        assert_eq!(line["request_id"], problem["instance"], "{line}");
        self.call("note", json!({"id": "after"})).ok();
    }

    /// An engine turns the end of the memory into an exception of the connector.
    fn end_of_memory(&self) {
        let problem = self.call("hoard", json!({})).problem(500, "connector-failed");
        assert_eq!((&problem["limit"], &problem["owner"]), (&json!("memory"), &json!("operator")), "{problem}");
        self.call("note", json!({"id": "after"})).ok();
    }

    /// Each call starts from the same memory, so the values of the engine would be the same in each.
    fn random_values(&self) {
        let answers: Vec<_> = (0..3).map(|_| self.call("random", json!({})).ok()).collect();
        for index in 0..3 {
            let values: HashSet<_> = answers.iter().map(|answer| answer["values"][index].to_string()).collect();
            assert_eq!(values.len(), 3, "{answers:?}");
        }
        let uuids: HashSet<_> = answers.iter().map(|answer| answer["uuid"].as_str().unwrap()).collect();
        assert_eq!(uuids.len(), 3, "{answers:?}");
        for uuid in uuids {
            let lengths: Vec<_> = uuid.split('-').map(str::len).collect();
            assert_eq!((lengths, &uuid[14..15]), (vec![8, 4, 4, 4, 12], "4"), "{uuid}");
        }
    }

    fn time(&self) {
        assert_eq!(self.call("wait", json!({})).ok(), json!({"waited": true, "date": true}));
    }

    /// A function that the sandbox does not have is an exception, which an author can catch, and no
    /// trap.
    fn unavailable(&self, expected: &[&str]) {
        let answer = self.call("unavailable", json!({})).ok();
        let errors: Vec<_> = answer.as_array().unwrap().iter().map(|error| error.as_str().unwrap()).collect();
        assert_eq!(errors.len(), expected.len(), "{errors:?}");
        for (error, expected) in errors.iter().zip(expected) {
            assert!(error.starts_with(expected), "{error}");
        }
    }
}

/// The line of the source that has this text, as `file:line`.
fn place(file: &str, text: &str) -> String {
    let source = fs::read_to_string(module::root().join(file)).unwrap();
    let line = source.lines().position(|line| line.contains(text)).unwrap() + 1;
    format!("{file}:{line}")
}

#[test]
#[ignore = "make test-languages"]
fn a_connector_in_javascript_has_every_feature() {
    let broken = place("tests/languages/javascript/connector.js", "return notes.title");
    let world = World::start("javascript", "javascript.wasm");
    world.has_every_feature(&broken, NOT_IN_JAVASCRIPT);
    world.end_of_the_grant();
}

#[test]
#[ignore = "make test-languages"]
fn a_connector_in_javascript_for_the_small_engine_has_every_feature() {
    let broken = "tests/languages/javascript/connector.js:";
    let world = World::start("javascript", "javascript-quickjs.wasm");
    world.has_every_feature(broken, NOT_IN_JAVASCRIPT);
    world.end_of_the_grant();
}

#[test]
#[ignore = "make test-languages"]
fn a_connector_in_python_has_every_feature() {
    let broken = place("tests/languages/python/connector.py", "return notes.title");
    let no_sockets = "OSError: [Errno 52] a connector has no sockets";
    let unavailable = [
        "OSError: ",
        "OSError: ",
        "ModuleNotFoundError: ",
        "OSError: [Errno 52] a connector has no standard input",
        no_sockets,
        no_sockets,
    ];
    let world = World::start("python", "python.wasm");
    world.has_every_feature(&broken, &unavailable);
    let problem = world.call("exits", json!({})).problem(500, "connector-failed");
    let line =
        world.gateway.wait_for_log("the exception", |line| line["operation"] == "exits" && line["level"] == "ERROR");
    assert!(line["message"].as_str().unwrap().starts_with("SystemExit: the end"), "{line} {problem}");
    world.end_of_the_grant();
}
