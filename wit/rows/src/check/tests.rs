//! Tests of the rules.

use std::borrow::Cow;

use serde_json::json;

use super::*;
use crate::row::{DefaultQuery, Encoding, Lists, Trigger};

fn field(name: &'static str, location: Location) -> Field {
    Field::new(name, location)
}

fn declaration() -> Declaration {
    Declaration {
        fields: vec![
            field("id", Location::Path(Encoding::Segment)),
            field("name", Location::Body(Cow::Borrowed(&[Cow::Borrowed("item"), Cow::Borrowed("name")]))),
        ],
        ..Declaration::new(Method::Post, "api", "/{settings.version}/items/{id}?all=1")
    }
}

fn mistakes(change: impl FnOnce(&mut Declaration)) -> Vec<String> {
    let text = || json!({"type": "string"});
    let input = json!({"properties": {
        "id": text(), "name": text(), "other": {"type": ["string", "null"]}, "object": {"type": ["object", "null"]},
        "objects": {"type": "array", "items": {"type": "object"}}, "texts": {"type": "array", "items": {"type": "string"}},
        "headers": {"type": "object", "properties": {"X-A": {}, "x_forwarded_for": {}}},
        "entries": {"type": "object", "properties": {"a": {}, "b": {}}}, "any": {},
        "count": {"type": "integer"}, "color": {"type": "string", "enum": ["red", null]},
    }});
    let settings = [("version", text()), ("list", json!({"type": "array"}))];
    let connector = Connector { upstreams: &["api", "files"], settings: &settings, input: &input };
    let mut declaration = declaration();
    change(&mut declaration);
    check(&declaration, &connector).iter().map(ToString::to_string).collect()
}

#[track_caller]
fn only(change: impl FnOnce(&mut Declaration), expected: &str) {
    assert_eq!(mistakes(change), [expected]);
}

#[test]
fn a_row_that_keeps_the_rules_breaks_none() {
    assert!(mistakes(|_| {}).is_empty());
}

#[test]
fn a_row_names_what_the_connector_has() {
    only(
        |row| row.upstream = "other".to_owned(),
        "upstream: the connector has no upstream `other`; it has `api`, `files`",
    );
    only(
        |row| row.path = "/{settings.other}/{id}".to_owned(),
        "path: the connector has no setting `other`; it has `version`, `list`",
    );
    only(
        |row| row.path = "/{settings.list}/{id}".to_owned(),
        "path: the setting `list` is not a string, a number or a boolean",
    );
    only(
        |row| row.path = "/{id}/{name}".to_owned(),
        "path: the path has `{name}`, so that the field `name` is a part of it",
    );
    only(|row| row.path = "/{id}/{none}".to_owned(), "path: `{none}` is no field of the row");
    only(
        |row| row.fields.push(field("unknown", Location::Query("q".into()))),
        "field `unknown`: the schema of the input has no such member",
    );
    only(|row| row.path = "/items".to_owned(), "field `id`: the path does not name it");
}

#[test]
fn a_path_leads_to_one_place_below_the_upstream() {
    for path in ["items/{id}", "//evil.example/{id}", "/a/../{id}", "/%2e%2e/{id}", "/{id}#x", "/a b/{id}", "/{id"] {
        let found = mistakes(|row| row.path = path.to_owned());
        assert!(found.iter().any(|mistake| mistake.starts_with("path: ")), "{path}: {found:?}");
    }
    only(
        |row| row.path = "/{id}?a={name}".to_owned(),
        "path: the query in a path is fixed; declare the other parameters as fields",
    );
}

#[test]
fn a_header_of_the_gateway_is_refused() {
    let header = |name: &str, value: &str| {
        let (name, value) = (name.to_owned(), value.to_owned());
        move |row: &mut Declaration| row.headers.push(DeclaredHeader { name, value, when: Vec::new() })
    };
    for name in ["Authorization", "Host", "X-Original-URL", "Cookie"] {
        let found = mistakes(header(name, "x"));
        assert!(found.iter().any(|mistake| mistake.starts_with(&format!("header `{name}`: "))), "{found:?}");
    }
    assert!(!mistakes(header("X-A", "a\r\nb: c")).is_empty());
    only(header("X-A", "{id}"), "header `X-A`: `{id}` is not a setting; a header may have `{settings.name}` only");
    let location = Location::Header("authorization".into());
    assert_eq!(mistakes(|row| row.fields.push(field("other", location))).len(), 1);
}

