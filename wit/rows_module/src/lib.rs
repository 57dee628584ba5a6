//! The crate `rows` as a core WebAssembly module without imports, for the SDKs of other languages. It
//! runs on the machine of an author: the build checks the rows of a table with it, and tests make the
//! requests of rows with it, read links and parts of forms, and replay recordings. In a connector the
//! gateway does all of this.
//!
//! A question and its answer are JSON texts in UTF-8. The caller asks for `room`, writes the question
//! there, calls `answer`, and reads as many bytes at `place`.
//!
//! # Layout
//! - here: the exports.
//! - `question`: the questions, and their answers.

mod question;

use std::cell::RefCell;

pub use question::answer_to;

thread_local! {
    /// The question, then the answer.
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes room for a question of this many bytes. Returns its place.
#[expect(unsafe_code, reason = "the caller finds the export by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn room(length: usize) -> *mut u8 {
    TEXT.with_borrow_mut(|text| {
        *text = vec![0; length];
        text.as_mut_ptr()
    })
}

/// Answers the question. Returns the number of bytes of the answer.
#[expect(unsafe_code, reason = "the caller finds the export by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> usize {
    TEXT.with_borrow_mut(|text| {
        *text = answer_to(text).into_bytes();
        text.len()
    })
}

/// The place of the answer.
#[expect(unsafe_code, reason = "the caller finds the export by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn place() -> *const u8 {
    TEXT.with_borrow(Vec::as_ptr)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::answer_to;

    fn ask(question: &Value) -> Value {
        serde_json::from_str(&answer_to(question.to_string().as_bytes())).expect("JSON")
    }

    fn row() -> Value {
        json!({
            "method": "post", "upstream": "api", "path": "/{settings.version}/{id}", "default_query": [], "headers": [],
            "encoding": "multipart",
            "fields": [
                {"name": "id", "location": {"tag": "path", "val": "segment"}, "required": true, "integer": false,
                 "lists": {"tag": "joined", "val": ","}, "nullable": false},
                {"name": "photo", "location": {"tag": "file", "val": "photo"}, "required": false, "integer": false,
                 "lists": {"tag": "as-they-are"}, "nullable": false},
            ],
        })
    }

    #[test]
    fn a_request_follows_from_a_row_an_input_and_settings() {
        let photo = json!({"file_name": "a", "content_base64": "AA=="});
        let input = json!({"id": "a b", "photo": [photo]}).to_string();
        let found = ask(&json!({"request": {"row": row(), "input": input, "settings": {"version": "\"v1\""}}}));
        let part = json!({
            "name": "photo", "file_name": "a", "content_type": null, "content": {"tag": "base64", "val": "AA=="},
            "place": "/photo/0",
        });
        let body = json!({"tag": "parts", "val": [part]});
        let request = json!({"method": "post", "upstream": "api", "path": "/v1/a%20b", "headers": [], "body": body});
        assert_eq!(found, json!({ "ok": request }));
    }

    #[test]
    fn an_input_that_makes_no_request_is_a_fault_of_the_contract() {
        let ask =
            |input: &str, settings| ask(&json!({"request": {"row": row(), "input": input, "settings": settings}}));
        let violations = json!([{"pointer": "/id", "detail": "Give a value: the operation needs it."}]);
        let refused = ask("{}", json!({"version": "1"}));
        assert_eq!(refused, json!({"fault": {"tag": "invalid-input", "val": violations}}));
        let unset = ask("{\"id\":\"a\"}", json!({}));
        assert_eq!(unset["fault"]["tag"], "failed");
    }

    #[test]
    fn mistakes_are_named_with_their_operation() {
        let header = json!({"name": "Host", "value": "x", "when": []});
        let mut row = row();
        row["headers"] = json!([header]);
        let input = json!({"properties": {"id": {"type": "string"}}});
        let question = json!({"check": {
            "upstreams": ["other"], "settings": [["version", {"type": "string"}]], "headers": [header],
            "rows": [{"operation": "upload", "row": row, "input": input}],
        }});
        let expected = json!([
            {"operation": null, "mistake": "header `Host`: the gateway sets this header itself; leave it out"},
            {"operation": "upload", "mistake": "upstream: the connector has no upstream `api`; it has `other`"},
            {"operation": "upload", "mistake": "field `photo`: the schema of the input has no such member"},
        ]);
        assert_eq!(ask(&question), json!({ "ok": expected }));
    }

    #[test]
    fn the_types_of_fields_are_checked_at_any_depth() {
        let field = |name: &str, kind: Value| json!({"name": name, "optional": false, "kind": kind});
        let mut count = field("count", json!({"tag": "integer"}));
        (count["minimum"], count["maximum"]) = (json!(5), json!(1));
        let mut word = field("word", json!({"tag": "string"}));
        word["pattern"] = json!("(");
        let members = json!({"tag": "list", "val": {"tag": "members", "val": [count]}});
        let fields = json!([
            {"operation": "one", "fields": [field("parts", members), field("photo", json!({"tag": "file"}))]},
            {"operation": null, "fields": [word, field("photo", json!({"tag": "file"}))]},
        ]);
        let question = json!({"check": {"upstreams": [], "settings": [], "headers": [], "rows": [], "fields": fields}});
        let bounds = "field `parts.count`: the lower bound is not larger than the upper bound";
        let pattern = "setting `word`: the pattern is not a regular expression: unclosed group";
        let file = "setting `photo`: a `file` is for fields of a row";
        let expected = json!([
            {"operation": "one", "mistake": bounds},
            {"operation": null, "mistake": file},
            {"operation": null, "mistake": pattern},
        ]);
        assert_eq!(ask(&question), json!({ "ok": expected }));
    }

    #[test]
    fn the_fields_have_those_that_pages_and_the_background_need() {
        let fields = json!([{"name": "page", "optional": true, "kind": {"tag": "integer"}}]);
        let check = |into: &str, background: bool| {
            let fields = json!([{"operation": "one", "fields": fields, "into": into, "background": background}]);
            ask(&json!({"check": {"upstreams": [], "settings": [], "headers": [], "rows": [], "fields": fields}}))
        };
        assert_eq!(check("/page", false), json!({"ok": []}));
        let waiting = "a row with `background` has the optional field `waiting`, a boolean, by which callers wait";
        let expected = json!([
            {"operation": "one", "mistake": "`into`: `one` has no field `start`"},
            {"operation": "one", "mistake": waiting},
        ]);
        assert_eq!(check("/start", true), json!({ "ok": expected }));
    }

    #[test]
    fn rows_are_checked_with_their_effects_and_together() {
        let mut row = row();
        (row["method"], row["fields"]) = (json!("delete"), json!([row["fields"][0]]));
        row["encoding"] = json!("json");
        row["headers"] = json!([{"name": "X-A", "value": "1", "when": [{"parameter": "q", "unless": null}]}]);
        let input = json!({"properties": {"id": {"type": "string"}}});
        let ask = |effect: &str| {
            let rows = json!([{"operation": "remove", "row": row, "input": input, "effect": effect}]);
            ask(&json!({"check": {
                "upstreams": ["api"], "settings": [["version", {}]], "headers": row["headers"], "rows": rows,
            }}))
        };
        let header = json!({
            "operation": null, "mistake": "header `X-A`: `when` has `q`, which is no parameter of any row with this header",
        });
        let rule =
            "row: a request with `PUT`, `PATCH` or `DELETE` changes data, so its effect is `write` or `destructive`";
        assert_eq!(ask("read"), json!({"ok": [{"operation": "remove", "mistake": rule}, header]}));
        assert_eq!(ask("destructive"), json!({"ok": [header]}));
    }

    #[test]
    fn an_example_fits_the_fields_of_its_operation() {
        let fields = json!([
            {"name": "id", "optional": false, "kind": {"tag": "string"}, "values": ["a"]},
            {"name": "tags", "optional": true, "kind": {"tag": "list", "val": {"tag": "string"}}, "maximum": 1},
            {"name": "query", "optional": true, "kind": {"tag": "entries", "val": [{"name": "q"}]}},
            {"name": "open", "optional": true, "kind": {"tag": "object"}, "without": ["hidden"]},
        ]);
        let check = |example: Value| {
            let examples = json!([{"operation": "one", "fields": fields, "example": example}]);
            let answer = ask(&json!({"check": {
                "upstreams": [], "settings": [], "headers": [], "rows": [], "examples": examples,
            }}));
            answer["ok"][0]["mistake"].clone()
        };
        let fits = json!({"id": "a", "tags": ["x"], "query": {"q": 1}, "open": {}});
        assert_eq!(check(fits), Value::Null);
        assert_eq!(check(json!({"id": "b"})), "the example does not fit at `/id`: expected one of a");
        assert_eq!(
            check(json!({"id": "a", "tags": ["x", "y"]})),
            "the example does not fit at `/tags`: expected at most 1 items"
        );
        assert_eq!(check(json!({})), "the example does not fit: the field `id` is required");
        assert_eq!(check(json!([])), "an example is an object: `{ … }`");
    }

    #[test]
    fn mistakes_in_inboxes_and_triggers_follow_those_of_rows() {
        let inbox = json!({
            "name": "hook", "scope": "subscription", "handshakes": [], "decode": null, "items": null, "kind": [{"tag": "body-hash"}],
            "checks": [{"tag": "token", "val": {"tag": "header-field", "val": ["X-Token", "t"]}}], "id": [{"tag": "body-hash"}],
            "data": "", "time": null, "accounts": [], "visibility": null, "ignored": [], "lifecycle": [["gone", "recreate"]],
            "max_body": 1024,
        });
        let trigger = json!({
            "name": "word", "title": "Word", "description": "", "payload": "{}", "example": "{}", "source": "read",
            "parameters": r#"{"type":"object","properties":{},"additionalProperties":false}"#, "kinds": [], "scopes": [],
            "inboxes": [], "key": [], "conditions": [], "subscribe": null, "renew": null, "unsubscribe": null,
            "read": "changes", "recover": null, "identify": null, "requires_setting": null, "lifetime_seconds": null, "poll_seconds": 300,
        });
        let changes =
            json!({"path": "changes", "envelope": true, "background": false, "paged": false, "answers_json": true});
        let question = json!({"check": {
            "upstreams": [], "settings": [], "headers": [], "rows": [],
            "events": {"has_oauth2": false, "identity": null, "operations": [changes], "inboxes": [inbox], "triggers": [trigger]},
        }});
        let expected = json!([
            {"operation": null, "mistake": "inbox `hook`, kind: the hash of the body is for ids only"},
            {"operation": null, "mistake": "trigger `word`, read `changes`: an operation of a trigger has no envelope"},
        ]);
        assert_eq!(ask(&question), json!({ "ok": expected }));
    }

    #[test]
    fn links_and_parts_are_read_as_the_gateway_does() {
        let links = |values: Value| ask(&json!({ "link": values }));
        assert_eq!(links(json!(["</a>; rel=prev", "</b>; rel=\"next\""])), json!({"ok": "/b"}));
        assert_eq!(links(json!([])), json!({"ok": null}));
        assert_eq!(ask(&json!({"part": {"file_name": "a"}})), json!({"ok": null}));
        let refused = ask(&json!({"part": {"file_name": "..", "content_type": "a"}}));
        assert_eq!(refused, json!({"ok": "Give the name of a file, and not of a folder."}));
        let refused = ask(&json!({"part": {"file_name": null, "content_type": "a"}}));
        assert_eq!(refused, json!({"ok": "Give a media type such as `image/png`."}));
    }

    #[test]
    fn a_recording_answers_requests_and_is_compared_with_the_call() {
        let request = json!({"method": "GET", "upstream": "api", "path": "/a"});
        let exchange = json!({"request": request, "answer": {"status": 200, "body": {"json": {"n": 1.0}}}});
        let recording = json!({
            "format": 1, "operation": "one", "input": {"a": 1.0}, "exchanges": [exchange], "answer": {"n": 1},
        });
        let replay = |asked: Value, end: Value| {
            ask(&json!({"replay": {"recording": recording.to_string(), "asked": asked, "end": end}}))["ok"].clone()
        };
        let begun = replay(json!([]), Value::Null);
        assert_eq!(begun, json!({"operation": "one", "input": "{\"a\":1.0}", "settings": []}));
        let asked = json!({"method": "get", "upstream": "api", "path": "/a"});
        let answered = replay(json!([asked]), Value::Null);
        assert_eq!(answered["answer"], json!({"status": 200, "headers": [], "body": b"{\"n\":1.0}"}));
        assert_eq!(replay(json!([asked]), answered["end"].clone())["differences"], json!([]));
        let unsent = replay(json!([]), json!({"tag": "file"}));
        assert_eq!(unsent["differences"], json!(["the recording has a request that was not sent: GET api /a"]));
        let again = replay(json!([asked, asked]), Value::Null);
        assert_eq!(again["denied"], "the recording has no request GET api /a");
        let refused = ask(&json!({"replay": {"recording": "{}"}}))["ok"]["refused"].to_string();
        assert!(refused.contains("it is not a recording"), "{refused}");
    }

    #[test]
    fn a_question_that_is_none_is_named() {
        for question in ["", "{}", "{\"check\":1}"] {
            let answer: Value = serde_json::from_str(&answer_to(question.as_bytes())).expect("JSON");
            assert!(answer["unknown"].is_string(), "{question}: {answer}");
        }
    }
}
