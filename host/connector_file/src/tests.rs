use std::path::Path;

use wasmparser::{Parser, Payload};

use super::*;

const HEAD: &str = r#"identifier = "example"
version = "1.0.0"
title = "Example"
auth = "none"
upstreams.api = "https://api.example.com"
"#;

/// The mistakes in a file of the head and more lines. The first line after the head is 6.
fn mistakes(more: &str) -> Vec<String> {
    mistakes_of(&format!("{HEAD}{more}"))
}

fn mistakes_of(file: &str) -> Vec<String> {
    match read(file, Path::new("/nowhere")) {
        Ok(_) => Vec::new(),
        Err(refused) => refused.to_string().lines().map(str::to_owned).collect(),
    }
}

#[track_caller]
fn only(more: &str, expected: &str) {
    assert_eq!(mistakes(more), [format!("connector.toml:{expected}")], "{more}");
}

#[test]
fn a_file_that_keeps_the_rules_has_no_mistake() {
    assert_eq!(mistakes("[operations.list]\nrequest = \"GET api /items\"\ndoc = \"Items.\"\n"), [""; 0]);
}

#[test]
fn a_mistake_names_its_line_and_says_what_to_write() {
    only(
        "[operations.list]\ndoc = \"Items.\"\n",
        "6: say in `request` what the operation sends: a method, an upstream and a path: `request = \"GET api /items/{id}\"`",
    );
    let row =
        |more: &str| format!("[operations.list]\nrequest = \"GET api /items/{{id}}\"\ndoc = \"Items.\"\n{more}\n");
    let unknown = mistakes(&row("colour = 1"));
    let expected = "connector.toml:9: unknown clause `colour`; the clauses are `request`, `doc`, `fields`, ";
    assert!(matches!(unknown.as_slice(), [mistake] if mistake.starts_with(expected)), "{unknown:?}");
    only(
        &row("fields.\"id?\" = \"string\""),
        "9: field `id`: the path needs it, so that it is required or has a default that is sent",
    );
    only(
        &row("fields.page = { type = \"integer\",\n  default = 1 }"),
        "10: a field with a default is optional: `page?`",
    );
    let twice = "fields.\"a?\" = \"string\"";
    only(&row(&format!("fields.a = \"string\"\n{twice}")), "10: field `a`: it is declared twice");
    only(
        &format!(
            "[operations.set]\nrequest = \"POST api /x\"\ndoc = \"Set.\"\nfields.b.{twice}\nfields.b.fields.a = \"string\""
        ),
        "10: `a` is declared twice",
    );
    only(&row("example = { id = 7 }"), "9: the example does not fit at `/id`: expected a string");
    only(
        &row("fields.page = \"int\""),
        "9: unknown type `int`; the types are `string`, `integer`, `number`, `boolean`, `object`, `file`, lists such as `[string]` and `string | [string]`; in place of a type, `fields` has the fields of an object, and `entries` the names of parameters",
    );
    only(
        &row("fields.\"query?\" = { entries = [{ page = 1 }] }"),
        "9: expected a list of texts, or a table such as `{ one_of = [\"…\"], doc = \"…\" }`",
    );
    only(
        &row("fields.\"query?\" = { entries = [{ page = { docs = \"A\" } }] }"),
        "9: unknown modifier `docs`; the modifiers are `one_of` and `doc`",
    );
    only(&row("rate_limit = \"slow\""), "9: there is no rate limit `slow`; nothing of the kind is declared");
    only(
        &row("[headers]\nX-A = \"a\"\nAuthorization = \"b\""),
        "11: header `Authorization`: the gateway sets this header itself; leave it out",
    );
    only(
        "[operations.list]\nrequest = \"GET files /items\"\ndoc = \"Items.\"\n",
        "7: upstream: the connector has no upstream `files`; it has `api`",
    );
    only("[operations.list]\nrequest = \"GET api items\"\ndoc = \"Items.\"\n", "7: path: a path begins with `/`");
    only("operations = { list = 1\n", "6: this is not TOML: unclosed inline table, expected `}`");
}