#[test]
fn no_two_fields_are_sent_at_one_place() {
    for path in [vec!["item"], vec!["item", "name"], vec!["item", "name", "first"]] {
        let location = Location::Body(path.iter().map(|step| Cow::Owned((*step).to_owned())).collect());
        only(
            |row| row.fields.push(field("other", location)),
            "field `other`: the field `name` is sent at the same place, or inside of it; send one of the two under \
             another name",
        );
    }
    only(
        |row| {
            row.encoding = BodyEncoding::Multipart;
            row.fields.push(field("other", Location::File("item".into())));
        },
        "field `other`: the field `name` is sent at the same place, or inside of it; send one of the two under another \
         name",
    );
    only(
        |row| row.fields.push(field("other", Location::WholeBody)),
        "body: a field is the whole body, so that the body has no other members",
    );
    only(
        |row| row.fields.push(field("other", Location::File("file".into()))),
        "field `other`: a file is in a body of `multipart/form-data`, of which the row says `multipart`",
    );
}

#[test]
fn the_type_of_a_field_fits_its_place() {
    for name in ["object", "objects"] {
        only(
            |row| row.fields.push(field(name, Location::Query("q".into()))),
            &format!(
                "field `{name}`: an object is not a part of a path, a parameter or a header; `entries` make one of each \
                 of its members"
            ),
        );
    }
    only(
        |row| {
            row.path = "/{id}/{object}".to_owned();
            row.fields.push(field("object", Location::Path(Encoding::Segment)));
        },
        "field `object`: an object is not a part of a path, a parameter or a header; `entries` make one of each of its \
         members",
    );
    only(
        |row| row.fields.push(field("other", Location::QueryEntries)),
        "field `other`: an object has the names of parameters",
    );
    only(
        |row| row.fields.push(field("headers", Location::HeaderEntries)),
        "field `headers`: header `x_forwarded_for`: the gateway sets this header itself; leave it out",
    );
    let null = "field `other`: `nullable` is for an optional member of the body";
    let nullable = |location, required| Field { nullable: true, required, ..field("other", location) };
    only(|row| row.fields.push(nullable(Location::Query("q".into()), false)), null);
    let member = || Location::Body(Cow::Borrowed(&[Cow::Borrowed("other")]));
    only(|row| row.fields.push(nullable(member(), true)), null);
    assert!(mistakes(|row| row.fields.push(nullable(member(), false))).is_empty());
}

#[test]
fn texts_that_are_sent_as_they_are_have_the_form_of_what_they_stand_for() {
    for fixed in ["", "[]", "{", "{\"a\":1}x", " {\"a\":1}"] {
        only(
            |row| row.fixed_body = Some(fixed.to_owned()),
            "body: the fixed members of a body are the text of a JSON object",
        );
    }
    for parameter in ["a", "=b", "a=b&c=d", "a=b c", "a=b#c", "a=\u{e9}"] {
        let default = DefaultQuery { parameter: parameter.to_owned().into(), unless: Cow::Borrowed(&[]) };
        only(|row| row.default_query.push(default), "default query: a parameter is `name=value`, percent-encoded");
    }
    only(
        |row| row.fields[1].default = Some("1,\"b\":2".into()),
        "field `name`: its default is JSON text, without blanks around it",
    );
}

#[test]
fn a_request_that_reads_has_no_fixed_body() {
    let with =
        |method| move |row: &mut Declaration| (row.method, row.fixed_body) = (method, Some("{\"a\":1}".to_owned()));
    for method in [Method::Get, Method::Head] {
        only(
            with(method),
            "body: a request with `GET` or `HEAD` has no fixed members of a body; write what is always sent into the query \
             of the path",
        );
    }
    for method in [Method::Post, Method::Put, Method::Patch, Method::Delete] {
        assert!(mistakes(with(method)).is_empty(), "{method:?}");
    }
}

