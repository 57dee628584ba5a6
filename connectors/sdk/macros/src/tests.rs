//! What an author reads when a table is wrong.

use crate::check::check;
use crate::table::Table;

const HEAD: &str = r#"connector example "Example"; auth Auth::None; upstream api "https://api.example.com"; rate_limit slow 1 per minute;"#;

/// The first error of a table, or none.
fn error(source: &str) -> Option<String> {
    let table: Result<Table, _> = syn::parse_str(source);
    table.and_then(|table| check(&table)).err().map(|error| error.to_string())
}

/// The first error of a table with this row.
fn row_error(row: &str) -> String {
    error(&format!("{HEAD} /// A row\n {row}")).unwrap_or_else(|| panic!("no error: {row}"))
}

#[test]
fn a_table_that_is_right_has_no_error() {
    let row = "/// A row\n a_row: GET api \"/a/{b}\" { b: string, c?: integer(1..=3) default 2 } rate_limit slow example { b: \"x\" };";
    assert_eq!(error(&format!("{HEAD} {row}")), None);
}

#[test]
fn the_head_is_complete() {
    for (source, expected) in [
        ("", "a table begins with `connector identifier \"Title\";`"),
        ("connector x \"X\"; auth Auth::None;", "at least one operation"),
        ("connector x \"X\"; /// A\n a: GET api \"/a\";", "say how users are authenticated"),
        ("connector X \"X\"; auth Auth::None;", "an identifier is 1 to 64 of `a-z`"),
        ("connector x \"X\"; upstreams api \"https://a.b\";", "expected a statement"),
        (
            "connector x \"X\"; auth Auth::None; upstream api \"https://a.b/\"; /// A\n a: GET api \"/a\";",
            "no `/` at its end",
        ),
        (
            "connector x \"X\"; auth Auth::None; upstream api \"ftp://a.b\"; /// A\n a: GET api \"/a\";",
            "begins with `https://`",
        ),
        (
            "connector x \"X\"; auth Auth::None; upstream me \"{api}/me\"; /// A\n a: GET me \"\";",
            "no upstream `api` before this one",
        ),
        ("connector x \"X\"; rate_limit a 0 per minute;", "a rate limit of nothing"),
        ("connector x \"X\"; rate_limit a 10 per fortnight;", "expected `second`"),
    ] {
        let error = error(source).unwrap_or_else(|| panic!("no error: {source}"));
        assert!(error.contains(expected), "{source}\n{error}");
    }
}

#[test]
fn names_that_are_not_declared_are_told_with_those_that_are() {
    assert_eq!(row_error(r#"a: GET apis "/a";"#), "no upstream `apis`; declared: `api`");
    assert_eq!(row_error(r#"a: GET api "/a" rate_limit fast;"#), "no rate limit `fast`; declared: `slow`");
    assert_eq!(row_error(r#"a: GET api "/a" { b: string one_of colors };"#), "no values `colors`; none is declared");
    assert!(row_error(r#"a: GET api "/{settings.x}";"#).contains("declare it: `setting x: string"));
}

#[test]
fn a_path_and_its_fields_belong_together() {
    assert_eq!(row_error(r#"a: GET api "/a" { b: string in path };"#), "the path has no `{b}`");
    assert_eq!(
        row_error(r#"a: GET api "/{b}" { b: string in query };"#),
        "the path has `{b}`, so the field goes there"
    );
    assert_eq!(row_error(r#"a: GET api "/{b}" { b?: string };"#), "the path needs `b`, so it cannot be optional");
    assert_eq!(row_error(r#"a: GET api "/{b}" { b: object };"#), "an object cannot stand in a path");
    assert_eq!(row_error(r#"a: GET api "/{b";"#), "a `{` without `}`");
    assert_eq!(row_error(r#"a: GET api "a";"#), "a path begins with `/`");
    assert_eq!(row_error(r#"a: GET api "/a/../b";"#), "a path has no dot segments");
    assert!(row_error(r#"a: GET api "/a b";"#).contains("percent-encode it"));
    assert!(row_error(r#"a: GET api "/a?b={c}";"#).contains("declare the others as fields"));
}

#[test]
fn fields_are_consistent() {
    assert_eq!(row_error(r#"a: GET api "/a" { b: string, b: string };"#), "`b` is declared twice");
    assert!(row_error(r#"a: GET api "/a" { b: text };"#).starts_with("unknown type `text`; there are `string`"));
    assert!(row_error(r#"a: GET api "/a" { b: string max 3 };"#).starts_with("unknown modifier `max`"));
    assert!(row_error(r#"a: GET api "/a" { b: boolean(1..) };"#).starts_with("bounds are for numbers"));
    assert!(row_error(r#"a: GET api "/a" { b: integer(1-3) };"#).contains("expected bounds such as `1..=500`"));
    assert_eq!(row_error(r#"a: GET api "/a" { b: integer default 3 };"#), "a field with a default is optional: `b?`");
    assert!(row_error(r#"a: GET api "/a" { b?: integer default "x" };"#).contains("not of the field's type"));
    assert!(row_error(r#"a: GET api "/a" { b?: string one_of ["x"] default "y" };"#).contains("none of its values"));
    assert!(
        row_error(r#"a: GET api "/a" { b?: integer default 3 assumed };"#).starts_with("`assumed` is for functions")
    );
    assert!(row_error(r#"a: GET api "/a" { b: object };"#).contains("`entries[name, …]`"));
    assert!(row_error(r#"a: POST api "/a" { body: object, c: string };"#).contains("`c` cannot be a member of it"));
    assert!(row_error(r#"a: POST api "/a" { body: object } fixed_body { x: 1 };"#).contains("cannot be merged"));
}

#[test]
fn rows_say_what_they_are() {
    assert!(error(&format!("{HEAD} a: GET api \"/a\";")).is_some_and(|error| error.contains("`///` comment")));
    assert!(row_error("a: fn f;").contains("`read`, `write` or `destructive`"));
    assert!(row_error("a: read fn f via g;").contains("a function does it itself"));
    assert!(row_error(r#"a: FETCH api "/a";"#).starts_with("expected `GET`"));
    assert!(row_error(r#"a: GET api "/a" cached;"#).starts_with("unknown clause `cached`"));
    assert_eq!(row_error("a: read fn f; /// B\n a: read fn g;"), "`a` is declared twice");
}

#[test]
fn examples_are_checked() {
    let row =
        |example: &str| row_error(&format!(r#"a: GET api "/{{b}}" {{ c?: integer }} query [d] example {example};"#));
    assert_eq!(row("{ b: \"x\", e: 1 }"), "`a` has no field `e`");
    assert_eq!(row("{ c: 1 }"), "`b` is required, so the example has it too");
    assert_eq!(row("{ b: 1 }"), "`b` does not accept this value");
    assert_eq!(row("{ b: \"x\", query: { f: 1 } }"), "`query` has no entry `f`");
    assert_eq!(row("{ b: x }"), "`x` is no JSON value; write a string in quotes");
}