#[test]
fn a_mistake_in_a_clause_names_the_line_of_the_clause() {
    let row =
        |more: &str| format!("[operations.list]\nrequest = \"GET api /items/{{id}}\"\ndoc = \"Items.\"\n{more}\n");
    only(
        &row("pages = { items = \"/items\", cursor = \"/next\", into = \"/page\" }"),
        "9: `/page`: the input schema does not name this member",
    );
    only(
        &row("pages = { items = \"/items\", last = \"/id\", while = \"\", into = \"/id\" }"),
        "9: `more`: the answer is no boolean, so the pointer leads to a member of it",
    );
    only(
        &row("background = true"),
        "9: the schema of an operation that may run in the background declares `waiting`, a boolean",
    );
    only(
        &row("fixed_body = { a = 1 }"),
        "9: body: a request with `GET` or `HEAD` has no fixed members of a body; write what is always sent into the query of the path",
    );
    only(
        "[operations.list]\nrequest = \"GET api /items\"\ndoc = \"\"\n",
        "8: say in `doc` what the operation does; the first paragraph is the summary",
    );
}

/// A file without the line of the head that begins with a name, and with these lines after the
/// head. The first of them is 5.
fn without(name: &str, lines: &str) -> String {
    let head: String = HEAD.lines().filter(|line| !line.starts_with(name)).map(|line| format!("{line}\n")).collect();
    format!("{head}{lines}[operations.me]\nrequest = \"GET api /users/{{id}}\"\ndoc = \"A user.\"\n")
}

#[test]
fn a_mistake_in_the_auth_scheme_names_the_line_of_its_key() {
    let auth = |lines: &str| mistakes_of(&without("auth", lines));
    assert_eq!(
        auth("[auth.api_key]\nheader = \"X-Key\"\ncheck = \"me\"\n"),
        [
            "connector.toml:7: the gateway invokes the operation `me` with the body `{}` when a user connects an account, but its \
             field `id` is required; make the field optional, or name another operation"
        ]
    );
    let found = auth("[auth.api_key]\ncheck = \"you\"\nheader = \"Host\"\n");
    assert_eq!(found[0], "connector.toml:6: there is no operation `you`");
    assert!(found[1].starts_with("connector.toml:7: `Host`: "), "{found:?}");
    assert_eq!(
        auth("[auth.api_key]\nheader = \"X-Key\"\n[auth_additions]\nclient_credentials = true\n"),
        ["connector.toml:8: it needs the auth scheme `oauth2`"]
    );
}

#[test]
fn a_mistake_in_an_upstream_names_the_line_of_its_clause() {
    let files = |lines: &str| {
        let api = "[upstreams]\napi = \"https://api.example.com\"\n[upstreams.files]\n";
        mistakes_of(&without("upstreams", &format!("{api}{lines}\n")))
    };
    let found = files("links = [\"*.com\"]\nurl = \"https://files.example.com\"");
    assert!(found[0].starts_with("connector.toml:8: `*.com`: "), "{found:?}");
    assert_eq!(
        files("links = []\nurl = \"https://files.example.com/\""),
        ["connector.toml:9: a base URL has no `/` at its end: paths begin with one"]
    );
    let found = files("url = \"https://files.example.com\"\ncredential = \"form_field\"");
    assert!(found[0].starts_with("connector.toml:9: its credential goes into a form field"), "{found:?}");
}