#[test]
fn nothing_is_sent_twice() {
    only(
        |row| row.fixed_body = Some(r#"{"item":{}}"#.to_owned()),
        "body: the field `name` is sent at the place of the fixed member `item`, or inside of it; leave out one of the \
         two",
    );
    only(|row| row.fixed_body = Some(r#"{"a":1,"\u0061":2}"#.to_owned()), "body: the fixed member `a` is there twice");
    only(
        |row| row.fields.push(field("other", Location::Query("all".into()))),
        "field `other`: the query of the path always has the parameter `all`; leave it out in one of the two",
    );
}

#[test]
fn a_default_parameter_gives_way_to_parameters_of_the_row() {
    let default = |parameter: &str, unless: &[&str]| {
        let unless: Vec<_> = unless.iter().map(|name| Cow::Owned((*name).to_owned())).collect();
        let default = DefaultQuery { parameter: parameter.to_owned().into(), unless: unless.into() };
        move |row: &mut Declaration| {
            row.fields.push(field("other", Location::Query("q".into())));
            row.default_query.push(default);
        }
    };
    assert!(mistakes(default("a=b", &["a", "q"])).is_empty());
    only(default("a=b", &["a", "p"]), "default query: `unless` has `p`, which is no parameter of the row");
    only(
        default("a=b", &["q"]),
        "default query: a default parameter is not sent if the caller gives it: `unless` has its own name",
    );
    only(
        default("all=2", &["all"]),
        "default query: the query of the path always has this parameter; leave out the default",
    );
}

#[test]
fn entries_are_parameters_of_their_names() {
    let entries = || field("entries", Location::QueryEntries);
    only(
        |row| {
            row.path = "/{id}?a=1".to_owned();
            row.fields.push(entries());
        },
        "field `entries`: the query of the path always has the parameter `a`; leave it out in one of the two",
    );
    only(
        |row| row.fields.extend([field("other", Location::Query("b".into())), entries()]),
        "field `entries`: the field `other` is sent at the same place, or inside of it; send one of the two under \
         another name",
    );
    let unless = Cow::Owned(vec![Cow::Borrowed("c"), Cow::Borrowed("a")]);
    let default = DefaultQuery { parameter: "c=1".into(), unless };
    assert!(
        mistakes(|row| {
            row.fields.push(entries());
            row.default_query.push(default);
        })
        .is_empty()
    );
}

#[test]
fn a_header_depends_on_a_parameter_that_a_row_with_it_has() {
    let when = |parameter: &'static str| Trigger { parameter: parameter.into(), unless: None };
    let header = DeclaredHeader {
        name: "X-A".to_owned(),
        value: String::new(),
        when: vec![when("q"), when("name"), when("$serach")],
    };
    let input = json!({"properties": {}});
    let with =
        |location| Declaration { fields: vec![field("q", location)], headers: vec![header.clone()], ..declaration() };
    let rows = [with(Location::Query("q".into())), with(Location::Query("name".into()))];
    let other = Declaration { headers: Vec::new(), ..with(Location::Query("$serach".into())) };
    let found = check_triggers(rows.iter().chain([&other]).map(|row| (row, &input)));
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["header `X-A`: `when` has `$serach`, which is no parameter of any row with this header"]);
    let open = with(Location::QueryEntries);
    assert_eq!(check_triggers([(&open, &input)]), []);
}

#[test]
fn a_default_that_is_sent_fits_its_field() {
    let default = |name, text: &'static str| {
        move |row: &mut Declaration| {
            let body = Location::Body(Cow::Owned(vec![Cow::Borrowed("b")]));
            row.fields.push(Field { default: Some(text.into()), required: false, ..field(name, body) });
        }
    };
    for (name, text) in [("other", r#""a""#), ("count", "1.0"), ("color", r#""red""#), ("texts", "[]"), ("any", "1")] {
        assert_eq!(mistakes(default(name, text)), Vec::<String>::new(), "{name}");
    }
    for (name, text) in [("other", "1"), ("count", "1.5"), ("color", r#""blue""#), ("texts", r#""a""#)] {
        only(default(name, text), &format!("field `{name}`: the schema of the field does not accept its default"));
    }
    only(default("other", "null"), "field `other`: its default is null, which is for a field with `nullable`");
}

#[test]
fn what_can_never_be_sent_is_refused() {
    only(
        |row| row.fields.push(field("texts", Location::Header("X-A".into()))),
        "field `texts`: a list is not a header; declare a string that has all items",
    );
    only(
        |row| {
            row.path = "/{settings.version}/{id}/{texts}".to_owned();
            row.fields.push(Field { lists: Lists::Repeated, ..field("texts", Location::Path(Encoding::Segment)) });
        },
        "field `texts`: a list in a path is joined: one text has all items",
    );
}

#[test]
fn no_name_changes_what_people_read() {
    let hidden = "the text has no line break and no other control or format character";
    for name in ["q\u{1b}[2J", "q\nsigned with a key of publisher acme", "q\u{202e}"] {
        only(|row| row.fields.push(field("other", Location::Query(name.into()))), &format!("field `other`: {hidden}"));
    }
}

#[test]
fn a_row_has_a_size() {
    let many = |row: &mut Declaration| {
        let when = Trigger { parameter: "a".into(), unless: None };
        row.headers.push(DeclaredHeader { name: "X-A".to_owned(), value: String::new(), when: vec![when; 300] });
    };
    only(many, "row: a row has at most 256 parts, of which 64 are headers");
    only(
        |row| row.fixed_body = Some(format!("{{\"a\":\"{}\"}}", "a".repeat(TEXT_BYTES))),
        "row: the texts of a row have at most 65536 bytes",
    );
}