#[test]
fn a_mistake_in_an_inbox_or_a_type_of_events_names_its_line() {
    const ROW: &str = "[operations.list]\nrequest = \"GET api /items\"\ndoc = \"Items.\"\n";
    let inbox = |more: &str| format!("{ROW}[inboxes.hook]\nid = [\"body_hash\"]\n{more}\n");
    let place = "a place: `{ header = \"X-Id\" }`, `{ header_field = [\"X-Signature\", \"v1\"] }`, `{ pointer = \"/id\" }`, `{ query = \"token\" }` or `\"body_hash\"`";
    only(&inbox("kind = [{ head = \"X\" }]"), &format!("11: expected {place}"));
    only(
        &inbox("scope = \"subscription\""),
        "11: unknown clause `scope`; the clauses are `checks`, `handshakes`, `decode`, `items`, `id`, `kind`, `data`, `time`, `accounts`, `visibility`, `ignored`, `lifecycle` and `max_body`",
    );
    only(
        &inbox("checks = [{ hmac = { hash = \"md5\", signature = { header = \"X\" } } }]"),
        "11: expected one of `sha1`, `sha256`, `sha512`",
    );
    only(
        &inbox("lifecycle = { removed = \"away\" }"),
        "11: expected kinds with `reauthorize`, `recreate`, `read` or `gone`: `lifecycle = { app_removed = \"gone\" }`",
    );
    let rules = mistakes(&inbox("kind = [{ header = \"X-Kind\" }]\nchecks = []\nmax_body = 1"));
    assert_eq!(rules[0], "connector.toml:9: accounts: an inbox of an application has 1 to 4 account keys");
    for rule in ["12: an inbox has 1 to 4 checks", "13: the largest body has 1024 to 26214400 bytes"] {
        assert!(rules.contains(&format!("connector.toml:{rule}")), "{rule}: {rules:?}");
    }
    let trigger = |more: &str| format!("{ROW}[triggers.word]\ntitle = \"Word\"\nkinds = [\"a\"]\n{more}\n");
    only(&trigger("inboxes = [\"other\"]"), "12: `other`: there is no inbox of this name");
    only(
        &trigger("read = \"list\""),
        "12: unknown clause `read`; the clauses are `title`, `description`, `parameters`, `payload`, `example`, `kinds`, `scopes`, `inboxes` and `conditions`",
    );
}

#[test]
fn all_mistakes_are_told_in_the_order_of_their_lines() {
    let found = mistakes(
        "colour = 1\n[operations.b]\nrequest = \"FETCH api /b\"\ndoc = \"B.\"\n[operations.a]\nrequest = \"GET api /a\"\n",
    );
    let lines: Vec<&str> = found.iter().filter_map(|line| line.split(':').nth(1)).collect();
    assert_eq!(lines, ["6", "8", "10"], "{found:?}");
}

#[test]
fn the_component_imports_no_more_than_it_declares() {
    let text = format!("{HEAD}[operations.list]\nrequest = \"GET api /items\"\ndoc = \"Items.\"\n");
    let connector = read(&text, Path::new("/nowhere")).unwrap();
    let component = component(&connector.manifest, &connector.additions).unwrap();
    let mut imports = Vec::new();
    for payload in Parser::new(0).parse_all(&component) {
        if let Payload::ComponentImportSection(section) = payload.unwrap() {
            imports.extend(section.into_iter().map(|import| import.unwrap().name.name.to_owned()));
        }
    }
    let of_requests = imports.iter().any(|name| name.contains("row-additions"));
    let others = imports.iter().any(|name| name.contains("auth-additions") || name.contains("storage"));
    assert!(of_requests && !others, "{imports:?}");
}

/// The messages of the macro `connector!` for tables with mistakes. `tests/mistakes.rs` compares
/// those about what a row sends.
fn messages_of_the_macro() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../connectors/sdk/tests/ui");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let messages = files.filter(|path| path.extension().is_some_and(|extension| extension == "stderr"));
    messages.map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn a_mistake_has_the_words_that_the_macro_has_for_it() {
    let messages = messages_of_the_macro();
    let row = |more: &str| format!("[operations.a]\nrequest = \"POST api /a/{{b}}\"\ndoc = \"A.\"\n{more}\n");
    for file in [
        row("fields.a = { type = \"string\", default = \"x\" }"),
        row("fields.\"a?\" = { type = \"integer\", max = 5, default = 7 }"),
        row("fields.a = { entries = [\"x\"], in = \"body\" }"),
        row("fields.response_fields = \"string\""),
        row("example = { b = \"x\", e = 1 }"),
        row("[settings]\n\"x?\" = { type = \"string\", doc = \"X\" }"),
        row("[rate_limits]\nx = \"0 per minute\""),
    ] {
        let found = mistakes(&file);
        let [mistake] = found.as_slice() else { panic!("{file}\n{found:?}") };
        let words = mistake.splitn(3, ':').nth(2).unwrap().trim();
        assert!(messages.contains(&format!("error: {words}\n")), "{words}");
    }
}
